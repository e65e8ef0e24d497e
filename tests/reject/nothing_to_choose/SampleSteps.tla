---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  LET i == CHOOSE i \in 1..4 : cell.slots[i].used /\ \A j \in 1..(i - 1) : ~ cell.slots[j].used  \* error: CHOOSE may have nothing to choose from; write IF
  IN  Reply([cell EXCEPT !.slots[i].used = FALSE], msg)
====
