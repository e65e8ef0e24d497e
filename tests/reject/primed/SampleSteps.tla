---- MODULE SampleSteps ----
EXTENDS Offload

VARIABLE clock

Step(cell, msg) ==
  IF clock' = 3 \* error: the step reads the variable clock \* error: a primed variable cannot be compiled
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
