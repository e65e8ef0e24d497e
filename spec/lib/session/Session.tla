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
EXTENDS SessionProgram, Frame

CONSTANTS
  Hosts,
  Kinds,     \* of requests that hosts make in a session
  Rare,      \* whether a Work goes by the rare path: FALSE, TRUE or both
  Rogues,    \* hosts that go on sending when their session is over
  MaxAsks,   \* requests of a host in one session
  MaxLooks,  \* reads of a host
  MaxOpens,  \* sessions that are asked for, in all
  MaxSecrets,  \* tokens that the daemon gives away
  Strangers,   \* hosts whose codec is of another layout
  StrangeLease,  \* in which the lease is this
  Askers,      \* hosts that have to ask for an invitation first; the others got one before
  Forged,      \* packets that somebody sent from others' addresses
  MaxFresh,    \* times that the tables are made anew
  Memory     \* how many requests of a host, back from its last, the network may still deliver

VARIABLES
  hosts,   \* what each host knows
  clock,   \* ticks
  drawn,   \* sequence numbers drawn for sessions
  issued,  \* tokens given away
  age,     \* ticks since the tables were made, as far as that matters
  fresh,   \* times that they were
  bereft   \* hosts that have, or may be given, a session of earlier tables

ASSUME Lease < TimeModulus \div 4

network == <<requests, forwarded, completions, answers>>
tables == <<age, fresh, bereft>>
vars == <<cells, runs, sweep, network, hosts, clock, drawn, issued, tables, event>>

Ago(tick) == (clock + TimeModulus - tick) % TimeModulus

\* The state without the reader's comment on it, and without the hour: what only matters is how long ago things were.
View ==
  <<[cells EXCEPT !.session[0].deadline = IF cells.session[0].state = "Vacant" THEN 0 ELSE Ago(@)],
    [r \in DOMAIN runs |-> [runs[r] EXCEPT !.now = Ago(@)]],
    sweep, network, hosts, drawn, issued, tables>>

(***************************************************************************)
(* Hosts                                                                   *)
(***************************************************************************)

NoRequest == [BlankMessage EXCEPT !.kind = "None"]

\* Sequence numbers are drawn at random for a session; that one meets those of an
\* earlier session happens in one of some 10^8 cases, and here not at all.
DrawnSequence(number) == (number * (MaxAsks + 2)) % SequenceModulus

\* phase: Out, Asking, Opening or In a session.  invitation: a token, 0 for none.  sequence: of the last request sent.
\* asks: requests sent in this session.  left: ticks that the lease still has.
\* age: ticks since the outstanding request was sent.  looking, looks: the outstanding read, and reads sent.
NewHost(host) ==
  [phase |-> "Out", invitation |-> IF host \in Askers THEN 0 ELSE TokenOf(host, 0), secret |-> 0, sequence |-> 0, asks |-> 0, waiting |-> NoRequest, left |-> 0, age |-> 0,
   looking |-> NoRequest, looks |-> 0]

Init ==
  /\ FrameInit(BlankCells)
  /\ requests = Forged
  /\ hosts = [host \in Hosts |-> NewHost(host)]
  /\ clock = 0
  /\ drawn = 0
  /\ issued = 0
  /\ age = Lease + 1  \* there were none before
  /\ fresh = 0
  /\ bereft = {}

\* The network may still deliver these when a host has sent `message`.
Keeps(host, message, packet) ==
  \/ packet.peer # host
  \/ packet.message.secret # message.secret
  \/ (message.sequence + SequenceModulus - packet.message.sequence) % SequenceModulus <= Memory

\* By which terms a host understands a session, and how long it relies on an answer.
TermsOf(host) == IF host \in Strangers THEN 1000 ELSE OwnTerms
LeaseOf(host) == IF host \in Strangers THEN StrangeLease ELSE Lease

\* Requests of a host without a session.
Asks(host, message, phase) ==
  /\ hosts[host].phase = "Out"
  /\ hosts' = [hosts EXCEPT ![host] = [@ EXCEPT !.phase = phase, !.sequence = message.sequence,
                                                !.asks = 0, !.waiting = message, !.age = 0]]
  /\ Send(Packet(host, message), LAMBDA packet : Keeps(host, message, packet))
  /\ UNCHANGED <<clock, issued, tables>>

\* Any number will do, and it always takes the same.
AskInvitation(host) ==
  /\ hosts[host].invitation = 0
  /\ Asks(host, [BlankMessage EXCEPT !.kind = "Ask", !.sequence = SequenceModulus - host, !.secret = TermsOf(host)], "Asking")
  /\ UNCHANGED drawn

\* With a number that it draws.
AskOpen(host) ==
  /\ hosts[host].invitation # 0
  /\ drawn < MaxOpens
  /\ drawn' = drawn + 1
  /\ Asks(host, [BlankMessage EXCEPT !.kind = "Open", !.sequence = DrawnSequence(drawn'), !.secret = hosts[host].invitation], "Opening")

\* Requests of a host in its session, or of one that still uses the secret of a lost session.
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
      /\ UNCHANGED <<clock, drawn, issued, tables>>

\* A read may be under way beside another request.  It has no number of its own: this one is in use already.
AskLook(host, rare) ==
  LET k == hosts[host]
      message == [BlankMessage EXCEPT !.kind = "Look", !.sequence = k.sequence, !.secret = k.secret, !.rare = rare]
  IN  /\ k.phase = "In"
      /\ k.looking = NoRequest
      /\ k.looks < MaxLooks
      /\ hosts' = [hosts EXCEPT ![host] = [k EXCEPT !.looking = message, !.looks = @ + 1]]
      /\ Send(Packet(host, message), LAMBDA packet : Keeps(host, message, packet))
      /\ UNCHANGED <<clock, drawn, issued, tables>>

Belongs(answer, request) ==
  /\ request # NoRequest
  /\ (answer.kind \in ReadAnswers) = (request.kind \in Reads)
  /\ answer.sequence = request.sequence
  /\ request.kind \in Opening \/ answer.secret = request.secret

\* The lease runs from the sending of the request that was answered.
LeaseFrom(lease, since) == lease + 1 - since

Receive(host, packet) ==
  LET k == hosts[host]
      answer == packet.message
      granted == LeaseFrom(LeaseOf(host), k.age)
      left == IF granted > k.left THEN granted ELSE k.left
  IN  /\ packet \in answers
      /\ packet.peer = host
      /\ Belongs(answer, k.waiting) \/ Belongs(answer, k.looking)
      /\ hosts' = [hosts EXCEPT ![host] =
           CASE answer.kind \in ReadAnswers -> [k EXCEPT !.looking = NoRequest]
             [] answer.kind \in {"Taken", "TooEarly", "OtherTerms"} -> [k EXCEPT !.phase = "Out", !.waiting = NoRequest]
             [] answer.kind = "Invited" -> [k EXCEPT !.phase = "Out", !.invitation = answer.secret, !.waiting = NoRequest]
             [] answer.kind = "Uninvited" -> [k EXCEPT !.phase = "Out", !.invitation = 0, !.waiting = NoRequest]
             [] answer.kind = "Opened" ->
                  [k EXCEPT !.phase = "In", !.secret = answer.secret, !.waiting = NoRequest, !.left = granted]
             [] OTHER -> [k EXCEPT !.waiting = NoRequest, !.left = IF k.phase = "In" THEN left ELSE 0]]
      /\ event' = Event("network", <<"client", host>>, "Receive", "", answer, answer)
      /\ bereft' = {other \in bereft : hosts'[other].phase # "Out"}
      /\ UNCHANGED <<clock, drawn, issued, age, fresh>>
      /\ FrameUnchanged

\* A tick passes for everybody: leases run out.  (A host that dies is one that does
\* nothing until then.)
Elapsed(host, k) ==
  LET left == IF k.left > 0 THEN k.left - 1 ELSE 0
      over == (k.phase = "In" /\ left = 0) \/ (k.phase \in {"Asking", "Opening"} /\ k.age = LeaseOf(host))
  IN  [k EXCEPT !.left = left,
                !.age = IF k.waiting = NoRequest \/ over THEN 0 ELSE IF @ <= LeaseOf(host) THEN @ + 1 ELSE @,
                !.phase = IF over THEN "Out" ELSE @,
                !.waiting = IF over THEN NoRequest ELSE @,
                !.looking = IF over THEN NoRequest ELSE @]

Tick ==
  /\ \A r \in DOMAIN runs : runs[r].now = clock
  /\ clock' = (clock + 1) % TimeModulus
  /\ hosts' = [host \in Hosts |-> Elapsed(host, hosts[host])]
  /\ age' = IF age <= Lease THEN age + 1 ELSE age
  /\ bereft' = {host \in bereft : hosts'[host].phase # "Out"}
  /\ event' = Event("clock", "clock", "Tick", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<drawn, issued, fresh>>
  /\ FrameUnchanged

(***************************************************************************)
(* The server                                                              *)
(***************************************************************************)

OthersUnchanged == UNCHANGED <<hosts, clock, drawn, issued, tables>>

AtXdp(packet) == ArriveAtXdp(packet, clock) /\ OthersUnchanged
AtTc(packet) == ArriveAtTc(packet, clock) /\ OthersUnchanged

\* Every token is another.
Serve(packet) ==
  /\ ServeForwarded(packet, [now |-> clock, random |-> TokenOf(packet.peer, issued + 1), age |-> age, index |-> 0])
  /\ issued' = IF packet.message.kind \in Opening THEN issued + 1 ELSE issued
  /\ issued' <= MaxSecrets
  /\ UNCHANGED <<hosts, clock, drawn, tables>>

Run(r) == RunSection(r) /\ OthersUnchanged
Skip(r) == SkipSection(r) /\ OthersUnchanged

\* The sweep may have read the clock just before it ticked.
Sweep(late) ==
  /\ \/ SweepSection(LAMBDA index : (clock + TimeModulus - late) % TimeModulus)
     \/ SweepBegins(0, LAMBDA index : (clock + TimeModulus - late) % TimeModulus)
  /\ OthersUnchanged

CrashDaemon == Crash /\ OthersUnchanged

\* Unload, purge and load, or a reboot: the tables are made anew, while nothing of the programs or of the daemon is under
\* way.  Hosts know nothing of it, and what they sent, or were sent, is still in the network.
\* (Tokens of the earlier tables stay good here. In the program the new ones have another key, and take none of them.)
FreshTables ==
  /\ fresh < MaxFresh
  /\ NobodyInFlight
  /\ fresh' = fresh + 1
  /\ age' = 0
  /\ cells' = BlankCells
  /\ forwarded' = {}
  /\ completions' = {}
  /\ bereft' = {host \in Hosts : hosts[host].phase # "Out"}
  /\ event' = Event("operator", "operator", "FreshTables", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<runs, sweep, requests, answers, hosts, clock, drawn, issued>>

HostActs(host) ==
  \/ AskInvitation(host)
  \/ AskOpen(host)
  \/ \E kind \in Kinds, rare \in Rare : (rare => kind = "Work") /\ AskInSession(host, kind, rare)
  \/ \E rare \in Rare : AskLook(host, rare)
  \/ \E packet \in answers : Receive(host, packet)

ServerActs ==
  \/ \E packet \in requests : AtXdp(packet)
  \/ \E packet \in Leaving : AtTc(packet)
  \/ \E packet \in AtDaemon : Serve(packet)
  \/ \E r \in 1..MaxRuns : Run(r) \/ Skip(r)
  \/ \E late \in 0..1 : Sweep(late)
  \/ CrashDaemon
  \/ FreshTables

Next == Tick \/ ServerActs \/ \E host \in Hosts : HostActs(host)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Guarantees to a protocol *)
(***************************************************************************)

\* As long as a host's own lease runs, the server has its session: nobody else has the number, and nothing that the
\* session holds is taken back.  (But of one that was purged.)
SessionOutlivesLease ==
  \A host \in Hosts \ bereft :
    hosts[host].phase = "In" =>
      /\ cells.session[0].state \in {"Idle", "Busy", "Forwarded"}
      /\ cells.credential[0].secret = hosts[host].secret

\* No two hosts rely on one session number, also where the tables of one of them are gone.
NobodyReliesOnAnothersNumber ==
  \A a, b \in Hosts : a # b => ~ (hosts[a].phase = "In" /\ hosts[b].phase = "In")

\* A session is only opened for a host that asked for it itself, with a number of its own part.
OnlyTheInvitedHaveIt ==
  LET secret == cells.credential[0].secret
  IN  secret # 0 => \E host \in Hosts : MadeFor(secret, host) /\ PartOf(host) = 0

\* No request is executed twice.
AtMostOnce == ~ cells.tally[0].twice

\* Only the session that has the number holds something, and the number is free only when all was taken back. (A session
\* that is over has no secret: it is the one whose work was done last.)
NothingIsLeftBehind ==
  LET held == cells.tally[0].held
  IN  CASE cells.session[0].state = "Vacant" -> held = {}
        [] cells.session[0].state = "Closing" -> held \subseteq {cells.tally[0].by}
        [] OTHER -> held \subseteq {cells.credential[0].secret}

\* All answers to one request agree: a retry gets the answer of the first execution.  (The daemon's last answer says that none took place.)
AnswersAgree ==
  \A a, b \in {answer \in answers : answer.message.kind \notin Words} :
    /\ a.message.sequence = b.message.sequence
    /\ a.message.secret = b.message.secret
    /\ (a.message.kind \in ReadAnswers) = (b.message.kind \in ReadAnswers)
    => a.message.kind = b.message.kind

\* A run of the programs that works on a packet of a session, seen in the step that it takes.
RunStep == event'.from \in {"XDP", "TC"} \X Hosts /\ event'.given.kind \notin Opening \cup Words \cup {"Opened"}

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
