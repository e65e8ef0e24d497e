---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  LET i == CHOOSE i \in 1..4 : cell.slots[i].used /\ \A j \in 1..(i - 1) : ~ cell.slots[j].used  \* error: CHOOSE where nothing shows that there is one to choose; write IF
  IN  Reply([cell EXCEPT !.slots[i].used = FALSE], msg)
====
