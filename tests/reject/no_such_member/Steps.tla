---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.state = "Idel"                                  \* error: "Idel" is no member of enum cell.state; it has Idle, Busy, Gone
    THEN Reply([cell EXCEPT !.state = "Bussy"], msg)      \* error: "Bussy" is no member of enum cell.state
    ELSE Drop(cell, msg)
====
