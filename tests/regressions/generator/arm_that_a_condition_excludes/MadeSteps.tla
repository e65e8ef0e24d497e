---- MODULE MadeSteps ----
EXTENDS Offload

Third(cell) == IF Len(cell.b) >= 3 THEN cell.b[3] ELSE 271

Fourth(cell) == IF Len(cell.b) >= 4 THEN cell.b[4] ELSE Third(cell)

Step1(cell, msg) ==
  IF Len(cell.b) = 4 THEN
    Reply([cell EXCEPT !.a = IF Fourth(cell) <= 7 THEN Fourth(cell) ELSE 7], msg)
  ELSE
    Reply(
      [cell EXCEPT !.b = Append(@, IF Third(cell) <= 7 THEN Third(cell) ELSE 7)],
      [msg EXCEPT !.y = IF Fourth(cell) < 9 THEN Fourth(cell) ELSE @])
====
