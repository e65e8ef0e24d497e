---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Forward(cell, msg)

Find(entries, msg) ==
  IF \E i \in 0..64 : entries[i].used                      \* error: the index lies in 0..64, table entry has 0..63
    THEN Reply(entries, msg)
    ELSE Drop(entries, msg)
====
