---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  IF {} = {}                                              \* error: nothing says of what type the two sides are
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
