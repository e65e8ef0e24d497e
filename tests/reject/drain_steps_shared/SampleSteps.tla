---- MODULE SampleSteps ----
EXTENDS Offload

Step(row, msg) == Continue(row, msg)
Next(mark, msg) == Continue(mark, msg)
Reached(mark, msg) == Continue(mark, msg)
Late(found, msg, env) == Continue(found, msg) \* error: Late has 3 parameters, and the drain runs it; write Step(cell, msg)
====
