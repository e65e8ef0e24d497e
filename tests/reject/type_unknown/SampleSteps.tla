---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF {} = {}                                              \* error: the type of both sides is unknown
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
