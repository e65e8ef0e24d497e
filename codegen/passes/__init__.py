"""The passes from SANY's syntax tree to the intermediate representation, one in each file."""
