---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  IF \E i \in 1..msg.number : i = 49                          \* error: a loop of up to 18446744073709551615 iterations; 4096 are the most
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
