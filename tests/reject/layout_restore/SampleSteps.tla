---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Reply(cell, msg)
Take(row, msg) == Continue(row, msg)
Look(entry, msg) == Continue(entry, msg)
====
