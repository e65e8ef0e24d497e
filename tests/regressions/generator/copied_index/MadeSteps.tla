---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) ==
  IF msg.kind = "Ask" THEN Continue([cell EXCEPT !.a = msg.y], [msg EXCEPT !.other = msg.slot])
  ELSE Continue([cell EXCEPT !.a = 1], [msg EXCEPT !.other = msg.x])

Step2(cell, msg) == Continue([cell EXCEPT !.a = msg.y], [msg EXCEPT !.y = cell.a])

Step3(cell, msg) == Reply([cell EXCEPT !.a = msg.y], [msg EXCEPT !.y = cell.a])
====
