---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.open THEN cell                                  \* error: Step must end in a result; end with Continue, Reply, Forward or Drop
  ELSE [verdict |-> "Reply", cell |-> cell]               \* error: Step ends in a record with verdict, cell
====
