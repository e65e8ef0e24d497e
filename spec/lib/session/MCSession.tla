-------------------------------- MODULE MCSession --------------------------------
(***************************************************************************)
(* Bounds of the session's models, and rules that are wrong, each put in   *)
(* place of the right one by the model that must fail because of it.       *)
(***************************************************************************)
EXTENDS SessionGuarantees

\* A draft: every session begins with sequence number 0, so that what an earlier one left behind fits.
DrawnZero(number) == 0

\* Kinds that no request has, from the only host, with the secret that its session will have.
Nonsense ==
  {Packet(1, [BlankMessage EXCEPT !.kind = kind, !.sequence = NextSequence(DrawnSequence(1)), !.secret = TokenOf(1, 1)]) :
     kind \in {"Opened", "Taken", "Done"}}

\* A draft: any Opened is the answer to an Open, also that to an earlier one.
BelongsLoosely(answer, request) ==
  /\ request # NoRequest
  /\ \/ request.kind = "Open" /\ answer.kind \in {"Opened", "Taken"}
     \/ answer.sequence = request.sequence /\ answer.secret = request.secret

\* The host counts its lease from the arrival of the answer.
LeaseFromAnswer(lease, since) == lease + 1

\* Nobody asks how long the tables have been there.
InviteAtOnce(msg, env) == [msg EXCEPT !.kind = "Opened", !.secret = env.token]

\* New tables grant after one tick less than a lease may last.
InviteEarly(msg, env) ==
  IF env.age < Lease THEN [msg EXCEPT !.kind = "TooEarly"] ELSE InviteAtOnce(msg, env)

\* Nobody asks for a token that was made for the sender.
MayFromAnywhere(msg, env) == NumberFor(env.peer, msg.client) = msg.client

\* Nobody asks whether the number is of the sender's part.
MayAnyNumber(msg, env) == env.validated

\* Host 2 asks for nothing itself. Somebody sends in its name, with a token that was made for another.
InAnothersName ==
  {Packet(2, [BlankMessage EXCEPT !.kind = "Ask", !.sequence = 60, !.secret = OwnTerms]),
   Packet(2, [BlankMessage EXCEPT !.kind = "Open", !.sequence = 61, !.secret = TokenOf(1, 0)])}

\* Nobody asks by which terms a host understands a session.
BeginByAnyTerms(session, msg, env) ==
  CASE msg.kind \notin Opening -> Drop(session, msg)
    [] msg.kind = "Ask" \/ session.state = "Vacant" -> Forward(session, msg)
    [] OTHER -> Reply(session, [msg EXCEPT !.kind = "Taken"])

\* A deadline is compared as if the clock never wrapped.
OverdueWithoutWrap(now, deadline) == now > deadline

\* A deadline is taken for past where it is further ahead than the sweep's own clock would have put it.
OverdueWithoutSlack(now, deadline) == (deadline + TimeModulus - now) % TimeModulus > Lease

\* A deadline is computed backwards, and the clock's first tick has none before it.
ExtendedBackwards(now) == now - Lease - 1

Starts(session, msg, env) ==
  Continue([session EXCEPT !.state = "Busy", !.sequence = msg.sequence, !.deadline = Extended(env.now)], msg)

\* A request that comes again is executed again.
BeginAgain(session, msg, env) ==
  CASE msg.kind = "Open" ->
         IF session.state = "Vacant" THEN Forward(session, msg) ELSE Reply(session, [msg EXCEPT !.kind = "Taken"])
    [] session.state = "Idle" /\ msg.sequence \in {session.sequence, NextSequence(session.sequence)} ->
         Starts(session, msg, env)
    [] OTHER -> Drop(session, msg)

\* Nobody looks at the secret.
AuthenticateAnyone(credential, msg) == Continue(credential, msg)

\* The session number is free before what its session held was taken back.
RetireAtOnce(session, msg, env) ==
  IF session.state \in {"Idle", "Forwarded"} /\ Overdue(env.now, session.deadline)
    THEN Continue([session EXCEPT !.state = "Vacant"], [msg EXCEPT !.gone = @ \cup {env.index}])
    ELSE Drop(session, msg)

\* A second Opened of the rare path is taken as well, though the session is in use.
ResumeTaken(session, msg, env) ==
  CASE msg.kind = "Opened" ->
         Continue([session EXCEPT !.state = "Busy", !.sequence = msg.sequence, !.deadline = Extended(env.now)], msg)
    [] msg.kind # "Opened" /\ session.state = "Forwarded" /\ session.sequence = msg.sequence ->
         Continue([session EXCEPT !.state = "Busy"], msg)
    [] OTHER -> Drop(session, msg)
==================================================================================
