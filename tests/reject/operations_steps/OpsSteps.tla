---- MODULE OpsSteps ----
EXTENDS Offload, Integers
First(cell, msg) ==
  IF msg.count = 2
    THEN Continue([cell EXCEPT !.a = 1], [msg EXCEPT !.count = 1])  \* error: First changes count, which counts the operations of the message
    ELSE Continue(cell, msg)
Inner(cell, msg, env) ==
  IF cell.a = 7
    THEN Drop(cell, msg)  \* error: Inner runs for each operation of a message, and ends with Drop; it must end with Continue
    ELSE Continue([cell EXCEPT !.a = env.position], msg)
Beyond(room, msg) == Continue([room EXCEPT !.a = 2], msg)
Last(cell, msg) == Reply(cell, msg)
====
