---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) ==
  IF msg.x = {} THEN
    Reply(
      [cell EXCEPT
        !.b = (IF Cardinality(cell.b) < 3 THEN cell.b \cup {13} ELSE {}) \ {IF cell.a <= 15 THEN cell.a ELSE 5}],
      msg)
  ELSE Drop(cell, msg)
====
