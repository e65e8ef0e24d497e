---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Continue(cell, msg)
====
