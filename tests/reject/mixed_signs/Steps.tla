---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  IF cell.count - msg.delta < msg.number                   \* error: a comparison of -255..255 with 0..18446744073709551615: no C integer holds both
    THEN Reply(cell, msg)
    ELSE Drop(cell, msg)
====
