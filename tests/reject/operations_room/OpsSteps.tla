---- MODULE OpsSteps ----
EXTENDS Offload
First(cell, msg) == Continue(cell, msg)
Inner(cell, msg) == Continue(cell, msg)
Last(cell, msg) == Reply(cell, msg)
====
