"""Proves that steps in TLA+ and their bytecode are equal: `just prove`."""
