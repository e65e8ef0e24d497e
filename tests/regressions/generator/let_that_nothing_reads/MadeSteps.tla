---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) ==
  IF msg.x > cell.d /\ (LET v == 299 + msg.there IN IF v <= 3 THEN v ELSE 1) \notin cell.c THEN
    IF 2 \notin cell.c THEN
      Reply(
        [cell EXCEPT !.a = (LET n == Cardinality(msg.y) IN IF n <= 15 THEN n ELSE 5) \in msg.y],
        [msg EXCEPT !.x = (LET w == 400 + msg.there IN IF w <= 255 THEN w ELSE 7)])
    ELSE Drop(cell, msg)
  ELSE Drop([cell EXCEPT !.d = LET u == cell.d + 1 IN IF cell.d > 9 /\ u < 5 THEN u ELSE 3], msg)
====
