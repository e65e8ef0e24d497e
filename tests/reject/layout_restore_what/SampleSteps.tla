---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Reply(cell, msg)
Take(row, msg) == Continue(row, msg)
====
