---------------------------- MODULE CloakroomSteps ----------------------------
EXTENDS Offload

CONSTANTS Hours, Pegs

\* Who hangs a coat says by which rules; who fetches one shows the ticket.
Check(ticket, msg, env) ==
  CASE msg.kind = "Hang" ->
         IF msg.ticket = env.terms THEN Continue(ticket, msg) ELSE Reply(ticket, [msg EXCEPT !.kind = "Misread"])
    [] msg.kind = "Fetch" /\ msg.ticket = ticket.ticket /\ msg.ticket # env.terms -> Continue(ticket, msg)
    [] OTHER -> Drop(ticket, msg)

AtCounter(peg, msg) ==
  CASE msg.kind = "Hang" -> IF peg.used THEN Reply(peg, [msg EXCEPT !.kind = "Refused"]) ELSE Forward(peg, msg)
    [] peg.used -> Reply([peg EXCEPT !.used = FALSE], [msg EXCEPT !.kind = "Fetched", !.coat = peg.coat])
    [] OTHER -> Drop(peg, msg)

\* Tickets of the evening before are good for some hours: until then a new cloakroom gives none. The last one counts half.
Find(peg, msg, env) ==
  CASE msg.kind # "Hang" \/ peg.used -> Drop(peg, msg)
    [] env.age < Hours -> Reply(peg, [msg EXCEPT !.kind = "Opening", !.coat = Hours - env.age])
    [] env.age = Hours /\ msg.coat % 2 = 1 -> Reply(peg, [msg EXCEPT !.kind = "Opening", !.coat = 0])
    [] OTHER -> Reply(peg, [msg EXCEPT !.kind = "Hung", !.ticket = env.random])

Issue(ticket, msg) ==
  CASE msg.kind = "Opening" -> Reply(ticket, msg)
    [] msg.kind = "Hung" -> Continue([ticket EXCEPT !.ticket = msg.ticket], msg)
    [] OTHER -> Drop(ticket, msg)

Keep(peg, msg, env) ==
  IF peg.used
    THEN Reply(peg, [msg EXCEPT !.kind = "Refused"])
    ELSE Reply([peg EXCEPT !.used = TRUE, !.coat = msg.coat, !.hung = env.now], msg)
===============================================================================
