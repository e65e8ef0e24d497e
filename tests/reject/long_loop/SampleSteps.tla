---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF Cardinality({m \in cell.many : m > msg.client}) > 3 THEN Drop(cell, msg)
  ELSE Reply([cell EXCEPT !.many = {m \in @ : m > msg.client}], msg)  \* error: this set is made in a loop over up to 33 elements, for which the verifier would follow more than a million instructions; give the set a `max` of at most 32, or the type `bits`, or only count or quantify over it
====
