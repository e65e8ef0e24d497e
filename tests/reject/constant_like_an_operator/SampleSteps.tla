---- MODULE SampleSteps ----
EXTENDS Offload

Slots(msg) == msg.chosen % 4

Step(cell, msg) == IF cell.count < Slots(msg) THEN Reply(cell, msg) ELSE Drop(cell, msg)
====
