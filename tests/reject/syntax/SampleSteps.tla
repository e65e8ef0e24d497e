---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.open THEN Reply(cell, msg) ELSE ) \* error: Encountered ")" after "ELSE"
====
