---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF Opened(cell)             \* error: Unknown operator: `Opened'
    THEN Reply(cell, msg)
    ELSE Drop(cell, message)  \* error: Unknown operator: `message'
====
