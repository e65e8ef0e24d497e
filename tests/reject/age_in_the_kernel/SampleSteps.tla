---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg, env) == Continue([cell EXCEPT !.count = env.age], msg)   \* error: env has no field age; it has now, terms, index
Ask(entry, msg) == Forward(entry, msg)
Find(entry, msg, env) == Reply(entry, [msg EXCEPT !.number = env.age])
Back(entry, msg, env) == IF env.age > 3 THEN Reply(entry, msg) ELSE Drop(entry, msg)   \* error: env has no field age; it has now, terms, index
Sweep(cell, msg, env) == IF env.age > 3 THEN Continue(cell, msg) ELSE Drop(cell, msg)   \* error: env has no field age; it has now, terms, index
\* What is opaque is no number, and no other name of it is known.
Late(entry, msg, env) == IF env.terms > 3 THEN Continue(entry, msg) ELSE Drop(entry, msg)   \* error: expected an integer, found bytes of 8
====
