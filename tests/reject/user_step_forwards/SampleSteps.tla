---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Forward(cell, msg)

Find(entries, msg) == Forward(entries, msg)                 \* error: the user step ends with Forward; it must end with Reply or Drop
====
