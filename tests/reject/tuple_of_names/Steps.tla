---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  IF \E <<a, b>> \in cell.members : a = b     \* error: a tuple of names; bind one name at a time
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
