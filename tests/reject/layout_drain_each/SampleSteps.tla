---- MODULE SampleSteps ----
EXTENDS Offload

Step(entry, msg) == Continue(entry, msg)
Peek(mark, msg) == Reply(mark, msg)
Reach(mark, msg) == Continue(mark, msg)
Hold(mark, msg) == Continue(mark, msg)
Newer(found, msg) == Continue(found, msg)
====
