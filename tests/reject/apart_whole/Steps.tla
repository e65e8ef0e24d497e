---- MODULE Steps ----
EXTENDS Offload

Blank == [i \in 1..2 |-> 0]

Step(cell, msg) ==
  CASE cell.notes[1] = 0 -> Reply([cell EXCEPT !.notes[2] = 0], msg)
    [] cell.notes = Blank -> Drop(cell, msg) \* error: Step uses the whole of notes, but cell keeps notes apart; take its items one by one
    [] OTHER -> Reply([cell EXCEPT !.notes = [i \in 1..2 |-> 0]], msg) \* error: Step uses the whole of notes, but cell keeps notes apart
====
