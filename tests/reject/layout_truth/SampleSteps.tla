---- MODULE SampleSteps ----
EXTENDS Offload

On(cell, msg) == Drop(cell, msg)
====
