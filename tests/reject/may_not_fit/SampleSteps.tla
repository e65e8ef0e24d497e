---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.open
    THEN Reply([cell EXCEPT !.count = @ + 1], msg)        \* error: count may become anything in 1..256, but u8 holds 0..255; test it first
    ELSE Reply([cell EXCEPT !.count = @ - 1], msg)        \* error: count may become anything in -1..254, but u8 holds 0..255; test first that the result is not negative
====
