---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) == Continue(cell, [msg EXCEPT !.where = msg.x, !.there = msg.y])
Step2(cell, msg) == IF cell.a = 3 THEN Drop(cell, msg) ELSE Continue(cell, [msg EXCEPT !.x = cell.a])
Step3(row, msg) == IF row.b = 255 THEN Reply(row, msg) ELSE Continue([row EXCEPT !.b = @ + 1], msg)
Step4(tally, msg) == Reply([tally EXCEPT !.c = msg.x], [msg EXCEPT !.kind = "Done"])
====
