---- MODULE SampleSteps ----
EXTENDS Offload
CONSTANTS All, Part, None
ASSUME All > Part /\ All \in Nat
ASSUME All > Part
ASSUME Part > 0 /\ All % Part = 0 \* error: this ASSUME is false with Part = 64, All = 100; change the layout's constants
ASSUME Named == None > 0 \* error: this ASSUME is false with None = 0; change the layout's constants

Step(cell, msg) == IF All > Part + None THEN Drop(cell, msg) ELSE Continue(cell, msg)
====
