---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Continue(cell, msg)
Read(own, msg) == Continue(own, msg)
Find(own, msg) == Reply(own, msg)
Look(entry, msg) == Reply(entry, msg)
====
