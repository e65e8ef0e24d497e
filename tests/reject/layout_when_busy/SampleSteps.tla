---- MODULE SampleSteps ----
EXTENDS Offload

Opened(cell, msg) ==
  LET idle == msg.state = "Idle"
  IN  IF idle THEN Continue(cell, msg) ELSE Continue([cell EXCEPT !.open = TRUE], msg)
Told(cell, msg) ==
  CASE msg.state \in {"Busy"} -> Drop(cell, msg)
    [] cell.open -> Continue(cell, [msg EXCEPT !.delta = 1])
    [] OTHER -> Continue(cell, msg)
Dropped(cell, msg) == IF msg.state # "Gone" THEN Drop(cell, msg) ELSE Continue([cell EXCEPT !.count = 3], msg)
Right(cell, msg) ==
  CASE msg.state = "Idle" -> Continue(cell, msg)
    [] msg.number = 3 -> Drop(cell, msg)
    [] OTHER -> Continue([cell EXCEPT !.open = TRUE], msg)
Last(cell, msg) == Reply(cell, msg)
====
