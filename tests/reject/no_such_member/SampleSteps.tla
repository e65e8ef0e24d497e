---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.state = "Idel"                                  \* error: enum cell.state has no member "Idel"; it has Idle, Busy, Gone
    THEN Reply([cell EXCEPT !.state = "Bussy"], msg)      \* error: enum cell.state has no member "Bussy"
    ELSE Drop(cell, msg)
====
