---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==  \* error: Step needs 304 bytes of the kernel's stack (304 for values that it makes), but of its 512 bytes a step can have 288; make these values smaller (of bytes, multiples of 8 need least), or split the step into two sections
  Reply([cell EXCEPT !.kept = msg.given], [msg EXCEPT !.given = cell.kept])
====
