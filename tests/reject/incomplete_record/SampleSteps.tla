---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  Reply([cell EXCEPT !.slots[1] = [used |-> TRUE]], msg)  \* error: the record lacks owner; give every field of slot, or use EXCEPT
====
