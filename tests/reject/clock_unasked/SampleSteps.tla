---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg, env) == IF env.now > 3 THEN Drop(cell, msg) ELSE Reply([cell EXCEPT !.key = env.terms], msg)  \* error: env has no field now; add `env.now` to the layout; it has index \* error: env has no field terms; add `env.terms` to the layout
====
