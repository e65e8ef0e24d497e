---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF \E i \in cell.many : \E j \in cell.more : i = j /\ i \notin cell.members /\ j + i + msg.delta \in cell.more THEN Reply(cell, msg)  \* error: Step makes xdp too long for the verifier with this loop, of up to 50 iterations: it would follow about 1,700,000 instructions, 1,700,000 of them here, but gives up after 1,000,000; give the sets or arrays of nested loops smaller bounds, or split the work over several messages
  ELSE Drop(cell, msg)
====
