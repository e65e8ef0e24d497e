---- MODULE SampleSteps ----
EXTENDS Offload

RECURSIVE Down(_)
Down(n) == IF n = 0 THEN 0 ELSE Down(n - 1)  \* error: Down is recursive; quantify over a range or a set instead

Step(cell, msg) == Reply([cell EXCEPT !.count = Down(3)], msg)
====
