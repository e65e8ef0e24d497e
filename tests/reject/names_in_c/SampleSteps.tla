---- MODULE SampleSteps ----
EXTENDS Offload
CONSTANTS MessageMoodCalm

Step(cell, msg) ==
  CASE msg.delta = MessageMoodCalm -> RequestFull :: Drop(cell, msg)
    [] msg.delta = 1 -> full :: Drop(cell, msg)
    [] msg.delta = 2 -> Full :: Drop(cell, msg)  \* error: the leaves Full and full are both SAMPLE_LEAF_STEP_FULL in C; choose another label
    [] OTHER -> Continue(cell, msg)
StepRequest(cell, msg) == IF msg.delta = 3 THEN Full :: Drop(cell, msg) ELSE Continue(cell, msg)  \* error: the leaves Full and RequestFull of Step are both SAMPLE_LEAF_STEP_REQUEST_FULL in C
Malformed(cell, msg) == checksum :: Drop(cell, msg)  \* error: the leaf checksum of Malformed has the name of a counter of the frame; choose another label
====
