---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF msg.delta < 17
    THEN Reply([cell EXCEPT !.marks = {msg.delta}], msg)   \* error: an element of marks may be anything in 0..16, but bits of 16 hold 0..15
    ELSE Reply([cell EXCEPT !.members = {msg.number}], msg) \* error: an element of members may be anything in 0..18446744073709551615, but u14 holds 0..16383
====
