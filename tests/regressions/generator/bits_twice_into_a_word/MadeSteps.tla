---- MODULE MadeSteps ----
EXTENDS Offload

Grown(set, item) == IF Cardinality(set) < 3 THEN set \cup {item} ELSE set

Step1(cell, msg) ==
  CASE cell.used /\ cell.d # {} -> Drop([cell EXCEPT !.d = Grown(@, 8) \ Grown(@, cell.owner), !.used = FALSE], msg)
    [] 0 \notin cell.d -> Reply(cell, msg)
    [] {1, cell.owner} \subseteq cell.d -> Continue([cell EXCEPT !.owner = 0], msg)
    [] OTHER -> Drop(cell, msg)
====
