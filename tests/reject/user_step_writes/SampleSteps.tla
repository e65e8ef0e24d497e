---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Forward(cell, msg)

Find(entries, msg) == Reply([entries EXCEPT ![1].used = TRUE], msg)  \* error: a user step cannot change its table; it only finds
====
