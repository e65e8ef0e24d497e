---- MODULE SampleSteps ----
EXTENDS Offload

down[n \in 0..3] == IF n = 0 THEN 0 ELSE down[n - 1]  \* error: a recursive function cannot be compiled

Step(cell, msg) == Reply([cell EXCEPT !.count = down[3]], msg)
====
