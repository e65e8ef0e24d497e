---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.open THEN cell                                  \* error: Step ends in something that is not a result; end with Continue, Reply, Forward or Drop
  ELSE [verdict |-> "Reply", cell |-> cell]               \* error: Step ends in a record of verdict, cell
====
