---- MODULE OpsSteps ----
EXTENDS Offload, Integers
First(cell, msg, env) ==
  Continue([cell EXCEPT !.a = env.position], msg)  \* error: env has no field position
Inner(cell, msg) == Continue(cell, msg)
Last(cell, msg) == Reply(cell, [msg EXCEPT !.x = Len(msg.operations)])  \* error: message has no field operations
====
