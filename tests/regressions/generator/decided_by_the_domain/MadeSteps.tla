---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) == IF \A q \in msg.x : q \in msg.x THEN Drop(cell, msg) ELSE Reply(cell, msg)
====
