---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF \E i \in 1..200 : \E j \in 1..200 : cell.numbers[i] = cell.numbers[j] + msg.delta THEN Reply(cell, msg)  \* error: Step makes xdp too long for the verifier with this loop, of up to 200 iterations: it would have 40,201 branches wait, but keeps at most 8,192; give the sets or arrays of nested loops smaller bounds, or split the work over several messages
  ELSE Drop(cell, msg)
====
