---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == IF msg.state = "Busy" THEN Continue([cell EXCEPT !.open = TRUE], msg) ELSE Continue(cell, msg)
Last(cell, msg) == Reply(cell, msg)
====
