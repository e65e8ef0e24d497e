"""Seeds faults, called mutants, into specifications, generated code and the generator. A check must catch each."""
