---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  Reply([cell EXCEPT !.members = {i * 2 : i \in {j \in 1..3 : j > 1}}], msg) \* error: a set that is a part of a range

Other(cell, msg) ==
  Reply([cell EXCEPT !.marks = {i + cell.count : i \in {j \in 1..3 : j > 1}}], msg) \* error: an element of marks may be anything in 2..258, but bits of 16 hold 0..15

Third(cell, msg) ==
  IF Cardinality({i * 2 : i \in 1..3}) > 1 THEN Reply(cell, msg) ELSE Drop(cell, msg) \* error: a set made of a range; give the field that it goes to the type bits

Fourth(cell, msg) ==
  Reply([cell EXCEPT !.marks = {i : i \in {j \in 1..3 : cell.count}}], msg) \* error: u8 where bool is needed
====
