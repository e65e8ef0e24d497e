---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE cell.open -> Reply(cell, msg)          \* error: CASE without OTHER; add an arm
    [] ~ cell.open -> Drop(cell, msg)
====
