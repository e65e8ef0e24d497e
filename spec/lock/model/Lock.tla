---------------------------------- MODULE Lock ----------------------------------
(***************************************************************************)
(* The lock protocol in its world: clients, a network that loses, repeats, *)
(* delays and reorders, runs of the programs section by section, a daemon  *)
(* that may die, and its sweep.  What every protocol has in common is in   *)
(* Frame; here are the clients, and what they may rely on.                 *)
(*                                                                         *)
(* Time is left out.  A client's own lease may end at any moment; after    *)
(* that, and not before, the daemon may find its session overdue.  That    *)
(* real clocks keep this order, for any delay, is what Session.tla shows   *)
(* (SessionOutlivesLease), with ticks that wrap.                           *)
(***************************************************************************)
EXTENDS LockProgram, Frame

CONSTANTS
  OpenClients,  \* those that begin with an open session
  WildClients,  \* those of them that keep to no rule: they send what is Forged
  Kinds,        \* of requests that clients make in a session
  Lapses,       \* clients whose leases may end
  Modes,        \* in which they acquire
  Gathers,      \* what clients ask for at once: sequences of <<kind, mode, lock>>
  MaxAsks,      \* requests of each client in one session
  MaxOpens,     \* sessions that a client opens
  MaxSecrets,   \* secrets that the daemon gives away
  Forged,       \* packets of others that are about from the start
  Echoes,       \* whether answers may come back as requests
  Replays       \* whether packets stay in the network when their client has moved on

VARIABLES
  clients,      \* what each client knows
  issued        \* how many secrets the daemon has given away

network == <<requests, forwarded, completions, answers>>
vars == <<cells, runs, sweep, network, clients, issued, event>>

\* The state without the reader's comment on it.
View == <<cells, runs, sweep, network, clients, issued>>

(***************************************************************************)
(* Clients.  Each was invited before it is asked what it does.  Sequence   *)
(* numbers of a client's sessions do not overlap here: they are random, so *)
(* that they do in one of some 10^8 cases.                                 *)
(***************************************************************************)

NoRequest == [BlankMessage EXCEPT !.kind = "None"]

FirstSequence(client, opens) == opens * (MaxAsks[client] + 1)

\* phase: Out, Opening or In a session.  done: sequence number of the last
\* request whose answer was received.  waiting: the outstanding request.
\* believes: <<lock, mode>> of the locks that the client takes to be its own.
InitialClient(client) ==
  [phase |-> IF client \in OpenClients \ WildClients THEN "In" ELSE "Out", secret |-> client + 1, done |-> 0,
   waiting |-> NoRequest, believes |-> {}, opens |-> 0]

InitialCells ==
  LET session == [state |-> "Idle", sequence |-> 0, outcome |-> "Opened", deadline |-> Extended(0)]
  IN  [BlankCells EXCEPT
        !.session = [client \in DOMAIN @ |-> IF client \in OpenClients THEN session ELSE @[client]],
        !.credential = [client \in DOMAIN @ |-> IF client \in OpenClients THEN [secret |-> client + 1] ELSE @[client]]]

Init ==
  /\ FrameInit(InitialCells)
  /\ requests = Forged
  /\ clients = [client \in Clients |-> InitialClient(client)]
  /\ issued = Cardinality(Clients)

\* The network may still deliver these when a client sends.
Keeps(client, packet) == Replays \/ packet.peer # client

Ask(client, message, believes) ==
  /\ clients' = [clients EXCEPT ![client].waiting = message, ![client].believes = believes]
  /\ Send(Packet(client, message), LAMBDA packet : Keeps(client, packet))
  /\ UNCHANGED issued

\* A request in the client's session.  Its belief in a lock ends here for a
\* release, and in all locks for a close.
Request(client, kind, mode, lock, believes) ==
  LET k == clients[client]
  IN  /\ kind \in Kinds
      /\ k.phase = "In"
      /\ k.waiting = NoRequest
      /\ k.done < FirstSequence(client, k.opens) + MaxAsks[client]
      /\ Ask(client,
             Arrived([BlankMessage EXCEPT !.kind = kind, !.client = client, !.sequence = NextSequence(k.done),
                                          !.secret = k.secret, !.mode = mode, !.lock = lock]),
             believes)

Believes(client, lock) == \E mode \in {"Shared", "Exclusive"} : <<lock, mode>> \in clients[client].believes

AskAcquire(client, lock, mode) ==
  /\ ~ Believes(client, lock)
  /\ Request(client, "Acquire", mode, lock, clients[client].believes)

AskRelease(client, lock) ==
  /\ Believes(client, lock)
  /\ Request(client, "Release", "Free", lock, {b \in clients[client].believes : b[1] # lock})

\* A release of what was never granted, by one who holds nothing in that cell:
\* who does, harms nobody but itself.
AskStrayRelease(client, lock) ==
  /\ "StrayRelease" \in Kinds
  /\ \A other \in LockIds : SlotOf(lock) = SlotOf(other) => ~ Believes(client, other)
  /\ Request(client, "Release", "Free", lock, clients[client].believes)

\* Several locks at once, of which each is named once. Belief in those that are given back ends here. The request says in
\* which mode they were held, for the client to believe in them again if the kernel leaves them to it.
AskGather(client, wanted) ==
  LET k == clients[client]
      locks == {wanted[i][3] : i \in DOMAIN wanted}
      Held(lock) == CHOOSE mode \in {"Shared", "Exclusive"} : <<lock, mode>> \in k.believes
      Operation(one) == [kind |-> one[1], mode |-> IF one[1] = "Release" THEN Held(one[3]) ELSE one[2], lock |-> one[3]]
  IN  /\ "Gather" \in Kinds
      /\ \A i \in DOMAIN wanted : Believes(client, wanted[i][3]) = (wanted[i][1] = "Release")
      /\ k.phase = "In"
      /\ k.waiting = NoRequest
      /\ k.done < FirstSequence(client, k.opens) + MaxAsks[client]
      /\ Ask(client,
             Arrived([BlankMessage EXCEPT !.kind = "Gather", !.client = client, !.sequence = NextSequence(k.done),
                                          !.secret = k.secret, !.count = Len(wanted),
                                          !.operations = [i \in DOMAIN wanted |-> Operation(wanted[i])]]),
             {b \in k.believes : b[1] \notin locks})

AskRenew(client) == Request(client, "Renew", "Free", 0, clients[client].believes)

AskClose(client) == Request(client, "Close", "Free", 0, {})

AskOpen(client) ==
  LET k == clients[client]
  IN  /\ k.phase = "Out"
      /\ k.opens < MaxOpens
      /\ clients' = [clients EXCEPT ![client].phase = "Opening", ![client].opens = @ + 1,
                       ![client].waiting =
                         Arrived([BlankMessage EXCEPT !.kind = "Open", !.client = client,
                                                      !.sequence = FirstSequence(client, k.opens + 1),
                                                      !.secret = TokenOf(client, 0)])]
      /\ Send(Packet(client, clients'[client].waiting), LAMBDA packet : Keeps(client, packet))
      /\ UNCHANGED issued

\* An answer belongs to the outstanding request if it says so.
Belongs(answer, request) ==
  /\ request # NoRequest
  /\ answer.client = request.client
  /\ answer.sequence = request.sequence
  /\ request.kind = "Open" \/ answer.secret = request.secret

\* Locks that an answer to several operations gives, or leaves: a release that the kernel did not decide.
Gathered(request, answer) ==
  {<<request.operations[i].lock, request.operations[i].mode>> :
     i \in {j \in DOMAIN request.operations : answer.operations[j].kind \in {"Granted", "Release"}}}

Receive(client, packet) ==
  LET k == clients[client]
      answer == packet.message
      believed == CASE answer.kind = "Granted" -> {<<k.waiting.lock, k.waiting.mode>>}
                    [] answer.kind = "Gathered" -> Gathered(k.waiting, answer)
                    [] OTHER -> {}
  IN  /\ packet \in answers
      /\ packet.peer = client
      /\ Belongs(answer, k.waiting)
      /\ clients' = [clients EXCEPT ![client] =
           CASE answer.kind = "Opened" ->
                  [k EXCEPT !.phase = "In", !.secret = answer.secret, !.done = answer.sequence, !.waiting = NoRequest]
             [] answer.kind \in {"Taken", "Closed"} ->
                  [k EXCEPT !.phase = "Out", !.waiting = NoRequest]
             [] OTHER ->
                  [k EXCEPT !.believes = @ \cup believed, !.done = answer.sequence, !.waiting = NoRequest]]
      /\ event' = Event("network", <<"client", client>>, "Receive", "", answer, answer)
      /\ UNCHANGED issued
      /\ FrameUnchanged

\* The client's lease ends by its own clock, or it gives up, or it dies: the
\* last does not differ from a client that does nothing until its lease ends.
LeaseEnds(client) ==
  /\ client \in Lapses
  /\ clients[client].phase # "Out"
  /\ clients' = [clients EXCEPT ![client].phase = "Out", ![client].waiting = NoRequest, ![client].believes = {}]
  /\ event' = Event(<<"client", client>>, <<"client", client>>, "LeaseEnds", "", BlankMessage, BlankMessage)
  /\ UNCHANGED issued
  /\ FrameUnchanged

(***************************************************************************)
(* The server                                                              *)
(***************************************************************************)

\* A client whose own lease runs holds the session that it opened last, if the
\* server has that.  This session is not overdue; all others are.  (A client that
\* relies on nothing could as well come back for ever.)
ReliesOn(client) ==
  /\ clients[client].phase # "Out" \/ client \in WildClients
  /\ cells.session[client].sequence >= FirstSequence(client, clients[client].opens)

Now(client) == IF client \in Clients /\ ReliesOn(client) THEN 0 ELSE TimeModulus \div 2

AtXdp(packet) == ArriveAtXdp(packet, 0) /\ UNCHANGED <<clients, issued>>

Echo(packet) ==
  /\ Echoes
  /\ packet \in answers
  /\ Arrive("XDP", packet, 0, completions)
  /\ UNCHANGED <<sweep, requests, clients, issued>>

AtTc(packet) == ArriveAtTc(packet, 0) /\ UNCHANGED <<clients, issued>>

\* Every session has a secret of its own.
Serve(packet) ==
  /\ ServeForwarded(packet, [now |-> 0, random |-> TokenOf(packet.peer, issued + 1), age |-> Lease + 1, index |-> 0])
  /\ IF packet.message.kind = "Open"
       THEN issued < Cardinality(Clients) + MaxSecrets /\ issued' = issued + 1
       ELSE UNCHANGED issued
  /\ UNCHANGED clients

Run(r) == RunSection(r) /\ UNCHANGED <<clients, issued>>
Skip(r) == SkipSection(r) /\ UNCHANGED <<clients, issued>>
Sweep == SweepSection(Now) /\ UNCHANGED <<clients, issued>>
BeginSweep(index) == SweepBegins(index, Now) /\ UNCHANGED <<clients, issued>>
SkipSweep == SkipSweepSection /\ UNCHANGED <<clients, issued>>
CrashDaemon == Crash /\ UNCHANGED <<clients, issued>>

ClientActs(client) ==
  \/ \E lock \in LockIds, mode \in Modes : AskAcquire(client, lock, mode)
  \/ \E lock \in LockIds : AskRelease(client, lock) \/ AskStrayRelease(client, lock)
  \/ \E wanted \in Gathers : AskGather(client, wanted)
  \/ AskRenew(client)
  \/ AskClose(client)
  \/ AskOpen(client)
  \/ \E packet \in answers : Receive(client, packet)
  \/ LeaseEnds(client)

ServerActs ==
  \/ \E packet \in requests : AtXdp(packet)
  \/ \E packet \in answers : Echo(packet)
  \/ \E packet \in Leaving : AtTc(packet)
  \/ \E packet \in AtDaemon : Serve(packet)
  \/ \E r \in 1..MaxRuns : Run(r) \/ Skip(r)
  \/ Sweep
  \/ \E index \in Clients : BeginSweep(index)
  \/ SkipSweep
  \/ CrashDaemon

Next == ServerActs \/ \E client \in Clients : ClientActs(client)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Guarantees to clients *)
(***************************************************************************)

\* No two clients ever believe that they hold conflicting locks.
MutualExclusion ==
  \A a, b \in Clients, lock \in LockIds :
    a # b /\ <<lock, "Exclusive">> \in clients[a].believes => ~ Believes(b, lock)

Entries(client, slot, states) ==
  {i \in 1..(OverflowCapacity - 1) :
     LET entry == cells.overflow[i]
     IN  entry.state \in states /\ entry.client = client /\ entry.slot = slot}

Shares(client, slot) ==
  Cardinality(Entries(client, slot, {"Held"})) + (IF client \in cells.lock[slot].holders THEN 1 ELSE 0)

\* Every lock that a client believes to hold is its own in the server, one share for each, also when several
\* locks share a cell, the daemon dies or a retry was answered.
NoLockIsLost ==
  \A client \in Clients, slot \in 0..(LockCells - 1) :
    LET believed == {b \in clients[client].believes : SlotOf(b[1]) = slot}
    IN  /\ Cardinality({b[1] : b \in believed}) <= Shares(client, slot)
        /\ (\E b \in believed : b[2] = "Exclusive") => cells.lock[slot].mode = "Exclusive"

\* A client that is in its session and waits for no answer has no more shares than it believes in: no acquire
\* is counted twice or late, no release is lost, so every share will be given back.
NoShareIsForgotten ==
  \A client \in Clients, slot \in 0..(LockCells - 1) :
    LET k == clients[client]
    IN  k.phase = "In" /\ k.waiting = NoRequest
          => Shares(client, slot) = Cardinality({lock \in LockIds : SlotOf(lock) = slot /\ Believes(client, lock)})

\* When nothing is in flight, whatever keeps a lock from being free is a share of a session that is not yet
\* retired; nothing waits for a run, a packet or a daemon that was lost.
NoLockIsStuck ==
  NobodyInFlight =>
    /\ \A client \in Clients : cells.session[client].state # "Busy"
    /\ \A i \in 0..(OverflowCapacity - 1) : cells.overflow[i].state \in {"Vacant", "Held"}
    /\ \A slot \in 0..(LockCells - 1) :
         LET lock == cells.lock[slot]
             owners == {client \in Clients : Shares(client, slot) > 0}
             spilled == UNION {Entries(client, slot, {"Held"}) : client \in Clients}
         IN  /\ lock.spilled = Cardinality(spilled)
             /\ (lock.mode = "Free") = (owners = {})
             /\ lock.mode = "Exclusive" => Cardinality(owners) = 1
             /\ \A client \in owners : cells.session[client].state # "Vacant"

\* A run of the programs that works on a packet of a client's session, seen in the step that it takes.
RunStep == event'.from \in {"XDP", "TC"} \X Clients /\ event'.given.kind \notin {"Open", "Opened"}

\* A duplicated, delayed or replayed request changes nothing once its client has received the answer to it or
\* to a later one.
ReplaysChangeNothing ==
  [][RunStep /\ event'.given.sequence <= clients[event'.given.client].done => UNCHANGED cells]_vars

\* All answers to one request agree: a retry gets the answer of the first execution.
AnswersAgree ==
  \A a, b \in answers :
    /\ a.message.client = b.message.client
    /\ a.message.sequence = b.message.sequence
    /\ a.message.secret = b.message.secret
    => a.message.kind = b.message.kind /\ a.message.operations = b.message.operations

\* The session keeps what became of several operations, and the client hears it. A retry hears it again, until the session
\* goes on.
OutcomesAreKept ==
  [][/\ event'.step = "Keep" /\ event'.given.kind = "Gather" =>
          /\ event'.message.kind = "Gathered"
          /\ cells'.gathered[event'.given.client] =
               [sequence |-> event'.given.sequence, done |-> event'.given.done, refused |-> event'.given.refused]
     /\ event'.step = "Recalled" /\ event'.given.kind = "Gathered" =>
          event'.verdict =
            IF cells.gathered[event'.given.client].sequence = event'.given.sequence THEN "Reply" ELSE "Drop"]_vars

\* Nothing changes through a packet of another than the client that it names.
NobodyActsForAnother ==
  [][RunStep /\ event'.from[2] # event'.given.client => UNCHANGED cells]_vars

Owned(client) == {i \in 1..(OverflowCapacity - 1) : cells.overflow[i].state # "Vacant" /\ cells.overflow[i].client = client}

\* No session has more than its part of the overflow entries, however many acquires it sends: there are some for others.
NobodyOwnsTooMuch == \A client \in Clients : Cardinality(Owned(client)) <= MaxOwned

HasShare(client, slot) ==
  client \in cells.lock[slot].holders \/ Entries(client, slot, {"Joining", "Held", "Leaving"}) # {}

\* The share that this acquire asks for cannot have an overflow entry, and has none yet.
NoEntryFor(acquire) ==
  \/ cells.lock[acquire.slot].spilled >= MaxSpilled
  \/ /\ ~ acquire.claimed
     /\ \/ \A i \in 1..(OverflowCapacity - 1) : cells.overflow[i].state # "Vacant"
        \/ Cardinality(Owned(acquire.client)) >= MaxOwned

\* A release is refused only where its client has no share in the cell. A shared acquire is refused only where the lock is
\* exclusive, and an exclusive one where another has a share. Either is refused if its share cannot have an overflow entry.
\* So more sharers than a cell holds are not refused.
RefusedForAReason ==
  [][/\ event'.step \in {"OnRequest", "OnCompletion", "UserStep"}
     /\ event'.given.kind \in {"Acquire", "Release"}
     /\ event'.message.kind = "Rejected"
     => LET client == event'.given.client
            slot == event'.given.slot
            mode == event'.given.mode
        IN  CASE event'.given.kind = "Release" -> ~ HasShare(client, slot)
              [] mode = "Shared" -> cells.lock[slot].mode = "Exclusive" \/ NoEntryFor(event'.given)
              [] mode = "Exclusive" -> (\E other \in Clients \ {client} : HasShare(other, slot)) \/ NoEntryFor(event'.given)
              [] OTHER -> TRUE]_vars

\* An acquire is granted or rejected, a release is done or rejected. Until then both stay what they are. The daemon opens a
\* session, or says why not.
AnswersFit ==
  [][event'.step \in {"OnRequest", "OnCompletion", "UserStep"} =>
       CASE event'.given.kind = "Acquire" -> event'.message.kind \in {"Acquire", "Granted", "Rejected"}
         [] event'.given.kind = "Release" -> event'.message.kind \in {"Release", "Released", "Rejected"}
         [] event'.given.kind = "Open" -> event'.message.kind \in {"Opened", "Uninvited", "TooEarly"}
         [] OTHER -> TRUE]_vars

\* Released is answered only to a client that had a share in the cell. (The sweep gives back for others.)
ReleasedWhatWasHeld ==
  [][/\ event'.from # "sweep"
     /\ event'.step \in {"OnRequest", "OnCompletion"}
     /\ event'.given.kind = "Release"
     /\ event'.message.kind = "Released"
     => HasShare(event'.given.client, event'.given.slot)]_vars

\* The daemon names a vacant entry for a share that is new, and an entry of the client for one that it gives back. It
\* names none only if there is none.
DaemonNamesTheEntry ==
  [][event'.step = "UserStep" =>
       LET entry == event'.message.entry
           own == Entries(event'.given.client, event'.given.slot, {"Held", "Leaving"})
       IN  CASE event'.message.kind = "Acquire" -> entry # 0 /\ cells.overflow[entry].state = "Vacant"
             [] event'.message.kind = "Release" -> IF own = {} THEN entry = 0 ELSE entry \in own
             [] OTHER -> TRUE]_vars

\* The daemon answers all that XDP passes on to it.
DaemonAnswers == [][event'.step = "UserStep" => event'.verdict = "Reply"]_vars

\* A completion gets the entry that the daemon named: for a new share if it is vacant, for one that is given back if it is
\* the client's, and held. From then on it is the client's, and nobody else gets it. (A section that lost its races did
\* nothing, here and below.)
ClaimsWhatItMay ==
  [][event'.step = "Claim" /\ event'.verdict # "Skip" =>
       LET given == event'.given
           named == cells.overflow[given.entry]
       IN  /\ event'.message.claimed =
                CASE given.kind = "Acquire" -> named.state = "Vacant"
                  [] given.kind = "Release" -> given.entry \in Entries(given.client, given.slot, {"Held"})
                  [] OTHER -> FALSE
           /\ event'.message.claimed =>
                cells.overflow'[given.entry] = [state |-> IF given.kind = "Acquire" THEN "Joining" ELSE "Leaving",
                                                client |-> given.client, slot |-> given.slot]]_vars

\* A completion that has its entry is answered at once, and so is a release that needs none. No other one is.
CompletesWhatItMay ==
  [][event'.from # "sweep" /\ event'.step = "OnCompletion" /\ event'.given.kind \in {"Acquire", "Release"} /\ event'.verdict # "Skip" =>
       LET given == event'.given
       IN  (event'.message.kind # given.kind) = (given.claimed \/ (given.kind = "Release" /\ given.entry = 0))]_vars

\* A request that the daemon has rejected stays rejected, and TC gives nothing back for it.
RejectedStaysRejected ==
  [][event'.step = "OnCompletion" /\ event'.given.kind = "Rejected" => event'.message.kind = "Rejected" /\ UNCHANGED cells]_vars

\* A share gets an overflow entry only in a cell that is not free.
SpilledForAReason ==
  [][event'.step = "OnCompletion" /\ event'.message.kept => cells.lock[event'.given.slot].mode # "Free"]_vars

\* The daemon is needed for a second share of a client, for more sharers than the cell holds, and for a share that lives
\* in an overflow entry, in a shared lock after the one in the cell, in an exclusive one before it. All else is answered
\* at once.
FewNeedTheDaemon ==
  [][event'.step = "OnRequest" /\ event'.message.kind \in {"Acquire", "Release"} /\ event'.verdict # "Skip"
     => LET client == event'.given.client
            lock == cells.lock[event'.given.slot]
        IN  CASE event'.given.kind = "Release" -> lock.spilled > 0 /\ (lock.mode = "Exclusive") = (client \in lock.holders)
              [] event'.given.mode = "Exclusive" -> lock.holders \subseteq {client} /\ lock.mode # "Free"
              [] OTHER -> client \in lock.holders \/ (lock.mode = "Shared" /\ Cardinality(lock.holders) >= MaxHolders)]_vars

\* Where the layout says that a section is never contended, nobody else writes its cell.
NeverMeansNever == [][NeverContended]_vars

\* Cells stay within their layout.
CellsFit ==
  /\ \A slot \in 0..(LockCells - 1) :
       /\ Cardinality(cells.lock[slot].holders) <= MaxHolders
       /\ cells.lock[slot].spilled \in 0..MaxSpilled
  /\ Cardinality(sweep.record.gone) <= MaxGone
=================================================================================
