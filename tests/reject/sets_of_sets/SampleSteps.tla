---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE \E s \in SUBSET cell.members : s = {}      \* error: SUBSET, the set of all subsets cannot be compiled
         -> Reply(cell, msg)
    [] DOMAIN cell.queue = {}                     \* error: DOMAIN cannot be compiled; write the range
         -> Reply(cell, msg)
    [] cell.slots \in [1..4 -> {}]                \* error: [S -> T], a set of functions cannot be compiled
         -> Reply(cell, msg)
    [] OTHER -> Drop(cell, msg)
====
