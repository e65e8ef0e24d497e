---- MODULE SampleSteps ----
EXTENDS Offload

CONSTANTS Serves, Room

Pass(cell, msg) == Forward(cell, msg)

Step(cell, msg) ==
  CASE Serves -> Forward(cell, msg)
    [] Cardinality(cell.members) > Room -> Forward(cell, msg)
    [] cell.open /\ cell.count > 3 ->
         IF msg.delta = 0 THEN Drop(cell, msg)
         ELSE Full :: Forward(cell, msg)  \* error: add hooks.user, or end with Drop or Reply
    [] cell.open -> Pass(cell, msg)  \* error: Step forwards, but the layout has no hooks.user
    [] OTHER -> Drop(cell, msg)
====
