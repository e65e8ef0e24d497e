---- MODULE MadeSteps ----
EXTENDS Offload

Helper0(p, q) == (LET F1(x2) == 8 IN (F1(0) - F1(p)))

Helper1(p) == 0

Step1(cell, msg) ==
  Drop([a |-> cell.a, b |-> [e3 \in 1..3 |-> (IF (msg.noted < e3) THEN cell.b[1] ELSE cell.b[1])], c |-> cell.c, d |-> (IF (\E q4 \in cell.c : msg.x) THEN ((51 + cell.d) % 8) ELSE cell.d)], msg)

Step2(cell, msg) ==
  (IF (cell.a[3] = cell.a[3]) THEN (CASE (\A q5 \in cell.c : (6 \in cell.c)) -> (IF (~ ((cell.a[3] # cell.a[3]) /\ (cell.a[3].used \/ cell.a[1].used))) THEN Step2Leaf1 :: Reply([a |-> cell.a, b |-> cell.b, c |-> (LET v6 == msg.where IN (IF cell.a[3].used THEN cell.c ELSE cell.c)), d |-> (2 % 2)], [msg EXCEPT !.where = (@ + 0), !.noted = msg.noted, !.kind = "Done"]) ELSE Drop([a |-> cell.a, b |-> [cell.b EXCEPT ![((LET v7 == 200 IN (IF (v7 <= 2) THEN v7 ELSE 2)) + 1)] = cell.b[3]], c |-> {}, d |-> (IF FALSE THEN 1 ELSE (LET v8 == cell.a[3].owner IN (IF (v8 <= 7) THEN v8 ELSE 5)))], [msg EXCEPT !.where = (@ - 0), !.kind = (LET v10 == ((LET v9 == msg.noted IN (IF (v9 <= 15) THEN v9 ELSE 6)) \in cell.c) IN "Denied"), !.noted = (IF ((@ - 34) >= 0) THEN (@ - 34) ELSE 0)])) [] OTHER -> (IF (((LET F11(x12) == msg.noted IN (F11(msg.where) + F11(cell.a[1].owner))) \in 8..20) /\ (5 < (167 - 0))) THEN Drop(cell, msg) ELSE Continue([a |-> (IF (cell.a[1] # cell.a[1]) THEN cell.a ELSE cell.a), b |-> [e13 \in 1..3 |-> cell.b[3]], c |-> cell.c, d |-> cell.d], msg))) ELSE (CASE (msg.where # msg.where) -> (CASE ((cell.a[1].owner + Helper0(cell.d, cell.a[3].owner)) < ((cell.d - msg.noted) \div 28)) -> Continue(cell, [msg EXCEPT !.noted = (IF ((cell.a[3].owner - (cell.d - cell.b[3].owner)) >= 0) THEN (cell.a[3].owner - (cell.d - cell.b[3].owner)) ELSE 236)]) [] OTHER -> Step2Leaf6 :: Continue([a |-> [e14 \in 1..3 |-> cell.a[3]], b |-> cell.b, c |-> {(LET v17 == (LET F15(x16) == cell.b[3].owner IN (F15(cell.a[3].owner) + F15(1))) IN (IF (v17 <= 15) THEN v17 ELSE 13)), (IF ((cell.a[1].owner + 3) <= 15) THEN (cell.a[1].owner + 3) ELSE 7)}, d |-> (cell.b[1].owner % 8)], msg)) [] ((LET F18(x19) == (cell.d + cell.b[1].owner) IN (F18((LET v20 == (cell.a[1].owner + msg.noted) IN (IF (v20 <= 255) THEN v20 ELSE 2))) + F18(Helper0(cell.b[3].owner, 6)))) >= 73) -> Drop(cell, msg) [] OTHER -> (LET v21 == (Helper1(((msg.noted + cell.b[3].owner) % 256)) \div 33) IN Reply([a |-> [e22 \in 1..3 |-> [cell.a[e22] EXCEPT !.owner = cell.a[3].owner]], b |-> cell.b, c |-> {(LET F25(x26) == msg.noted IN (F25(cell.a[3].owner) + F25(cell.d))) : m23 \in {m23 \in cell.c : (\E q24 \in 1..7 : FALSE)}}, d |-> (LET v27 == cell.a[3].owner IN (IF (v27 <= 7) THEN v27 ELSE 2))], [msg EXCEPT !.kind = msg.kind, !.noted = (IF ((@ - 1) >= 0) THEN (@ - 1) ELSE 155), !.x = (274 \in 2..2)]))))

Step3(cell, msg) ==
  Reply(cell, [msg EXCEPT !.kind = "Done", !.where = (LET v28 == (6 + Helper1(254)) IN (IF (v28 <= 3) THEN v28 ELSE 0)), !.where = (LET v29 == (cell.b[3].owner + cell.a[1].owner) IN (LET v30 == msg.noted IN (IF (v30 <= 3) THEN v30 ELSE 2)))])
====
