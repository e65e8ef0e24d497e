---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Continue([cell EXCEPT !.open = TRUE], msg)
Write(own, msg) == Continue([own EXCEPT !.count = 1], msg)
Read(own, msg) == Continue(own, [msg EXCEPT !.delta = own.count])
Last(own, msg) ==
  CASE msg.delta = 0 -> Forward(own, msg)
    [] msg.delta = 1 -> Reply([own EXCEPT !.count = 2], msg)   \* error: Last writes a cell of own, which is `atomic: owned`, and ends the hook; end with Continue
    [] OTHER -> Continue([own EXCEPT !.count = 3], msg)
Look(entry, msg) == Continue(entry, msg)
Give(entry, msg) == Reply([entry EXCEPT !.used = TRUE], msg)
Fill(own, msg) == Continue([own EXCEPT !.count = 4], msg)
Answer(entry, msg) == Reply(entry, msg)
Clear(own, msg) == Continue([own EXCEPT !.count = 0], msg)
Free(entry, msg) == Continue([entry EXCEPT !.used = FALSE], msg)
====
