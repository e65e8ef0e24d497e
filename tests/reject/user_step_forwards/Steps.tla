---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) == Forward(cell, msg)

Find(entries, msg) == Forward(entries, msg)                 \* error: the user step says Forward; it ends with Reply or Drop
====
