---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF \E <<a, b>> \in cell.members : a = b     \* error: names are bound as a tuple; bind one name at a time
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
