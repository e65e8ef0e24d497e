----------------------------- MODULE QuorumSteps -----------------------------
EXTENDS Offload

CONSTANTS Quorum, Near

\* A leader proposes a value for a slot, and each replica acknowledges it to this server. The value is chosen once a
\* quorum has it, one of it far away.
Propose(slot, msg) ==
  IF slot.state = "Open" /\ slot.ballot > msg.ballot
    THEN Reply(slot, [msg EXCEPT !.kind = "Refused", !.ballot = slot.ballot])
    ELSE Reply([slot EXCEPT !.state = "Open", !.ballot = msg.ballot, !.acks = {msg.who}], [msg EXCEPT !.kind = "Waiting"])

Acknowledge(slot, msg) ==
  LET acks == slot.acks \cup {msg.who} IN
  IF slot.state # "Open" \/ msg.ballot # slot.ballot THEN Stale :: Drop(slot, msg)
  ELSE IF Cardinality(acks) < Quorum \/ \A r \in acks : r < Near
         THEN Reply([slot EXCEPT !.acks = acks], [msg EXCEPT !.kind = "Waiting"])
         ELSE Reply([slot EXCEPT !.state = "Chosen", !.acks = acks], [msg EXCEPT !.kind = "Chosen"])

OnRequest(slot, msg) ==
  CASE msg.kind = "Propose" -> Propose(slot, msg)
    [] msg.kind = "Ack" -> Acknowledge(slot, msg)
    [] OTHER -> Drop(slot, msg)
==============================================================================
