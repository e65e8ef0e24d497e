---- MODULE MadeSteps ----
EXTENDS Offload

Helper0(p, q) == ((LET F1(x2) == q IN (F1(9) + F1(104))) - (LET F3(x4) == p IN (F3(128) - F3(185))))

Helper1(p) == (LET F5(x6) == p IN (F5((9 + 186)) - F5(0)))

Step1(row, msg) ==
  Reply([a |-> [row.a EXCEPT ![((LET v7 == (1 + msg.there) IN (IF (v7 <= 2) THEN v7 ELSE 0)) + 1)] = [row.a[1] EXCEPT !.owner = row.a[3].owner, !.owner = (LET v8 == (@ + 7) IN (IF (v8 <= 7) THEN v8 ELSE 7))]]], msg)

Step2(row, msg) ==
  (CASE ((msg.where - row.a[3].owner) = (LET F9(x10) == 2 IN (F9(6) + F9(row.a[3].owner)))) -> (IF (row.a[3].used # (3 # msg.there)) THEN (IF (((276 * msg.y) \in 4..12) /\ ((row.a[3].used # (61 = 8)) /\ (msg.y <= 6))) THEN Step2Leaf1 :: Drop(row, [msg EXCEPT !.where = (LET v11 == (@ - 1) IN (IF (v11 >= 0) THEN v11 ELSE 0)), !.there = msg.where, !.y = 9]) ELSE Continue([a |-> [row.a EXCEPT ![3] = [row.a[3] EXCEPT !.owner = (IF ((@ - 1) >= 0) THEN (@ - 1) ELSE 7), !.used = msg.x]]], msg)) ELSE (IF (((~ (row.a[1].owner > 283)) \/ (row.a[3].used \/ FALSE)) \/ (~ (\A q12 \in 1..4 : (msg.y > msg.there)))) THEN Drop([a |-> row.a], msg) ELSE Reply(row, [msg EXCEPT !.x = (row.a[1].owner \in 19..28), !.there = (IF (msg.x /\ row.a[3].used) THEN (255 % 4) ELSE msg.there)]))) [] OTHER -> Reply(row, msg))

Step3(cell, msg) ==
  (CASE (\E q13 \in 1..7 : (\A q14 \in 1..2 : (msg.there = msg.y))) -> (IF (((msg.there + 254) + (cell.a - msg.where)) \in 16..35) THEN (IF (\E q15 \in 1..4 : (msg.where # msg.there)) THEN Reply(cell, [msg EXCEPT !.y = cell.a, !.y = cell.b.left, !.where = (CASE (cell.a # cell.a) -> (IF (289 <= 3) THEN 289 ELSE 0) [] ((msg.where < msg.there) \/ TRUE) -> msg.where [] OTHER -> msg.where)]) ELSE Step3Leaf2 :: Reply(cell, [msg EXCEPT !.where = (LET v16 == 66 IN (IF (v16 <= 3) THEN v16 ELSE 1)), !.there = msg.there])) ELSE (LET v18 == CountIndex(1, 7, LAMBDA i17 : (~ (msg.there > cell.a))) IN Step3Leaf3 :: Drop([a |-> 0, b |-> cell.b], msg))) [] OTHER -> (CASE (66 >= (- cell.b.right)) -> (IF (5 # cell.b.left) THEN Reply(cell, msg) ELSE Reply(cell, msg)) [] TRUE -> Continue([a |-> ((14 + cell.b.right) % 256), b |-> [cell.b EXCEPT !.left = (@ + 0), !.left = cell.a]], [msg EXCEPT !.kind = msg.kind]) [] OTHER -> Reply(cell, msg)))
====
