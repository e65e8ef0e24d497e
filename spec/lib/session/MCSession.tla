-------------------------------- MODULE MCSession --------------------------------
(***************************************************************************)
(* Bounds of the session's models, and rules that are wrong, each put in   *)
(* place of the right one by the model that must fail because of it.       *)
(***************************************************************************)
EXTENDS SessionGuarantees

\* A draft: every session begins with sequence number 0. The answer to an earlier Open then fits the last one.
DrawnZero(number) == 0

\* A draft: the secret of a session stays until the number is opened again.
RevokeNothing(credential, msg) == Continue(credential, msg)

\* A draft: a packet with no secret is let through where the number has none.
AuthenticateEqual(credential, msg) ==
  IF msg.kind \in Opening \/ msg.secret = credential.secret THEN Continue(credential, msg) ELSE Drop(credential, msg)

\* Work that shows no secret, with the first number of the host's session.
WithoutSecret == {Packet(1, [BlankMessage EXCEPT !.kind = "Work", !.sequence = DrawnSequence(1) + 1])}

\* Kinds that no request has, from the only host, with the secret that its session will have.
Nonsense ==
  {Packet(1, [BlankMessage EXCEPT !.kind = kind, !.sequence = DrawnSequence(1) + 1, !.secret = TokenOf(1, 1)]) :
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

\* The run that recalls an answer goes on to End, though it does not have the session.
WorkGoesOn(tally, msg) == IF msg.rare THEN Continue(tally, msg) ELSE Complete(tally, msg)

\* Nobody looks at the secret.
AuthenticateAnyone(credential, msg) == Continue(credential, msg)

\* The session number is free before what its session held was taken back.
RetireAtOnce(session, msg, env) ==
  IF session.state \in {"Idle", "Forwarded"} /\ Overdue(env.now, session.deadline)
    THEN Continue([session EXCEPT !.state = "Vacant"], Expired(msg, env))
    ELSE Drop(session, msg)

\* A second Opened of the rare path is taken as well, though the session is in use.
ResumeTaken(session, msg, env) ==
  CASE msg.kind = "Opened" ->
         Continue([session EXCEPT !.state = "Busy", !.sequence = msg.sequence, !.deadline = Extended(env.now)], msg)
    [] msg.kind # "Opened" /\ session.state = "Forwarded" /\ session.sequence = msg.sequence ->
         Continue([session EXCEPT !.state = "Busy"], msg)
    [] OTHER -> Drop(session, msg)

(* States that models must reach: `possible` in models.yaml. *)

SessionIsOver == cells.session[0].state \in {"Vacant", "Closing"}

\* A host is in the second session that it asked for.
InSecondSession == drawn = 2 /\ \E host \in Hosts : hosts[host].phase = "In" /\ hosts[host].sequence >= DrawnSequence(2)

\* The network still has work of a host's first session, and the host is in its second.
WorkOfFirstSession ==
  /\ InSecondSession
  /\ \E packet \in requests : packet.message.kind = "Work" /\ packet.message.secret # cells.credential[0].secret

\* The answer is there that extends a lease of which a part has run out.
ExtendsLease ==
  \E host \in Hosts, packet \in answers :
    LET k == hosts[host] IN
    /\ packet.peer = host /\ Belongs(packet.message, k.waiting)
    /\ k.phase = "In" /\ k.left < LeaseFrom(LeaseOf(host), k.age)

\* A host relies on its session because of an answer that takes more than a tick to come.
OpenedAfterTick ==
  \E host \in Hosts, packet \in answers :
    /\ packet.peer = host /\ packet.message.kind = "Opened" /\ Belongs(packet.message, hosts[host].waiting)
    /\ hosts[host].age > 0 /\ LeaseFrom(LeaseOf(host), hosts[host].age) > 0

\* An open session has a smaller sequence number than it began with.
SequenceWrapped == cells.session[0].state # "Vacant" /\ cells.session[0].sequence < DrawnSequence(1)

\* The network still has work from before the sequence numbers of a session wrapped.
WorkBeforeWrap ==
  /\ SequenceWrapped
  /\ \E packet \in requests : packet.message.kind = "Work" /\ packet.message.sequence > cells.session[0].sequence

\* A host learns that it has other terms, while another host is in a session.
RefusedForItsTerms ==
  /\ \E packet \in answers : packet.message.kind = "OtherTerms" /\ packet.peer \in Strangers
  /\ \E host \in Hosts \ Strangers : hosts[host].phase = "In"

\* A host is refused a number that is not of its part, though it shows a token that was made for it.
RefusedForItsPart ==
  \E packet \in answers :
    packet.message.kind = "Uninvited" /\ packet.peer \in Hosts /\ MadeFor(packet.message.secret, packet.peer)

\* A packet in another's name is refused, and the session is a host's that asked itself.
RefusedForItsToken ==
  /\ \E packet \in answers : packet.message.kind = "Uninvited" /\ ~ MadeFor(packet.message.secret, packet.peer)
  /\ \E host \in Hosts : hosts[host].phase = "In"

\* Work that went by the rare path is answered.
DoneByRarePath == \E packet \in answers : packet.message.kind = "Done" /\ packet.message.rare

\* A completion is on its way to a session that is over.
CompletedTooLate == SessionIsOver /\ \E packet \in completions : packet.message.kind \in {"Work", "Look"}

\* A second completion of some work is on its way, and the first one has done it.
CompletedAgain ==
  \E packet \in completions :
    /\ packet.message.kind = "Work" /\ packet.message.sequence = cells.session[0].sequence
    /\ cells.session[0].state = "Idle" /\ cells.session[0].outcome = "Done"

\* XDP executes work from its beginning that it left to the daemon before.
BeginsAgain ==
  \E r \in DOMAIN runs, packet \in forwarded :
    LET now == runs[r].message
        before == packet.message
    IN  /\ runs[r].hook = "XDP" /\ runs[r].at > 2 /\ now.kind = "Work" /\ cells.session[0].state = "Busy"
        /\ before.kind = "Work" /\ before.sequence = now.sequence /\ before.secret = now.secret

\* XDP executes work from its beginning, and a completion of its first execution is on its way.
BeginsAgainMeanwhile ==
  /\ BeginsAgain
  /\ \E packet \in completions :
       packet.message.kind = "Work" /\ packet.message.sequence = cells.session[0].sequence

\* The section after Begin is given an answer that was sent before.
AnswerIsRecalled == \E r \in DOMAIN runs : runs[r].hook = "XDP" /\ runs[r].at = 3 /\ runs[r].message.kind \in Answers

\* A session that its host closed is free again.
FreeAfterClose == cells.session[0].state = "Vacant" /\ cells.session[0].outcome = "Closed"

RogueWaits(host) ==
  hosts[host].phase = "Out" /\ hosts[host].waiting.kind = "Work" /\ hosts[host].waiting.secret = hosts[host].secret

\* The work of a host is done that relies on its session no longer.
RogueIsServed ==
  \E host \in Rogues, packet \in answers :
    RogueWaits(host) /\ packet.peer = host /\ Belongs(packet.message, hosts[host].waiting)

\* A host waits for the answer to work in a session that is over on the server as well.
RogueIsTooLate == \E host \in Rogues : RogueWaits(host) /\ cells.session[0].state = "Vacant"

\* The work of a host is with the daemon, and the host relies on its session no longer.
RogueIsForwarded ==
  \E host \in Rogues :
    /\ RogueWaits(host) /\ cells.session[0].state = "Forwarded"
    /\ cells.session[0].sequence = hosts[host].waiting.sequence

\* Work and a read of the same sequence number are both answered, and the host has received neither.
WorkAndLookAnswered ==
  \E host \in Hosts, work, look \in answers :
    LET k == hosts[host] IN
    /\ work.peer = host /\ Belongs(work.message, k.waiting) /\ work.message.kind = "Done"
    /\ look.peer = host /\ Belongs(look.message, k.looking)
    /\ work.message.sequence = look.message.sequence

\* Two reads are answered, one of them at once and one by the rare path.
SeenEitherWay ==
  \E look, other \in answers :
    /\ look.message.kind = "Seen" /\ look.message.rare
    /\ other.message.kind = "Seen" /\ ~ other.message.rare

\* Begin is given a kind that no request has, with the secret and the next number of a session.
NonsenseAtBegin ==
  \E r \in DOMAIN runs :
    LET message == runs[r].message IN
    /\ runs[r].hook = "XDP" /\ runs[r].at = 2 /\ message.kind \in {"Opened", "Taken", "Done"}
    /\ cells.session[0].state = "Idle" /\ message.sequence = NextSequence(cells.session[0].sequence)

\* A session is renewed, and a completion of its earlier work is still on its way.
RenewedMeanwhile ==
  /\ cells.session[0].outcome = "Renewed" /\ cells.session[0].state = "Idle"
  /\ \E packet \in completions : packet.message.kind = "Work"

\* A host relies on a session of which new tables know nothing.
UnknownToFreshTables == fresh > 0 /\ \E host \in bereft : hosts[host].phase = "In" /\ cells.credential[0].secret = 0

\* A host learns that the tables are too young to open a session.
TablesTooYoung == \E packet \in answers : packet.message.kind = "TooEarly"

\* A run of XDP and a run of TC are both under way for the same work.
RunsOfOneWork ==
  \E r, s \in DOMAIN runs :
    /\ runs[r].hook = "XDP" /\ runs[r].message.kind = "Work"
    /\ runs[s].hook = "TC" /\ runs[s].message.kind = "Work" /\ runs[s].message.sequence = runs[r].message.sequence

\* A session ends while a run is between two sections of its work.
EndsDuringRun == \E r \in DOMAIN runs : cells.session[0].state = "Closing" /\ runs[r].message.kind = "Work"
==================================================================================
