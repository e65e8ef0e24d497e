---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Reply(cell, msg)
Answer(cell, msg) == Reply(cell, msg)
Look(entry, msg) == Drop(entry, msg)
====
