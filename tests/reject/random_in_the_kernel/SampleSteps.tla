---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg, env) == Reply([cell EXCEPT !.key = env.random], msg)   \* error: env has no field random; it has now, index
====
