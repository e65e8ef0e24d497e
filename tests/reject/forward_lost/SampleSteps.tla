---- MODULE SampleSteps ----
EXTENDS Offload

Shown(msg) == [msg EXCEPT !.number = 7, !.delta = 1, !.mark = TRUE]  \* error: write `forwards: [delta, number]` in the layout
\* A change by one section, and a Forward by another: the model sees the packet as it came. Last reads number.
Step(cell, msg) ==
  CASE msg.state = "Idle" -> Forward(cell, [msg EXCEPT !.state = "Busy"]) \* error: Step forwards a message whose state it changed, but xdp does not write state into a packet that it forwards, so the change is lost; write `forwards: [delta, state]` in the layout, or leave it as it is
    [] msg.state = "Busy" -> Forward(cell, Shown(msg))
    [] msg.delta = 1 -> Continue(cell, [msg EXCEPT !.number = 9])
    [] msg.delta = 2 -> Continue(cell, [msg EXCEPT !.client = 9])  \* error: Step changes client, and then Last forwards the packet as it came, so the change is lost; write `forwards: [delta, client]` in the layout, or leave it as it is
    [] OTHER -> Forward(cell, [msg EXCEPT !.slot = 3]) \* error: Step forwards a message whose slot it changed, but slot is local, so the change is lost; leave slot as it is, or make it a field of `handover`
Last(cell, msg) == IF msg.number = 9 THEN Drop(cell, msg) ELSE Forward(cell, msg)
Find(entry, msg) == Drop(entry, msg)
====
