---- MODULE SampleSteps ----
EXTENDS Offload

CONSTANTS Limit, Test(_)  \* error: CONSTANT Limit has no value; give it one under `constants` \* error: CONSTANT Test is an operator

Step(cell, msg) == IF cell.count < 3 THEN Reply(cell, msg) ELSE Drop(cell, msg)
====
