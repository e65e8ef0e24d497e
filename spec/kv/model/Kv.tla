----------------------------------- MODULE Kv -----------------------------------
(***************************************************************************)
(* The store in its world: clients, a network that loses, repeats, delays  *)
(* and reorders, also between the kernel and the daemon, runs of the       *)
(* programs section by section, a daemon that may die, and its sweep.      *)
(* What every protocol has in common is in Frame; here are the clients,    *)
(* and what they may rely on: that the store is the map of KvMap.          *)
(*                                                                         *)
(* A client has at most one write and one read outstanding; it may give up *)
(* a write and go on to the next.  Versions and epochs do not wrap: there  *)
(* are fewer commits in a model than numbers.  In the program an epoch     *)
(* comes round after 2^32 commits of one bucket.  That a packet of the     *)
(* rare path lives through all of them is assumed away: a smaller modulus  *)
(* here would let it, and find what the program does not do.  The same is  *)
(* assumed of 2^32 versions of a key.  Time is left out as in Lock.        *)
(***************************************************************************)
EXTENDS KvProgram

CONSTANTS
  Wishes,       \* what clients ask for: <<client, kind, key>>
  Gathers,      \* what they ask for at once: <<client, sequence of <<kind, key>>>>
  Longs,        \* whether the values that a client writes may be long: a set of BOOLEAN for each
  Renewing,     \* clients that renew their sessions
  Quitters,     \* clients that give up writes
  Lapses,       \* clients whose leases may end
  MaxWrites,    \* writes, and renewals, of each client in one session
  MaxReads,     \* reads of each client
  MaxOpens,     \* sessions that a client opens
  MaxSecrets,   \* secrets that the daemon gives away
  MaxKept,      \* tails that the daemon puts on a shelf
  Beginnings,   \* what the tables hold at the beginning
  Forged,       \* packets of others that are about from the start
  Replays       \* whether packets stay in the network when their client has moved on

VARIABLES
  clients,      \* what each client knows
  issued,       \* how many secrets the daemon has given away
  writes,       \* the last write of each client that was decided, with its answer
  reads,        \* the last read
  versions      \* the last version of each key, also of one that was deleted

network == <<requests, forwarded, completions, answers>>
model == <<clients, issued, writes, reads, versions>>
vars == <<cells, runs, sweep, network, model, event>>

\* The state without the reader's comment on it.
View == <<cells, runs, sweep, network, model>>

(***************************************************************************)
(* The beginning                                                           *)
(***************************************************************************)

NoRequest == [BlankMessage EXCEPT !.kind = "None"]

Nothing == [sequence |-> 0, place |-> 0, request |-> "None", key |-> 0, answer |-> "None", version |-> 0, length |-> 0, value |-> 0]

\* phase: Out, Opening or In a session.  sequence, number: of the last write and
\* of the last read.  writing, reading: what is outstanding.
InitialClient(client) ==
  [phase |-> IF client \in OpenClients THEN "In" ELSE "Out", secret |-> client + 1, opens |-> 0,
   sequence |-> 0, writing |-> NoRequest, number |-> 0, reading |-> NoRequest]

Init ==
  /\ \E beginning \in Beginnings : FrameInit(beginning)
  /\ requests = Forged
  /\ clients = [client \in Clients |-> InitialClient(client)]
  /\ issued = Cardinality(Clients)
  /\ writes = [client \in Clients |-> Nothing]
  /\ reads = [client \in Clients |-> Nothing]
  /\ versions = [key \in Keys |-> LastVersion(key)]

(***************************************************************************)
(* The requests of each client.  (A definition that a model puts in place *)
(* of a constant TLC evaluates at each use, one made of constants once.)   *)
(***************************************************************************)

WishesFor(client, kinds) == {<<wish[2], wish[3]>> : wish \in {w \in Wishes : w[1] = client /\ w[2] \in kinds}}

WriteWishes == [client \in Clients |-> WishesFor(client, Requests)]
ReadWishes == [client \in Clients |-> WishesFor(client, Reads)]

Most == [client \in Clients |-> [writes |-> MaxWrites[client], reads |-> MaxReads[client]]]

(***************************************************************************)
(* Clients.  Each was invited before it is asked what it does.  Sequence   *)
(* numbers of a client's sessions do not overlap here: they are random, so *)
(* that they do in one of some 10^8 cases.                                 *)
(***************************************************************************)

FirstSequence(client, opens) == opens * (Most[client].writes + 1)

\* An answer, or a packet, belongs to the outstanding request if it says so.
BelongsTo(message, request) ==
  /\ request # NoRequest
  /\ message.client = request.client
  /\ message.sequence = request.sequence
  /\ request.kind = "Open" \/ message.secret = request.secret
  /\ (message.kind \in Reads \cup ReadAnswers) = (request.kind \in Reads)

Outstanding(client, message) ==
  BelongsTo(message, clients[client].writing) \/ BelongsTo(message, clients[client].reading)

\* The network may still deliver these when a client sends.
Keeps(client, packet) == Replays \/ packet.peer # client \/ Outstanding(client, packet.message)

SendFrom(client, message) == Send(Packet(client, message), LAMBDA packet : Keeps(client, packet))

\* A request in the client's session.
Request(client, kind, number, key, length, value, tail) ==
  Arrived([BlankMessage EXCEPT !.kind = kind, !.client = client, !.sequence = number, !.secret = clients[client].secret,
                               !.key = key, !.length = length, !.value = value, !.tail = tail])

MayWrite(client) ==
  LET k == clients[client]
  IN  /\ k.phase = "In"
      /\ k.writing = NoRequest \/ client \in Quitters
      /\ k.sequence < FirstSequence(client, k.opens) + Most[client].writes

Writes(client, kind, key, long) ==
  LET sequence == NextSequence(clients[client].sequence)
      value == 100 * (client + 1) + sequence
      message == CASE kind \notin {"Insert", "Update"} -> Request(client, kind, sequence, key, 0, 0, 0)
                   [] long -> Request(client, kind, sequence, key, LongLength(value), 0, value)
                   [] OTHER -> Request(client, kind, sequence, key, Length(value), value, 0)
  IN  /\ clients' = [clients EXCEPT ![client].sequence = sequence, ![client].writing = message]
      /\ SendFrom(client, message)

AskWrite(client) ==
  /\ MayWrite(client)
  /\ \E wish \in WriteWishes[client] :
       \E long \in IF wish[1] = "Delete" THEN {FALSE} ELSE Longs[client] : Writes(client, wish[1], wish[2], long)

\* Several operations in one message: only gets, or others as well.  The kernel leaves one with a long value alone.
Several(client, kind, number, wanted) ==
  LET Operation(i) ==
        LET value == 100 * (client + 1) + 10 * i + number
            brings == wanted[i][1] \in {"Insert", "Update"}
        IN  [kind |-> wanted[i][1], key |-> wanted[i][2], version |-> 0, length |-> IF brings THEN Length(value) ELSE 0,
             value |-> IF brings THEN value ELSE 0]
  IN  [Request(client, kind, number, 0, 0, 0, 0) EXCEPT
        !.count = Len(wanted), !.operations = [i \in DOMAIN wanted |-> Operation(i)]]

OnlyGets(wanted) == \A i \in DOMAIN wanted : wanted[i][1] = "Get"

GatherWishes == [client \in Clients |-> {wish[2] : wish \in {w \in Gathers : w[1] = client /\ ~ OnlyGets(w[2])}}]
FetchWishes == [client \in Clients |-> {wish[2] : wish \in {w \in Gathers : w[1] = client /\ OnlyGets(w[2])}}]

AskGather(client) ==
  LET sequence == NextSequence(clients[client].sequence)
  IN  /\ MayWrite(client)
      /\ \E wanted \in GatherWishes[client] :
           LET message == Several(client, "Gather", sequence, wanted)
           IN  /\ clients' = [clients EXCEPT ![client].sequence = sequence, ![client].writing = message]
               /\ SendFrom(client, message)

AskRenew(client) == client \in Renewing /\ MayWrite(client) /\ Writes(client, "Renew", 0, FALSE)

MayRead(client) ==
  LET k == clients[client]
  IN  k.phase = "In" /\ k.reading = NoRequest /\ k.number < Most[client].reads

Reading(client, kind, key) ==
  LET message == Request(client, kind, clients[client].number + 1, key, 0, 0, 0)
  IN  /\ clients' = [clients EXCEPT ![client].number = @ + 1, ![client].reading = message]
      /\ SendFrom(client, message)

AskRead(client) == MayRead(client) /\ \E wish \in ReadWishes[client] : Reading(client, wish[1], wish[2])

AskFetch(client) ==
  /\ MayRead(client)
  /\ \E wanted \in FetchWishes[client] :
       LET message == Several(client, "Fetch", clients[client].number + 1, wanted)
       IN  /\ clients' = [clients EXCEPT ![client].number = @ + 1, ![client].reading = message]
           /\ SendFrom(client, message)

AskOpen(client) ==
  LET k == clients[client]
      sequence == FirstSequence(client, k.opens + 1)
      message == Arrived([BlankMessage EXCEPT !.kind = "Open", !.client = client, !.sequence = sequence,
                                                !.secret = TokenOf(client, 0)])
  IN  /\ k.phase = "Out"
      /\ k.opens < MaxOpens
      /\ clients' = [clients EXCEPT ![client] =
                       [k EXCEPT !.phase = "Opening", !.opens = @ + 1, !.sequence = sequence, !.writing = message]]
      /\ SendFrom(client, message)

Receive(client, packet) ==
  LET k == clients[client]
      answer == packet.message
  IN  /\ packet.peer = client
      /\ Outstanding(client, answer)
      /\ clients' = [clients EXCEPT ![client] =
           CASE answer.kind \in ReadAnswers -> [k EXCEPT !.reading = NoRequest]
             [] answer.kind = "Opened" -> [k EXCEPT !.phase = "In", !.secret = answer.secret, !.writing = NoRequest]
             [] answer.kind = "Taken" -> [k EXCEPT !.phase = "Out", !.writing = NoRequest]
             [] OTHER -> [k EXCEPT !.writing = NoRequest]]
      /\ event' = Event("network", <<"client", client>>, "Receive", "", answer, answer)
      /\ FrameUnchanged

\* The client's lease ends by its own clock, or it gives up, or it dies.
LeaseEnds(client) ==
  /\ client \in Lapses
  /\ clients[client].phase # "Out"
  /\ clients' = [clients EXCEPT ![client].phase = "Out", ![client].writing = NoRequest, ![client].reading = NoRequest]
  /\ event' = Event(<<"client", client>>, <<"client", client>>, "LeaseEnds", "", BlankMessage, BlankMessage)
  /\ FrameUnchanged

(***************************************************************************)
(* The server                                                              *)
(***************************************************************************)

\* A client whose own lease runs holds the session that it opened last, if the
\* server has that.  This session is not overdue; all others are.
ReliesOn(client) ==
  /\ clients[client].phase # "Out"
  /\ cells.session[client].sequence >= FirstSequence(client, clients[client].opens)

Now(client) == IF client \in Clients /\ ReliesOn(client) THEN 0 ELSE TimeModulus \div 2

\* Every session has a secret of its own.
Serve(packet) ==
  /\ ServeForwarded(packet, [now |-> 0, random |-> TokenOf(packet.peer, issued + 1), age |-> Lease + 1, index |-> 0])
  /\ IF packet.message.kind = "Open"
       THEN issued < Cardinality(Clients) + MaxSecrets /\ issued' = issued + 1
       ELSE UNCHANGED issued
  /\ WritesTail(packet.message) => cells.shelf[ShelfOf(packet.message.key)].generation < MaxKept

AllAnswers == Answers \cup ReadAnswers

\* What a request comes to, or an operation of it, which has a place from 1 on.
Decision(request, decided, place) ==
  [sequence |-> decided.sequence, place |-> place, request |-> request.kind, key |-> decided.key, answer |-> decided.kind,
   version |-> decided.version, length |-> decided.length,
   value |-> IF IsLong(decided.length) THEN decided.tail ELSE decided.value]

Decides ==
  LET request == event'.given
      decided == event'.message
      client == decided.client
      gathered == event'.step = "OnOperation"
      decision == Decision(request, decided, IF gathered THEN 1 + decided.note - Operations * client ELSE 0)
      here == /\ gathered \/ event'.step \in {"OnRequest", "OnFetched", "OnCompletion"}
              /\ request.kind \notin AllAnswers
              /\ decided.kind \in AllAnswers
  IN  /\ writes' = IF here /\ decided.kind \in Answers
                     THEN [writes EXCEPT ![client] = decision] ELSE writes
      /\ reads' = IF here /\ decided.kind \in ReadAnswers
                    THEN [reads EXCEPT ![client] = decision] ELSE reads
      /\ versions' = IF here /\ decided.kind \in {"Inserted", "Updated"}
                       THEN [versions EXCEPT ![decided.key] = decided.version] ELSE versions

AtXdp(packet) == ArriveAtXdp(packet, 0)
AtTc(packet) == ArriveAtTc(packet, 0)

RunActs ==
  /\ \/ \E packet \in requests : AtXdp(packet)
     \/ \E packet \in Leaving : AtTc(packet)
     \/ \E r \in 1..(MaxRuns + 1) : RunSection(r) \/ SkipSection(r)
  /\ Decides
  /\ UNCHANGED <<clients, issued>>

DaemonActs ==
  /\ \/ \E packet \in AtDaemon : Serve(packet)
     \/ /\ SweepSection(Now) \/ (\E index \in Clients : SweepBegins(index, Now)) \/ SkipSweepSection \/ Crash
        /\ UNCHANGED issued
  /\ UNCHANGED <<clients, writes, reads, versions>>

ClientActs(client) ==
  /\ \/ AskWrite(client)
     \/ AskRead(client)
     \/ AskGather(client)
     \/ AskFetch(client)
     \/ AskRenew(client)
     \/ AskOpen(client)
     \/ \E packet \in answers : Receive(client, packet)
     \/ LeaseEnds(client)
  /\ UNCHANGED <<issued, writes, reads, versions>>

Next == RunActs \/ DaemonActs \/ \E client \in Clients : ClientActs(client)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* The map                                                                 *)
(***************************************************************************)

Current(key) == Standing(key, versions[key])

\* All that the map is made of: where it stays, TLC need not make the map twice to see that it stays.  (Whatever Current
\* reads has to be here: a step that changes only something else is not looked at.)
Basis == <<cells.bucket, cells.page, cells.tail, Settling, versions>>

Map == INSTANCE KvMap WITH map <- [key \in Keys |-> Current(key)], LengthMax <- ValueMax

(***************************************************************************)
(* Guarantees to clients *)
(***************************************************************************)

\* The store is a map: every request is executed at one moment between its sending and its answer, every write at most
\* once, no write is lost, no existing key is reported absent, and versions go up by one with every update.  (This is
\* Map!Spec, with what is soon seen before it.)
Refines == Map!Init /\ [][UNCHANGED <<Basis, writes, reads>> \/ Map!Next]_Map!vars

\* An answer says what its request has come to, or the operation that was decided last.
Tells(message, decided) ==
  IF decided.place = 0
    THEN message.kind = decided.answer /\ message.version = decided.version
    ELSE /\ message.kind = "Gathered"
         /\ LET operation == message.operations[decided.place]
            IN  operation.kind = decided.answer /\ operation.version = decided.version

\* Two answers say the same. What was got is told only once.
SayTheSame(one, other) ==
  LET Got(operation) == operation.kind \in {"Get"} \cup ReadAnswers
  IN  /\ one.kind = other.kind /\ one.version = other.version
      /\ DOMAIN one.operations = DOMAIN other.operations
      /\ \A i \in DOMAIN one.operations :
           one.operations[i] = other.operations[i] \/ (Got(one.operations[i]) /\ Got(other.operations[i]))

\* All answers to one write agree with its effect: a retry gets the answer of the first execution.
AnswersAgree ==
  \A a \in answers :
    a.message.kind \in Answers =>
      /\ LET decided == writes[a.message.client]
         IN  a.message.sequence = decided.sequence => Tells(a.message, decided)
      /\ \A b \in answers :
           /\ b.message.kind \in Answers
           /\ a.message.client = b.message.client
           /\ a.message.sequence = b.message.sequence
           => SayTheSame(a.message, b.message)

\* The entries that count, of all keys.
Entries ==
  {[key |-> key, entry |-> BucketOf(key).entries[WayOf(BucketOf(key), key)]] :
     key \in {k \in Keys : WayOf(BucketOf(k), k) > 0 /\ BucketOf(k).marks[WayOf(BucketOf(k), k)] # "Gone"}}
  \cup {[key |-> key, entry |-> SpilledEntry(key, CHOOSE j \in Spilled(key) : TRUE)] :
          key \in {k \in Keys : WayOf(BucketOf(k), k) = 0 /\ Spilled(k) # {}}}

\* The spots that entries have.
Spotted == {<<ShelfOf(each.key), each.entry.spot>> : each \in {one \in Entries : IsLong(one.entry.length)}}

\* The tail of an entry is where nobody puts another, and no two entries share it.
TailsAreKept ==
  /\ \A spotted \in Spotted : spotted[2] - 1 \in cells.shelf[spotted[1]].taken
  /\ Cardinality(Spotted) = Cardinality({each \in Entries : IsLong(each.entry.length)})

\* When nothing is in flight, no spot is lost. (Where sections lose their races, one may be.)
NoSpotIsLost ==
  NobodyInFlight =>
    \A number \in 0..(Shelves - 1) : cells.shelf[number].taken = {i \in 0..(Spots - 1) : <<number, i + 1>> \in Spotted}

\* A tail goes to the address that its session was opened from: who asks from another gets none sent there.
TailsGoHome ==
  \A packet \in answers :
    packet.message.kind \in ReadAnswers \cup {"Uninvited"} /\ IsLong(packet.message.length) => MadeFor(packet.message.secret, packet.peer)

\* A write that is refused for lack of room changes nothing.
NoRoomChangesNothing ==
  [][event'.message.kind = "NoRoom" /\ event'.step \in {"OnCompletion", "Settle"}
       => UNCHANGED <<cells.bucket, cells.page>>]_vars

\* Where the layout says that a section is never contended, nobody else writes its cell.
NeverMeansNever == [][NeverContended]_vars

=================================================================================
