---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Reply([cell EXCEPT !.count = msg.delta, !.marks = @ \cup {40}], msg)
====
