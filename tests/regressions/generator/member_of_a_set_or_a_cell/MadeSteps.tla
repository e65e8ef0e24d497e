---- MODULE MadeSteps ----
EXTENDS Offload

CONSTANTS Limit

Helper0(p) == 118

Helper1(p, q) == (LET F1(x2) == 89 IN (F1((IF ((- p) >= 0) THEN (- p) ELSE 2)) - F1((149 % 7))))

Step1(row, msg) ==
  (IF (msg.kind \in {"Ask", "Tell"}) THEN Step1Leaf1 :: Forward([a |-> {msg.where : m3 \in row.a}, b |-> row.b], [msg EXCEPT !.asked = (Helper0(msg.there) - Limit), !.deep = msg.deep]) ELSE Drop(row, msg))

Step2(cell, msg) ==
  (IF (msg.kind \in {"Ask", "Tell"}) THEN Step2Leaf1 :: Reply([a |-> {(CASE msg.deep -> m4 [] OTHER -> cell.c[1]) : m4 \in cell.a}, b |-> ({"Busy"} \ {m5 : m5 \in cell.b}), c |-> [e6 \in 1..3 |-> (IF (msg.there >= 0) THEN cell.c[3] ELSE cell.c[1])], d |-> (Helper0(msg.there) % 34)], [msg EXCEPT !.kind = "Done"]) ELSE Drop(cell, msg))

Step3(cell, msg) ==
  (IF (msg.kind \in {"Ask", "Tell"}) THEN (CASE ((LET F7(x8) == Cardinality(cell.a) IN (F7((IF ((LET F9(x10) == msg.x IN (F9(msg.x) - F9(1))) >= 0) THEN (LET F9(x10) == msg.x IN (F9(msg.x) - F9(1))) ELSE 1)) - F7(msg.there))) \in msg.y) -> (IF (((3 - Limit) * (IF \E i11 \in 1..6 : (296 = i11) THEN CHOOSE i11 \in 1..6 : (296 = i11) /\ \A i11_before \in 1..(i11 - 1) : ~ (296 = i11_before) ELSE 2)) = (26 - 5)) THEN Reply(cell, [msg EXCEPT !.kind = "Done"]) ELSE (IF ("Busy" \in cell.b) THEN Step3Leaf2 :: Continue([a |-> cell.a, b |-> cell.b, c |-> cell.c, d |-> msg.there], msg) ELSE Step3Leaf3 :: Drop([a |-> (IF (TRUE \/ (cell.d >= Limit)) THEN (cell.a \cup {cell.c[1]}) ELSE (CASE FALSE -> cell.a [] TRUE -> cell.a [] OTHER -> cell.a)), b |-> cell.b, c |-> cell.c, d |-> ((6 \div 21) * msg.asked)], msg))) [] OTHER -> (LET v12 == (((cell.a \subseteq cell.a) \/ (4 <= Limit)) /\ (5 = 4)) IN (CASE (cell.a \subseteq cell.a) -> Step3Leaf4 :: Reply(cell, [msg EXCEPT !.kind = "Done"]) [] (((msg.y \subseteq msg.y) => (\A q13 \in 1..4 : (cell.d >= msg.there))) /\ (msg.y \subseteq msg.y)) -> Step3Leaf5 :: Continue([a |-> cell.a, b |-> cell.b, c |-> [e14 \in 1..3 |-> (CASE FALSE -> cell.c[1] [] v12 -> cell.c[3] [] OTHER -> cell.c[e14])], d |-> msg.there], msg) [] OTHER -> Reply([a |-> cell.a, b |-> cell.b, c |-> [e15 \in 1..3 |-> cell.c[3]], d |-> cell.d], [msg EXCEPT !.kind = "Done"])))) ELSE Drop(cell, msg))

Step4(row, msg) ==
  (IF (msg.kind \in {"Done"}) THEN (LET v17 == (\E q16 \in 1..6 : (msg.deep \/ FALSE)) IN Step4Leaf1 :: Drop([a |-> ({(9 % 8) : m18 \in {m18 \in row.a : (Limit # msg.x)}} \ msg.y), b |-> (IF (Len(row.b) # 0) THEN Tail(row.b) ELSE row.b)], [msg EXCEPT !.there = msg.where, !.kind = "Denied", !.kind = msg.kind])) ELSE Drop(row, msg))
====
