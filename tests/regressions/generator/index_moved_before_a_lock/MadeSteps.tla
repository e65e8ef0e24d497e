---- MODULE MadeSteps ----
EXTENDS Offload

CONSTANTS Limit

Helper0(p) == (LET F1(x2) == 78 IN (F1((IF (287 <= 255) THEN 287 ELSE 28)) - F1(p)))

Helper1(p, q) == 6

Step1(cell, msg) ==
  (LET v4 == (~ (\E q3 \in 1..4 : (Limit < 3))) IN Continue(cell, [msg EXCEPT !.x = (IF v4 THEN (1 \div 19) ELSE msg.x), !.where = (((9 % 22) * 2) % 4)]))

Step2(cell, msg) ==
  (IF (msg.where # (2 + 43)) THEN Continue(cell, msg) ELSE (IF (FALSE /\ (msg.x = msg.x)) THEN (LET v5 == 88 IN Reply([a |-> cell.a, b |-> cell.b, c |-> cell.c, d |-> cell.a], [msg EXCEPT !.where = Helper0((Limit + 0))])) ELSE (IF (((Limit * 281) \in 15..29) /\ ((msg.where - 6) \in 15..16)) THEN Drop([a |-> cell.a, b |-> [left |-> (IF cell.b.left THEN cell.b.left ELSE cell.b.left), right |-> "Idle"], c |-> (IF (~ FALSE) THEN (IF (79 >= 8) THEN cell.b.left ELSE cell.b.left) ELSE (cell.b = cell.b)), d |-> cell.a], msg) ELSE Step2Leaf4 :: Drop([a |-> 0, b |-> [cell.b EXCEPT !.right = cell.b.right, !.left = (msg.there > msg.where), !.right = cell.b.right], c |-> (\E q6 \in 1..8 : (Limit \in 11..27)), d |-> (LET v7 == cell.c IN cell.d)], msg))))

Step3(row, msg) ==
  Reply(row, [msg EXCEPT !.kind = "Ask", !.where = (LET v8 == ((Limit \div 1) - (msg.there + Limit)) IN (IF (v8 >= 0) THEN v8 ELSE 0)), !.x = msg.x])

Step4(cell, msg) ==
  Drop([a |-> cell.d, b |-> cell.b, c |-> (~ (cell.b.left = (msg.x < msg.there))), d |-> cell.d], [msg EXCEPT !.kind = msg.kind, !.x = msg.x])
====
