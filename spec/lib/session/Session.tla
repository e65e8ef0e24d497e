--------------------------------- MODULE Session ---------------------------------
(***************************************************************************)
(* Sessions in their world: hosts that all want the one session number, a  *)
(* network that loses, repeats, delays and reorders, clocks that wrap, the *)
(* rare path, the sweep, and a daemon that may die.  The protocol in it is *)
(* the least there is: see SessionHooks.                                   *)
(*                                                                         *)
(* Time.  The programs see ticks modulo TimeModulus.  A host measures its  *)
(* lease from the sending of the request: `left` ticks may still pass.     *)
(* Lease + 1, not Lease: the sending falls somewhere within a tick.  No    *)
(* run of a program lasts longer than a tick, and neither is the sweep's   *)
(* clock older; both are some microseconds to a tick of 134 ms.            *)
(***************************************************************************)
EXTENDS Frame

CONSTANTS
  Hosts,
  Kinds,     \* of requests that hosts make in a session
  Rare,      \* whether a Work goes by the rare path: FALSE, TRUE or both
  Rogues,    \* hosts that go on sending when their session is over
  MaxAsks,   \* requests of a host in one session
  MaxOpens,  \* sessions that are asked for, in all
  MaxSecrets,  \* secrets that the daemon gives away
  Memory     \* how many requests of a host, back from its last, the network may still deliver

VARIABLES
  hosts,   \* what each host knows
  clock,   \* ticks
  drawn,   \* sequence numbers drawn for sessions
  issued   \* secrets given away

ASSUME Lease < TimeModulus \div 4

network == <<requests, forwarded, completions, answers>>
vars == <<cells, runs, sweep, network, hosts, clock, drawn, issued, event>>

Ago(tick) == (clock + TimeModulus - tick) % TimeModulus

\* The state without the reader's comment on it, and without the hour: what only matters is how long ago things were.
View ==
  <<[cells EXCEPT !.session[0].deadline = IF cells.session[0].state = "Vacant" THEN 0 ELSE Ago(@)],
    [r \in DOMAIN runs |-> [runs[r] EXCEPT !.now = Ago(@)]],
    sweep, network, hosts, drawn, issued>>

(***************************************************************************)
(* Hosts                                                                   *)
(***************************************************************************)

NoRequest == [BlankMessage EXCEPT !.kind = "None"]

\* Sequence numbers are drawn at random for a session; that one meets those of an
\* earlier session happens in one of some 10^8 cases, and here not at all.
DrawnSequence(number) == (number * (MaxAsks + 2)) % SequenceModulus

\* phase: Out, Opening or In a session.  sequence: of the last request sent.
\* asks: requests sent in this session.  left: ticks that the lease still has.
\* age: ticks since the outstanding request was sent.
NewHost ==
  [phase |-> "Out", secret |-> 0, sequence |-> 0, asks |-> 0, waiting |-> NoRequest, left |-> 0, age |-> 0]

Init ==
  /\ FrameInit(BlankCells)
  /\ requests = {}
  /\ hosts = [host \in Hosts |-> NewHost]
  /\ clock = 0
  /\ drawn = 0
  /\ issued = 0

\* What the network may still deliver when a host has sent `message`.
Keeps(host, message, packet) ==
  \/ packet.peer # host
  \/ packet.message.secret # message.secret
  \/ (message.sequence + SequenceModulus - packet.message.sequence) % SequenceModulus <= Memory

AskOpen(host) ==
  LET message == [BlankMessage EXCEPT !.kind = "Open", !.sequence = DrawnSequence(drawn + 1)]
  IN  /\ hosts[host].phase = "Out"
      /\ drawn < MaxOpens
      /\ drawn' = drawn + 1
      /\ hosts' = [hosts EXCEPT ![host] = [@ EXCEPT !.phase = "Opening", !.sequence = message.sequence,
                                                    !.asks = 0, !.waiting = message, !.age = 0]]
      /\ Send(Packet(host, message), LAMBDA packet : Keeps(host, message, packet))
      /\ UNCHANGED <<clock, issued>>

\* Of a host in its session, or of one that goes on with the secret of a session that it has lost.
AskInSession(host, kind, rare) ==
  LET k == hosts[host]
      message == [BlankMessage EXCEPT !.kind = kind, !.sequence = NextSequence(k.sequence),
                                      !.secret = k.secret, !.rare = rare]
  IN  /\ k.phase = "In" \/ (k.phase = "Out" /\ host \in Rogues /\ k.secret # 0)
      /\ k.waiting = NoRequest
      /\ k.asks < MaxAsks
      /\ hosts' = [hosts EXCEPT ![host] = [k EXCEPT !.sequence = message.sequence, !.waiting = message,
                                                    !.asks = IF MaxAsks = SequenceModulus THEN 0 ELSE @ + 1,
                                                    !.age = 0, !.left = IF kind = "Close" THEN 0 ELSE @,
                                                    !.phase = IF kind = "Close" THEN "Out" ELSE @]]
      /\ Send(Packet(host, message), LAMBDA packet : Keeps(host, message, packet))
      /\ UNCHANGED <<clock, drawn, issued>>

Belongs(answer, request) ==
  /\ request # NoRequest
  /\ answer.sequence = request.sequence
  /\ request.kind = "Open" \/ answer.secret = request.secret

\* The lease runs from the sending of the request that was answered.
LeaseFrom(age) == Lease + 1 - age

Receive(host, packet) ==
  LET k == hosts[host]
      answer == packet.message
      left == IF LeaseFrom(k.age) > k.left THEN LeaseFrom(k.age) ELSE k.left
  IN  /\ packet \in answers
      /\ packet.peer = host
      /\ Belongs(answer, k.waiting)
      /\ hosts' = [hosts EXCEPT ![host] =
           CASE answer.kind = "Taken" -> [k EXCEPT !.phase = "Out", !.waiting = NoRequest]
             [] answer.kind = "Opened" ->
                  [k EXCEPT !.phase = "In", !.secret = answer.secret, !.waiting = NoRequest, !.left = LeaseFrom(k.age)]
             [] OTHER -> [k EXCEPT !.waiting = NoRequest, !.left = IF k.phase = "In" THEN left ELSE 0]]
      /\ event' = Event("network", <<"client", host>>, "Receive", "", answer, answer)
      /\ UNCHANGED <<clock, drawn, issued>>
      /\ FrameUnchanged

\* A tick passes for everybody: leases run out.  (A host that dies is one that does
\* nothing until then.)
Elapsed(k) ==
  LET left == IF k.left > 0 THEN k.left - 1 ELSE 0
      over == (k.phase = "In" /\ left = 0) \/ (k.phase = "Opening" /\ k.age = Lease)
  IN  [k EXCEPT !.left = left,
                !.age = IF k.waiting = NoRequest \/ over THEN 0 ELSE IF @ <= Lease THEN @ + 1 ELSE @,
                !.phase = IF over THEN "Out" ELSE @,
                !.waiting = IF over THEN NoRequest ELSE @]

Tick ==
  /\ \A r \in DOMAIN runs : runs[r].now = clock
  /\ clock' = (clock + 1) % TimeModulus
  /\ hosts' = [host \in Hosts |-> Elapsed(hosts[host])]
  /\ event' = Event("clock", "clock", "Tick", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<drawn, issued>>
  /\ FrameUnchanged

(***************************************************************************)
(* The server                                                              *)
(***************************************************************************)

OthersUnchanged == UNCHANGED <<hosts, clock, drawn, issued>>

AtXdp(packet) == ArriveAtXdp(packet, clock) /\ OthersUnchanged
AtTc(packet) == ArriveAtTc(packet, clock) /\ OthersUnchanged

\* Every invitation has a secret of its own.
Serve(packet) ==
  /\ ServeForwarded(packet, [now |-> clock, random |-> issued + 1, index |-> 0])
  /\ issued' = IF packet.message.kind = "Open" THEN issued + 1 ELSE issued
  /\ issued' <= MaxSecrets
  /\ UNCHANGED <<hosts, clock, drawn>>

Run(r) == RunSection(r) /\ OthersUnchanged
Skip(r) == SkipSection(r) /\ OthersUnchanged

\* The sweep may have read the clock just before it ticked.
Sweep(late) ==
  /\ \/ SweepSection(LAMBDA index : (clock + TimeModulus - late) % TimeModulus)
     \/ SweepBegins(0, LAMBDA index : (clock + TimeModulus - late) % TimeModulus)
  /\ OthersUnchanged

CrashDaemon == Crash /\ OthersUnchanged

HostActs(host) ==
  \/ AskOpen(host)
  \/ \E kind \in Kinds, rare \in Rare : (rare => kind = "Work") /\ AskInSession(host, kind, rare)
  \/ \E packet \in answers : Receive(host, packet)

ServerActs ==
  \/ \E packet \in requests : AtXdp(packet)
  \/ \E packet \in Leaving : AtTc(packet)
  \/ \E packet \in AtDaemon : Serve(packet)
  \/ \E r \in 1..MaxRuns : Run(r) \/ Skip(r)
  \/ \E late \in 0..1 : Sweep(late)
  \/ CrashDaemon

Next == Tick \/ ServerActs \/ \E host \in Hosts : HostActs(host)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* What a protocol may rely on                                             *)
(***************************************************************************)

\* As long as a host's own lease runs, the server has its session: nobody else has the number, and nothing that the
\* session holds is taken back.
SessionOutlivesLease ==
  \A host \in Hosts :
    hosts[host].phase = "In" =>
      /\ cells.session[0].state \in {"Idle", "Busy", "Forwarded"}
      /\ cells.credential[0].secret = hosts[host].secret

\* No request is executed twice.
AtMostOnce == ~ cells.tally[0].twice

\* Only the session that is open holds something, and a number is free only when all was taken back.
NothingIsLeftBehind ==
  /\ cells.tally[0].held \subseteq {cells.credential[0].secret}
  /\ cells.session[0].state = "Vacant" => cells.tally[0].held = {}

\* All answers to one request agree: a retry is told what the first execution did.
AnswersAgree ==
  \A a, b \in answers :
    /\ a.message.sequence = b.message.sequence
    /\ a.message.secret = b.message.secret
    => a.message.kind = b.message.kind

\* A run of the programs that works on a packet of a session, seen in the step that it takes.
RunStep == event'.from \in {"XDP", "TC"} \X Hosts /\ event'.given.kind \notin {"Open", "Opened"}

\* A packet with another secret than the session's changes nothing.
WrongSecretChangesNothing ==
  [][RunStep /\ event'.given.secret # cells.credential[0].secret => UNCHANGED cells]_vars

\* A duplicated, delayed or replayed request changes nothing once its host has sent a later one.
ReplaysChangeNothing ==
  [][RunStep =>
       \A host \in Hosts :
         /\ host = event'.from[2]
         /\ hosts[host].phase = "In"
         /\ hosts[host].secret = event'.given.secret
         /\ hosts[host].sequence # event'.given.sequence
         => UNCHANGED cells]_vars

\* Where the layout says that a section is never contended, nobody else writes its cell.
NeverMeansNever == [][NeverContended]_vars
=================================================================================
