"""Mutants: faults seeded into specifications, generated code and the generator, each of which must be caught."""
