---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Continue([cell EXCEPT !.open = TRUE], msg)
Other(cell, msg) == Reply([cell EXCEPT !.open = FALSE], msg)
====
