---- MODULE MetersSteps ----
EXTENDS Offload, Integers, FiniteSets

CONSTANTS Operations, Limit

Enter(house, msg) ==
  CASE msg.kind \in {"Look", "Read"} /\ house.busy -> Busy :: Forward(house, msg)
    [] msg.kind = "Look" -> Reply(house, [msg EXCEPT !.kind = "Seen", !.served = house.visits])
    [] msg.kind = "Read" ->
         Continue([house EXCEPT !.busy = TRUE], [msg EXCEPT !.served = 0])
    [] OTHER -> NotServed :: Drop(house, msg)

\* Each operation on its own meter. Two of them may fall on one.
Note(meter, msg, env) ==
  CASE msg.kind = "Note" /\ meter.value + msg.by <= Limit ->
         Continue([meter EXCEPT !.value = @ + msg.by],
                  [msg EXCEPT !.kind = "Noted", !.noted = @ \cup {env.position}])
    [] msg.kind = "Note" -> TooMuch :: Continue(meter, [msg EXCEPT !.kind = "Over", !.failed = TRUE])
    [] msg.kind = "Look" -> Looked :: Continue(meter, [msg EXCEPT !.kind = "Seen", !.by = meter.value])
    [] OTHER -> Neither :: Continue(meter, msg)

TakeBack(meter, msg, env) ==
  IF msg.kind = "Noted" /\ msg.failed /\ env.position \in msg.noted /\ meter.value >= msg.by
    THEN Continue([meter EXCEPT !.value = @ - msg.by],
                  [msg EXCEPT !.kind = "TakenBack", !.noted = @ \ {env.position}])
    ELSE Kept :: Continue(meter, msg)

\* Nobody else has the house meanwhile.
Tally(house, msg, env) ==
  IF env.position \in msg.noted
    THEN Continue([house EXCEPT !.visits = (@ + 1) % 256], [msg EXCEPT !.served = (@ + msg.by) % 65536])
    ELSE NotNoted :: Continue(house, msg)

Leave(house, msg) == Reply([house EXCEPT !.busy = FALSE], [msg EXCEPT !.kind = "Done"])

\* The daemon hears of a house that is busy. It gets no message with operations.
Told(house, msg) ==
  IF msg.kind \in {"Look", "Read"}
    THEN Reply(house, [msg EXCEPT !.kind = "Seen", !.served = house.visits])
    ELSE NotForwarded :: Drop(house, msg)
====
