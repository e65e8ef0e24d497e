---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Drop(cell, msg)
====
