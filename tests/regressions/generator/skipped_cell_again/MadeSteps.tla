---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) == Continue(cell, [msg EXCEPT !.where = msg.to])

Step2(cell, msg) == IF msg.x = 3 THEN Reply(cell, msg) ELSE Continue(cell, msg)

Step3(cell, msg) == Reply(cell, [msg EXCEPT !.x = cell.a])
====
