---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.count <= 255 /\ msg.delta > 0
    THEN Reply([cell EXCEPT !.count = @ + msg.delta], msg) \* error: count may become anything in 1..510
    ELSE Drop(cell, msg)
====
