---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE cell.open -> Reply(cell, msg)          \* error: CASE has no OTHER; add an arm
    [] ~ cell.open -> Drop(cell, msg)
====
