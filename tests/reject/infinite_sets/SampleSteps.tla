---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.count \in Nat /\ cell.queue \in Seq({1})  \* error: Nat, an infinite set cannot be compiled \* error: Seq(S), an infinite set cannot be compiled
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
