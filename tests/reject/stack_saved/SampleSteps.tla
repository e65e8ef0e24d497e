---- MODULE SampleSteps ----
EXTENDS Offload

Step(entry, msg) ==  \* error: Step needs 296 bytes of the kernel's stack (4 for the cell of entry, 144 for fields of the message that a lost swap restores, all of it twice because the swap is retried)
  Reply([entry EXCEPT !.used = TRUE], [msg EXCEPT !.given = msg.taken])
====
