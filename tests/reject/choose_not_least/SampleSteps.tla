---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  Reply([cell EXCEPT !.count = CHOOSE i \in 1..4 : cell.slots[i].used], msg) \* error: CHOOSE must take the least of a range; use FirstIndex
====
