---- MODULE MadeSteps ----
EXTENDS Offload

Step1(row, msg) ==
  IF row.a[3].used
  THEN Reply([row EXCEPT !.a[(row.a[1].owner % 3) + 1].used = row.a[3].used], msg)
  ELSE Drop(row, msg)
====
