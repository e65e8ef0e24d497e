---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  LET free == First(1, 4, 0, LAMBDA i : ~ cell.slots[i].used)  \* error: unknown operator First (did you mean FirstIndex?)
  IN IF free = 0 \/ Card(cell.members) > 3 THEN Drop(cell, msg) ELSE Repyl(cell, msg)  \* error: unknown operator Card \* error: unknown operator Repyl (did you mean Reply?)
====
