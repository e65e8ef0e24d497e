---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  Reply([cell EXCEPT !.count = CHOOSE n : n > 3], msg) \* error: CHOOSE without a bound cannot be compiled; use FirstIndex
====
