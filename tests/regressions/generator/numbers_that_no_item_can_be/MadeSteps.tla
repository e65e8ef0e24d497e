---- MODULE MadeSteps ----
EXTENDS Offload

Answer(cell, msg, truth) == Reply(cell, [msg EXCEPT !.kind = IF truth THEN "Right" ELSE "Wrong"])

Step1(cell, msg) ==
  CASE msg.asks = 0 -> Answer(cell, msg, msg.x \in cell.pair)
    [] msg.asks = 1 -> Answer(cell, msg, msg.x - 5 \in cell.several)
    [] msg.asks = 2 -> Answer(cell, msg, cell.several \subseteq cell.pair)
    [] msg.asks = 3 -> Answer(cell, msg, cell.several = cell.pair)
    [] msg.asks = 4 -> Answer(cell, msg, Cardinality(cell.several \ cell.pair) = 1)
    [] msg.asks = 5 -> Answer(cell, msg, cell.several \cap cell.pair # {})
    [] msg.asks = 6 -> Answer(cell, msg, \E item \in cell.several : item \in cell.pair)
    [] OTHER -> Answer(cell, msg, msg.x \in cell.many)
====
