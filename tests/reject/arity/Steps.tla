---- MODULE Steps ----
EXTENDS Offload

Step(cell) == Reply(cell, cell)                             \* error: Step has 1 parameters; a step is Step(cell, msg) or Step(cell, msg, env)
====
