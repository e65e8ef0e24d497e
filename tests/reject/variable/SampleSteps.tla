---- MODULE SampleSteps ----
EXTENDS Offload

VARIABLE clock

Step(cell, msg) ==
  IF clock > 3                               \* error: the step reads the variable clock; it may read only its cell, its message and env
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
