---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Reply(cell, msg)

Find(cell, msg) == Reply(cell, [msg EXCEPT !.delta = cell.count])
====
