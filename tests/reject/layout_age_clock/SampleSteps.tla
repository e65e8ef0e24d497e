---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Forward(cell, msg)
Find(cell, msg, env) == IF env.age < 3 THEN Drop(cell, msg) ELSE Reply(cell, msg)
====
