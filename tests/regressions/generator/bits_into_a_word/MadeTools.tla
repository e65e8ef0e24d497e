---- MODULE MadeTools ----
EXTENDS Integers

CONSTANT Bound

Tool(p) == (- 44)
====
