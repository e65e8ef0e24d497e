---- MODULE SampleSteps ----
EXTENDS Offload

\* What is forwarded came as Idle, or as Gone; the daemon sees it so. The section may be skipped, and Last forwards Busy as well.
Step(cell, msg) ==
  CASE msg.state \in {"Idle", "Gone"} -> Forward(cell, [msg EXCEPT !.state = "Told"])   \* error: Step forwards a message whose state it changed
    [] msg.state = "Busy" -> Continue(cell, [msg EXCEPT !.state = "Told"])
    [] OTHER -> Continue(cell, msg)
Last(cell, msg) == IF msg.state = "Busy" THEN Forward(cell, msg) ELSE Drop(cell, msg)

Find(entry, msg) ==
  CASE msg.chosen = 1 /\ msg.state # "Lost" -> Reply(entry, msg)   \* error: Find replies to messages whose state is Told, but no section of xdp forwards these; end with Drop for them
    [] msg.state \in {"Idle", "Busy"} -> Reply(entry, [msg EXCEPT !.state = "Told"])
    [] msg.state = "Lost" /\ entry.used -> Drop([entry EXCEPT !.used = FALSE], msg)  \* error: Find changes its cell for messages whose state is Lost, but no section of xdp forwards these
    [] OTHER -> Continue(entry, msg)

\* That Find did not end with Drop for Told is said there; of Gone nothing is to be said, and a Drop changes nothing.
Keep(bin, msg) ==
  CASE msg.state = "Gone" -> Reply([bin EXCEPT !.count = 1], msg)
    [] msg.state = "Told" -> Reply([bin EXCEPT !.count = 2], msg)
    [] OTHER -> Drop(bin, msg)
====
