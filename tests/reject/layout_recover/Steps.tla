---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) == Continue(cell, msg)
====
