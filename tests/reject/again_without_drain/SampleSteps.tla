---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Forward(cell, msg)
Find(entry, msg) == IF entry.used THEN NotYet :: Drop(entry, msg) ELSE Continue(entry, msg)
Answer(entry, msg) == Reply(entry, msg)
====
