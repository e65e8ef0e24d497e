----------------------------- MODULE ReplaySteps -----------------------------
EXTENDS Offload

CONSTANT Window

\* A number in front of the window moves it. What falls out of its end is forgotten.
Moved(flow, msg) ==
  LET by == msg.number - flow.highest IN
  [flow EXCEPT !.highest = msg.number,
               !.seen = {0} \cup {back + by : back \in {b \in flow.seen : b + by < Window}}]

\* Each number of a flow is accepted once, if it is not too far behind the highest.
Arrive(flow, msg) ==
  IF msg.kind # "Data" THEN Unasked :: Drop(flow, msg)
  ELSE IF msg.number > flow.highest THEN Reply(Moved(flow, msg), [msg EXCEPT !.kind = "Accepted"])
  ELSE LET back == flow.highest - msg.number IN
       CASE back >= Window -> Old :: Drop(flow, msg)
         [] back \in flow.seen -> Repeated :: Reply(flow, [msg EXCEPT !.kind = "Repeated"])
         [] OTHER -> Reply([flow EXCEPT !.seen = @ \cup {back}], [msg EXCEPT !.kind = "Accepted"])
==============================================================================
