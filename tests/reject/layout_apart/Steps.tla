---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) == Reply(cell, msg)

Look(open, msg, env) == Reply(open, msg)
====
