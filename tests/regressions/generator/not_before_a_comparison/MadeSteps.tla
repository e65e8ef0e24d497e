---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) ==
  CASE (\A q \in msg.x : cell.b # cell.b) <=> (\E q \in 1..2 : msg.where # 8) -> Drop(cell, msg)
    [] ~ (cell.b = 3) <=> (msg.noted < 5) -> Drop(cell, msg)
    [] (cell.b = 3) <=> ~ (msg.noted < 5 \/ cell.b > 7) -> Reply(cell, [msg EXCEPT !.noted = 9])
    [] OTHER -> Reply(cell, msg)
====
