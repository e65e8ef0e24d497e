---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) ==
  CASE msg.noted \in 7..16 -> Continue([cell EXCEPT !.a = @ \cup {msg.there}], [msg EXCEPT !.noted = msg.x])
    [] msg.x \in 19..24 -> Drop(cell, msg)
    [] OTHER -> Reply(cell, [msg EXCEPT !.noted = 9, !.there = 2])

Step2(row, msg) ==
  IF msg.noted = msg.x THEN Drop([row EXCEPT !.b = {msg.there}], [msg EXCEPT !.kind = "Ask"]) ELSE Continue(row, msg)
====
