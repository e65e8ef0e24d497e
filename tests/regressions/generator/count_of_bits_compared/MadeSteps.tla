---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) ==
  CASE Cardinality(msg.x) = (IF cell.b = 7 THEN 1 ELSE 3) -> Drop(cell, msg)
    [] Cardinality(msg.x) - cell.b < 0 -> Reply(cell, [msg EXCEPT !.noted = Cardinality(msg.x) * 2])
    [] Cardinality(msg.x) > cell.b + msg.noted -> Reply(cell, [msg EXCEPT !.noted = (Cardinality(msg.x) + cell.b) % 7])
    [] OTHER -> Reply(cell, msg)
====
