---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE cell.slots[msg.delta].used                          \* error: the index lies in 0..255, the array has 1..4
         -> Reply(cell, msg)
    [] Head(cell.queue) = 3                                \* error: the index lies in 1..1, the sequence has 1..0 for certain
         -> Reply([cell EXCEPT !.queue = Tail(@)], msg)    \* error: the sequence given to Tail may be empty
    [] \E i \in 0..3 : cell.slots[i].used                  \* error: the index lies in 0..3, the array has 1..4
         -> Reply([cell EXCEPT !.slots[msg.delta].used = TRUE], msg) \* error: the index lies in 0..255, the array has 1..4
    [] OTHER -> Drop(cell, msg)
====
