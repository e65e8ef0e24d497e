---- MODULE MadeSteps ----
EXTENDS Offload

Step1(row, msg) ==
  IF \E q \in 1..2 : q > msg.where THEN Reply(row, msg) ELSE Reply(row, [msg EXCEPT !.x = msg.x])

Step2(row, msg) == Reply([row EXCEPT !.c = msg.x], msg)
====
