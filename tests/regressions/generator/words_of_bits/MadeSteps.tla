---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) ==
  CASE msg.kind = "Mask" ->
         Reply([cell EXCEPT !.wide = {w \in cell.wide : w <= msg.n /\ w \notin cell.half /\ w + msg.x # msg.m},
                            !.few = {w \in cell.half : w < 5}], msg)
    [] msg.kind = "Up" ->
         Reply([cell EXCEPT !.wide = {w + msg.n : w \in {v \in cell.wide : v + msg.n < 64}},
                            !.half = {w + 27 : w \in cell.few \cap {0, 1, 2, 3, 4}}], msg)
    [] msg.kind = "Down" ->
         Reply([cell EXCEPT !.wide = {w - msg.x : w \in {v \in cell.wide : v >= msg.x}},
                            !.few = {w \in {v - 2 : v \in {u \in cell.few : u > 2}} : w < 4}], msg)
    [] msg.kind = "Move" ->
         Reply([cell EXCEPT !.wide = {w + (msg.x - msg.m) : w \in {v \in cell.wide : v + (msg.x - msg.m) \in 0..63}}], msg)
    [] msg.kind = "Count" ->
         Reply([cell EXCEPT !.a = Cardinality({w \in cell.wide : w < msg.x}) + Cardinality(cell.few)],
               [msg EXCEPT !.x = IF \A w \in cell.half : w < msg.m THEN 1
                                 ELSE IF \E w \in cell.few : w \in cell.half THEN 2 ELSE 3])
    [] OTHER ->
         LET mapped == {(w * 5 + msg.m) % 32 : w \in cell.half} IN
         Reply([cell EXCEPT !.half = IF 3 \in mapped THEN mapped \cup cell.few ELSE mapped \ cell.few], msg)
====
