---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) == Result("Refuse", cell, msg)            \* error: this is not a verdict; write Continue, Reply, Forward or Drop
====
