---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell) == Reply(cell, cell)                             \* error: Step has 1 parameters; write Step(cell, msg) or Step(cell, msg, env)
====
