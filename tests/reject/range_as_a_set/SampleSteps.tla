---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  Reply([cell EXCEPT !.members = {i \in 1..3 : i > 1}], msg) \* error: a part of a range cannot be a set of its own; count it with Cardinality
====
