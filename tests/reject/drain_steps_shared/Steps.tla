---- MODULE Steps ----
EXTENDS Offload

Step(row, msg) == Continue(row, msg)
Next(mark, msg) == Continue(mark, msg)
Reached(mark, msg) == Continue(mark, msg)
Late(found, msg, env) == Continue(found, msg) \* error: Late has 3 parameters, and is run by the drain; a step there is Step(cell, msg)
====
