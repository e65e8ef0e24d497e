---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  Reply([cell EXCEPT !.members = {i \in 1..3 : i > 1}], msg) \* error: a set that is a part of a range; count it with Cardinality
====
