"""Conformance: compares the compiled program with the model checker's evaluation of its steps."""
