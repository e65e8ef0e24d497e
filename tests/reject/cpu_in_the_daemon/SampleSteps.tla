---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg, env) == Reply([cell EXCEPT !.count = env.cpu % 256], msg)
Find(entry, msg, env) == Reply(entry, [msg EXCEPT !.number = env.cpu])   \* error: env has no field cpu; it has now, random
Age(cell, msg, env) == Continue([cell EXCEPT !.count = env.cpu % 256], msg)   \* error: env has no field cpu; it has now, index
\* Of xdp as well, where it would be had.
Both(entry, msg, env) == Continue([entry EXCEPT !.used = env.cpu = 1], msg)   \* error: env has no field cpu; it has now, index
====
