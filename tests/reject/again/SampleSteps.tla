---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Forward(cell, msg)
Find(entry, msg) == IF entry.used THEN NotYet :: Drop(entry, msg) ELSE Continue(entry, msg)
Look(entry, msg) == IF entry.used THEN Reply(entry, msg) ELSE Drop(entry, msg)
Take(entry, msg) ==
  CASE msg.delta = 0 -> Later :: Drop([entry EXCEPT !.used = TRUE], msg)   \* error: the daemon runs Take again after Later, which changes its cell; it must be a Drop
    [] msg.delta = 1 -> Drop(entry, msg)
    [] OTHER -> Reply(entry, msg)
Tell(entry, msg) ==
  IF entry.used THEN Told :: Reply(entry, msg) ELSE Drop(entry, msg)   \* error: the daemon runs Tell again after Told, which ends with Reply; it must be a Drop
Next(mark, msg) == Drop(mark, msg)
Reached(mark, msg) == Continue([mark EXCEPT !.epoch = msg.epoch, !.count = msg.count], msg)
Begun(mark, msg) == Continue([mark EXCEPT !.epoch = msg.epoch], msg)
====
