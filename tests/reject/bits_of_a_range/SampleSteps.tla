---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  Reply([cell EXCEPT !.members = {i * 2 : i \in {j \in 1..3 : j > 1}}], msg) \* error: a part of a range cannot be a set of its own

Other(cell, msg) ==
  Reply([cell EXCEPT !.marks = {i + cell.count : i \in {j \in 1..3 : j > 1}}], msg) \* error: an element of marks may be anything in 2..258, but bits of 16 hold 0..15

Third(cell, msg) ==
  IF Cardinality({i * 2 : i \in 1..3}) > 1 THEN Reply(cell, msg) ELSE Drop(cell, msg) \* error: a set cannot be made from a range; give the field that stores it the type bits

Fourth(cell, msg) ==
  Reply([cell EXCEPT !.marks = {i : i \in {j \in 1..3 : cell.count}}], msg) \* error: expected bool, found u8
====
