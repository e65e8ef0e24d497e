---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.state = "Idel"                                  \* error: enum cell.state has no member "Idel" (did you mean Idle?); it has Idle, Busy, Gone
    THEN Reply([cell EXCEPT !.state = "Bussy"], msg)      \* error: enum cell.state has no member "Bussy" (did you mean Busy?)
    ELSE Drop(cell, msg)
====
