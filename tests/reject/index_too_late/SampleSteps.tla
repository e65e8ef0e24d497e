---- MODULE SampleSteps ----
EXTENDS Offload

Choose(entry, msg) == Continue(entry, [msg EXCEPT !.chosen = entry.owner % 64, !.where = msg.number % 1001])
Step(cell, msg) == Continue([cell EXCEPT !.open = TRUE], [msg EXCEPT !.chosen = msg.delta, !.place = msg.number % 1024])
Mark(entry, msg) == Continue([entry EXCEPT !.used = TRUE], msg)
Look(entry, msg) == IF msg.delta = 0 THEN Forward(entry, msg) ELSE Continue(entry, msg)
Pass(entry, msg) == IF msg.delta = 0 THEN Drop(entry, msg) ELSE Continue(entry, msg)
Write(own, msg) == Continue([own EXCEPT !.count = 1], msg)
Fill(own, msg) == Continue([own EXCEPT !.count = 2], msg)
Find(entry, msg) == Reply([entry EXCEPT !.used = TRUE], msg)
Tally(small, msg) == Continue([small EXCEPT !.count = 1], msg)
Tell(cell, msg, env) == Continue([cell EXCEPT !.open = TRUE], [msg EXCEPT !.place = env.index])
TellSome(cell, msg, env) == IF msg.delta = 0 THEN Continue([cell EXCEPT !.open = TRUE], [msg EXCEPT !.place = env.index]) ELSE Continue([cell EXCEPT !.open = TRUE], msg)
Last(entry, msg) == Reply(entry, msg)
====
