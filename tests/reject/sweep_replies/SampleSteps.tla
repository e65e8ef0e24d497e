---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Reply(cell, msg)

\* A pass has no packet to send, and nobody to pass it to.
Close(cell, msg) ==
  CASE cell.open -> Reply([cell EXCEPT !.open = FALSE], msg)   \* error: the sweep or restore runs Close, which ends with Reply; it must end with Continue or Drop: it has no packet to send
    [] cell.count = 0 -> Forward(cell, msg)   \* error: the sweep or restore runs Close, which ends with Forward; it must end with Continue or Drop
    [] OTHER -> Continue(cell, msg)
Free(entry, msg) == IF entry.used THEN Continue([entry EXCEPT !.used = FALSE], msg) ELSE Drop(entry, msg)
====
