---- MODULE MadeSteps ----
EXTENDS Offload

CONSTANTS Limit

Helper0(p, q) == 8

Step1(cell, msg) ==
  Continue(cell, msg)

Step2(row, msg) ==
  (CASE TRUE -> (CASE ((msg.x # (7 - msg.where)) /\ (({7} \ row.b) \subseteq row.a)) -> Step2Leaf1 :: Drop([a |-> {(Limit \div 15)}, b |-> (row.b \ row.a)], [msg EXCEPT !.where = ((Limit * msg.noted) - msg.noted)]) [] OTHER -> Reply(row, msg)) [] (\A q1 \in 1..7 : (row.b \subseteq row.b)) -> Continue([a |-> row.a, b |-> ({msg.where : m2 \in {m2 \in row.b : FALSE}} \ {185})], msg) [] OTHER -> Step2Leaf4 :: Reply([a |-> {0}, b |-> (IF (Cardinality(row.b) < 3) THEN (row.b \cup {CountIndex(1, 3, LAMBDA i3 : FALSE)}) ELSE {})], msg))
====
