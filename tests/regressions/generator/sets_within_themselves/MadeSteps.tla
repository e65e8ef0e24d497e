---- MODULE MadeSteps ----
EXTENDS Offload

CONSTANTS Limit

Helper0(p) == (127 - 128)

Using(F(_), p, q) == (F(191) + (- q))

Step1(cell, msg) ==
  (IF (cell.a # cell.a) THEN Step1Leaf1 :: Drop([a |-> (IF (Cardinality(cell.a) < 1) THEN (cell.a \cup {"Idle"}) ELSE cell.a), b |-> (IF (Len(cell.b) # 0) THEN Tail(cell.b) ELSE cell.b), c |-> (IF (Limit > msg.where) THEN cell.c ELSE ({"Idle"} \cap {"Idle"})), d |-> cell.d], msg) ELSE (LET v4 == (8 # (CountIndex(1, 7, LAMBDA i3 : (Limit >= 0)) + (IF (Len(cell.b) > 0) THEN Head(cell.b) ELSE 1))) IN (IF (\A q5 \in msg.y : ((msg.noted < msg.noted) => TRUE)) THEN Step1Leaf2 :: Drop(cell, [msg EXCEPT !.kind = "Denied", !.noted = (IF ((@ - 9) >= 0) THEN (@ - 9) ELSE 4)]) ELSE Reply([a |-> {k6 \in cell.a : (265 >= 91)}, b |-> <<(FirstIndex(1, 1, 2, LAMBDA i7 : v4) % 2)>>, c |-> (cell.c \cup {"Busy"}), d |-> {"Busy"}], msg))))

Step2(cell, msg) ==
  (IF (\A q8 \in msg.y : FALSE) THEN (IF (TRUE \/ (cell.b # (IF (Len(cell.b) # 0) THEN Tail(cell.b) ELSE cell.b))) THEN (IF (~ ((\A q9 \in msg.y : (235 # Limit)) /\ (cell.c # cell.c))) THEN Drop([a |-> {k10 \in cell.a : ((7 # 5) /\ (Limit > msg.noted))}, b |-> <<(IF (msg.there <= 1) THEN msg.there ELSE 0)>>, c |-> cell.c, d |-> {(IF FALSE THEN m11 ELSE m11) : m11 \in cell.d}], [msg EXCEPT !.noted = (LET v12 == (@ - 14) IN (IF (v12 >= 0) THEN v12 ELSE 9))]) ELSE Drop(cell, msg)) ELSE Reply(cell, [msg EXCEPT !.noted = (IF (Len(cell.b) >= 3) THEN cell.b[3] ELSE 1), !.x = (IF ((@ - 1) >= 0) THEN (@ - 1) ELSE 3), !.kind = "Tell"])) ELSE (IF (Using(LAMBDA l13 : 97, Len(cell.b), (1 + msg.x)) = (IF (Len(cell.b) >= 1) THEN cell.b[1] ELSE 6)) THEN (IF ((IF (Len(cell.b) >= 2) THEN cell.b[2] ELSE 7) = (- (IF (Len(cell.b) >= 3) THEN cell.b[3] ELSE 1))) THEN Step2Leaf4 :: Continue([a |-> (IF (Cardinality(cell.a) < 1) THEN (cell.a \cup {"Idle"}) ELSE cell.a), b |-> cell.b, c |-> cell.c, d |-> cell.d], msg) ELSE Step2Leaf5 :: Continue(cell, msg)) ELSE (LET v16 == (((msg.there = msg.there) \/ FALSE) /\ (Helper0(msg.x) \in msg.y)) IN Reply([a |-> cell.a, b |-> cell.b, c |-> cell.c, d |-> (IF (cell.a # cell.a) THEN {m17 : m17 \in cell.d} ELSE (LET v18 == msg.x IN cell.d))], [msg EXCEPT !.noted = (LET F19(x20) == 34 IN (F19(msg.where) - F19(CountIndex(1, 4, LAMBDA i21 : TRUE)))), !.y = {(IF (Cardinality(msg.y) <= 7) THEN Cardinality(msg.y) ELSE 3) : m22 \in {m22 \in msg.y : ((14 # msg.there) /\ FALSE)}}]))))

Step3(cell, msg) ==
  (IF (Limit > msg.x) THEN Drop(cell, msg) ELSE (CASE (\E q23 \in msg.y : (Limit \in 2..5)) -> (CASE (msg.x \in msg.y) -> Drop(cell, msg) [] (\A q24 \in msg.y : (msg.there > Limit)) -> Continue([a |-> (IF (Cardinality(cell.a) < 1) THEN (cell.a \cup {"Busy"}) ELSE cell.a), b |-> <<(IF (284 <= 1) THEN 284 ELSE 0)>>, c |-> (cell.c \cup {"Busy"}), d |-> {m25 : m25 \in cell.d}], [msg EXCEPT !.x = 9, !.where = (272 % 4)]) [] OTHER -> Step3Leaf4 :: Continue([a |-> (LET v27 == (\E q26 \in 1..3 : (Limit < q26)) IN {k28 \in cell.a : v27}), b |-> cell.b, c |-> {"Busy"}, d |-> ((cell.d \ cell.d) \ {k29 \in cell.d : (3 > msg.noted)})], [msg EXCEPT !.y = {(82 % 36)}])) [] (({m30 : m30 \in cell.c} \subseteq cell.c) <=> ((msg.y \cup {}) \subseteq msg.y)) -> (CASE (msg.y = (msg.y \cup {msg.where : m31 \in {m31 \in 1..1 : (msg.x = msg.noted)}})) -> Continue(cell, msg) [] (FALSE /\ (229 \in 13..33)) -> Step3Leaf6 :: Continue(cell, [msg EXCEPT !.there = (256 \div 28)]) [] OTHER -> Step3Leaf7 :: Continue(cell, msg)) [] OTHER -> (CASE (\E q32 \in msg.y : (msg.y # msg.y)) -> Continue([a |-> cell.a, b |-> cell.b, c |-> cell.c, d |-> {k33 \in cell.d : (Limit # Limit)}], [msg EXCEPT !.there = (IF ((@ + 2) <= 3) THEN (@ + 2) ELSE 1), !.kind = msg.kind]) [] (130 \in 13..17) -> Step3Leaf9 :: Continue(cell, msg) [] OTHER -> Step3Leaf10 :: Continue(cell, msg))))

Step4(row, msg) ==
  Drop([a |-> 0, b |-> row.b, c |-> <<((IF (Len(row.c) > 0) THEN Head(row.c) ELSE 137) % 16)>>, d |-> row.a], [msg EXCEPT !.y = (IF (msg.x = msg.noted) THEN (msg.y \cup {}) ELSE msg.y), !.where = (IF ((@ - 1) >= 0) THEN (@ - 1) ELSE 0)])
====
