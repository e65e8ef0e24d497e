---- MODULE MadeSteps ----
EXTENDS Offload

Step1(cell, msg) ==
  Reply(
    [cell EXCEPT
      !.a = {LET v == msg.there - msg.there IN IF v >= 0 THEN v ELSE 6 : m \in {m \in cell.a : FALSE}},
      !.b = {(IF msg.there >= 0 THEN m ELSE 2) : m \in {m \in cell.b : m > 7}}],
    msg)
====
