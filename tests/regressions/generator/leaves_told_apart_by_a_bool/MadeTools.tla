---- MODULE MadeTools ----
EXTENDS Integers

CONSTANT Bound

Tool(p, q) == 5
====
