---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  Reply([cell EXCEPT !.queue = SubSeq(@, 1, 2) \o <<3>>], msg) \* error: SubSeq cannot be compiled; use Tail \* error: \o cannot be compiled; use Append
====
