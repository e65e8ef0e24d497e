from codegen.sany import Module, Operator
def check(module, operator, errors):
    return True
