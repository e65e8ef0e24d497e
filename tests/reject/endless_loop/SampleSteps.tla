---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF \E i \in 1..msg.number : i = 49                          \* error: this loop may have 18446744073709551615 iterations; a step in the kernel may have at most 4096
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
