"""Compiles the step operators of a TLA+ protocol, with its layout, into C, TLA+ and Python."""
