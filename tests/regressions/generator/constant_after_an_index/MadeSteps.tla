---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) == IF cell.b[1] > 3 /\ FALSE THEN Drop(cell, msg) ELSE Reply(cell, msg)
====
