---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF msg.where = 0 THEN
    Reply([cell EXCEPT !.count = cell.queue[1] % 256, !.count = 0], msg)  \* error: a later change replaces this value, but the model checker evaluates it; remove the earlier change
  ELSE IF Len(cell.queue) > 0 THEN
    Reply([cell EXCEPT !.count = Head(cell.queue) % 256, !.count = IF @ < 255 THEN @ + 1 ELSE @], msg)
  ELSE Reply([cell EXCEPT !.count = msg.delta, !.count = 0], msg)
====
