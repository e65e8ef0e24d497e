---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) == Reply(cell, msg)
====
