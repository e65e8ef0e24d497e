---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Reply(cell, msg)
Find(entry, msg) == Drop(entry, msg)
====
