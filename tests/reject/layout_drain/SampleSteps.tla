---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Continue(cell, msg)
Peek(cell, msg) == Reply(cell, msg)
Reach(entry, msg) == Continue(entry, msg)
====
