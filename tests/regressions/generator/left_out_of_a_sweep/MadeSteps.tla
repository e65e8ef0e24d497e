---- MODULE MadeSteps ----
EXTENDS Offload

Step1(row, msg) == Reply(row, msg)

Step2(cell, msg) == IF cell.a = 1 THEN Drop(cell, msg) ELSE Continue(cell, msg)

Step3(row, msg) == IF row.a = 1 THEN Drop(row, msg) ELSE Continue([row EXCEPT !.a = 5], msg)
====
