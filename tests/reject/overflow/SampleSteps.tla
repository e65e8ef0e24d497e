---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE msg.number + 1 = 3 -> Reply(cell, msg)              \* error: the result of `+` lies in 1..18446744073709551616, which may not fit a signed 64-bit integer
    [] msg.number * 2 > 7 -> Reply(cell, msg)              \* error: the result of `*` lies in 0..184467
    [] OTHER -> Drop(cell, msg)
====
