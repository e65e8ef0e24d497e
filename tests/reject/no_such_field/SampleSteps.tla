---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.members = {} /\ msg.holder = 3                  \* error: message has no field holder; it has client
    THEN Reply([cell EXCEPT !.conut = 3], msg)            \* error: cell_cell has no field conut (did you mean count?)
    ELSE Drop(cell, msg)
====
