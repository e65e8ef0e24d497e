---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.count - msg.delta < msg.number                   \* error: this compares -255..255 with 0..18446744073709551615, and no C integer holds both
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
