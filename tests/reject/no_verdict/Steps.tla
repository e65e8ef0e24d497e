---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) == Result("Refuse", cell, msg)            \* error: a verdict that is none; it is one of Continue, Reply, Forward, Drop
====
