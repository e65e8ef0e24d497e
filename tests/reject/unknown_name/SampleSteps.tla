---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF Opened(cell)             \* error: unknown operator Opened
    THEN Reply(cell, msg)
    ELSE Drop(cell, message)  \* error: unknown operator message
====
