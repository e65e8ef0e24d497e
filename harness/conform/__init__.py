"""Conformance: the compiled program against what the model checker says its steps mean."""
