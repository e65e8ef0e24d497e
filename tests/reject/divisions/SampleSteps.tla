---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE cell.count \div msg.delta = 1 -> Reply(cell, msg)         \* error: the divisor of \div lies in 0..255; test that it is positive first
    [] (cell.count - msg.delta) % 7 = 1 -> Reply(cell, msg)      \* error: the dividend of % lies in -255..255; add the divisor first
    [] OTHER -> Drop(cell, msg)
====
