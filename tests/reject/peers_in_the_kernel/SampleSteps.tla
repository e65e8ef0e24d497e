---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg, env) == IF env.validated THEN Continue(cell, msg) ELSE Drop(cell, msg)   \* error: env has no field validated; it has now, index
Ask(entry, msg, env) == IF env.peer > 3 THEN Forward(entry, msg) ELSE Drop(entry, msg)   \* error: env has no field peer; it has now, index
Find(entry, msg, env) == IF env.validated /\ env.peer > 3 THEN Reply(entry, [msg EXCEPT !.shown = env.token]) ELSE Drop(entry, msg)
Back(entry, msg, env) == Reply(entry, [msg EXCEPT !.shown = env.token])   \* error: env has no field token; it has now, index
====
