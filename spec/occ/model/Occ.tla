----------------------------------- MODULE Occ -----------------------------------
(***************************************************************************)
(* Transactions in their world: clients, a network that loses, repeats,    *)
(* delays and reorders, runs of the programs section by section, a daemon  *)
(* that may die, and its sweep.  What every protocol has in common is in   *)
(* Frame, what the store's tables hold in KvTables; here are the clients,  *)
(* and what they may rely on: that transactions are executed as if one     *)
(* after the other, in an order that real time does not contradict.        *)
(*                                                                         *)
(* A client goes through its programs one after the other.  A program is   *)
(* a transaction, or one of the store's own writes:                        *)
(*                                                                         *)
(*   reads      keys that it reads first, in this order                    *)
(*   writes     <<key, "Put" or "Delete">> that it then locks; one that it *)
(*              has not read it takes not to exist                         *)
(*   validates  keys that it then reads again                              *)
(*   ends       how it may end: "Commit", "Abort"                          *)
(*   plain      TRUE: `writes` has one <<key, "Insert" ...>>, no lock      *)
(*   gathers    TRUE: it asks for all of a stage at once, and then for     *)
(*              each that was left alone                                   *)
(*                                                                         *)
(* What was read once and is neither locked nor read again must not have   *)
(* been locked; only a program of one read may do that.                    *)
(*                                                                         *)
(* A client with whims keeps to no rule: its nth request is any of its nth *)
(* set of whims.  All others must be safe from it.                         *)
(*                                                                         *)
(* Every write has a value that says whose it is.  `history` has all       *)
(* states that each key was ever in.  Time is left out as in Lock; how     *)
(* sessions begin is not asked here, but in spec/lib/session.              *)
(***************************************************************************)
EXTENDS OccProgram

CONSTANTS
  Programs,    \* client -> sequence of programs
  Whims,       \* client -> sequence of sets of requests; << >>: it has programs, or none
  Quitters,    \* clients that give up locks whose answer they wait for, and abort
  Lapses,      \* clients whose leases may end, or that die
  Beginnings,  \* what the tables hold at the beginning
  Forged,      \* packets of others that are about from the start
  Replays      \* whether packets stay in the network when their client has moved on

VARIABLES
  clients,  \* what each client knows
  history,  \* key -> all states that it was in, and whose write each was
  claims,   \* what transactions that were validated have read and are to write, and which had ended when they began
  told      \* programs whose end their clients know of

network == <<requests, forwarded, completions, answers>>
model == <<clients, history, claims, told>>
vars == <<cells, runs, sweep, network, model, event>>

\* The state without the reader's comment on it.
View == <<cells, runs, sweep, network, model>>

NoRequest == [BlankMessage EXCEPT !.kind = "None"]

(***************************************************************************)
(* Clients                                                                 *)
(***************************************************************************)

\* The write that a value comes from: 11 is from client 0's first program, 22 from client 1's second one.  0: it was there from the start.
Name(client, number) == 10 * (client + 1) + number
ClientOf(name) == (name \div 10) - 1
NumberOf(name) == name % 10
ValueOf(name, place) == 10 * name + place
WhoseIs(value) == IF value < 100 THEN 0 ELSE value \div 10

\* (A definition that a model puts in place of a constant TLC evaluates at each use, one made of constants once.)
All == [client \in Clients |-> Programs[client]]
AllWhims == [client \in Clients |-> Whims[client]]

ProgramOf(client) == All[client][clients[client].number]
NameOf(client) == Name(client, clients[client].number)

\* Where a client begins in a program: the stage, and the step in it.
BeginsWith(program) == IF program.reads # << >> THEN "Read" ELSE "Lock"

\* A client that has no program is dead from the start.  phase: Out or In a session.  sequence, reading: numbers of the last
\* request and of the last read.  waiting: what is outstanding.  number: of the program; stage, at: in it.  left: of the stage,
\* what was asked for with others, and is to be asked for alone.  saw: <<key, version>> (0: there was none) of the last reading.
\* pins: places whose locks were granted, or may be.  failed: it is to be aborted.  ends: how it asked to end.  after: what
\* had ended as it began.
InitialClient(client) ==
  [phase |-> IF All[client] = << >> /\ AllWhims[client] = << >> THEN "Out" ELSE "In", secret |-> client + 1, sequence |-> 0, reading |-> 0, waiting |-> NoRequest, number |-> 1,
   stage |-> CASE AllWhims[client] # << >> -> "Whim" [] All[client] = << >> -> "Over" [] OTHER -> BeginsWith(All[client][1]), at |-> 1,
   left |-> << >>, saw |-> {}, pins |-> {}, failed |-> FALSE, ends |-> "", after |-> {}]

State(key) ==
  LET standing == Standing(key, LastVersion(key))
  IN  [there |-> standing.there, version |-> standing.version, by |-> WhoseIs(standing.value)]

Init ==
  /\ \E beginning \in Beginnings : FrameInit(beginning)
  /\ requests = Forged
  /\ clients = [client \in Clients |-> InitialClient(client)]
  /\ history = [key \in Keys |-> << [State(key) EXCEPT !.by = 0] >>]
  /\ claims = << >>
  /\ told = {}

\* An answer, or a packet, belongs to the outstanding request if it says so.
Outstanding(client, message) ==
  LET request == clients[client].waiting
  IN  /\ request # NoRequest
      /\ message.client = request.client
      /\ message.sequence = request.sequence
      /\ message.secret = request.secret
      /\ (message.kind \in Reads \cup ReadAnswers) = (request.kind \in Reads)

\* The network may still deliver these when a client sends.
Keeps(client, packet) == Replays \/ packet.peer # client \/ Outstanding(client, packet.message)

Asks(client, message, k) ==
  /\ clients' = [clients EXCEPT ![client] = [k EXCEPT !.waiting = message]]
  /\ Send(Packet(client, message), LAMBDA packet : Keeps(client, packet))

Message(client, kind, number, key, place) ==
  [BlankMessage EXCEPT !.kind = kind, !.client = client, !.sequence = number, !.secret = clients[client].secret,
                       !.key = key, !.place = place]

\* An operation that asks for what a message of its own would.
OperationOf(message) ==
  [kind |-> message.kind, place |-> message.place, deletes |-> message.deletes, locked |-> FALSE, key |-> message.key,
   version |-> message.version, length |-> message.length, value |-> message.value]

Several(client, kind, number, messages) ==
  [Message(client, kind, number, 0, 0) EXCEPT !.count = Len(messages),
                                              !.operations = [i \in DOMAIN messages |-> OperationOf(messages[i])]]

\* What a stage goes over, and what is asked for next in it.
ListOf(program, stage) == CASE stage = "Read" -> program.reads [] stage = "Validate" -> program.validates [] OTHER -> program.writes

NextOf(k) == IF k.left # << >> THEN Head(k.left) ELSE k.at

\* All of a stage is asked for at once, when it begins.
Gathers(program, k) == program.gathers /\ k.at = 1 /\ k.left = << >>

\* The next program begins where the last one has come to an end.
Starts(client, k) == IF k.stage = BeginsWith(ProgramOf(client)) /\ k.at = 1 /\ k.saw = {} /\ k.pins = {} THEN told ELSE k.after

AskRead(client) ==
  LET k == clients[client]
      keys == ListOf(ProgramOf(client), k.stage)
      Get(i) == Message(client, "Get", k.reading + 1, keys[i], 0)
      request == IF Gathers(ProgramOf(client), k)
                   THEN Several(client, "Fetch", k.reading + 1, [i \in DOMAIN keys |-> Get(i)])
                   ELSE Get(NextOf(k))
  IN  /\ k.stage \in {"Read", "Validate"}
      /\ Asks(client, Arrived(request), [k EXCEPT !.reading = @ + 1, !.after = Starts(client, k)])

\* The place of the program's first, second ... write.
PlaceOf(at) == at - 1

\* The version that a key is expected to have: as it was read, and not at all where it was not read.
Expected(k, key) ==
  LET seen == {each \in k.saw : each[1] = key}
  IN  IF seen = {} THEN 0 ELSE (CHOOSE each \in seen : TRUE)[2]

AskWrite(client) ==
  LET k == clients[client]
      program == ProgramOf(client)
      Write(i) ==
        LET write == program.writes[i]
            deletes == write[2] = "Delete"
        IN  [Message(client, IF program.plain THEN write[2] ELSE "Lock", k.sequence + 1, write[1], PlaceOf(i)) EXCEPT
               !.deletes = deletes /\ ~ program.plain,
               !.version = Expected(k, write[1]),
               !.value = ValueOf(NameOf(client), PlaceOf(i)),
               !.length = IF deletes THEN 0 ELSE Length(ValueOf(NameOf(client), PlaceOf(i)))]
      request == IF Gathers(program, k)
                   THEN Several(client, "Gather", k.sequence + 1, [i \in DOMAIN program.writes |-> Write(i)])
                   ELSE Write(NextOf(k))
  IN  /\ k.stage = "Lock"
      /\ Asks(client, Arrived(request), [k EXCEPT !.sequence = @ + 1, !.after = Starts(client, k)])

InOrder(places) == SelectSeq([i \in 1..Intents |-> i - 1], LAMBDA place : place \in places)

AskSettle(client) ==
  LET k == clients[client]
      places == InOrder(k.pins)
      Ending(kind, place) == Message(client, kind, k.sequence + 1, ProgramOf(client).writes[place + 1][1], place)
      ends == IF k.failed THEN {"Abort"} ELSE IF k.ends = "" THEN ProgramOf(client).ends ELSE {k.ends}
  IN  /\ k.stage = "Settle"
      /\ \E kind \in ends :
           Asks(client,
                Arrived(IF Gathers(ProgramOf(client), k)
                          THEN Several(client, "Gather", k.sequence + 1, [i \in DOMAIN places |-> Ending(kind, places[i])])
                          ELSE Ending(kind, Head(places))),
                [k EXCEPT !.sequence = @ + 1, !.ends = kind])

\* Requests and reads have numbers of their own.
AskWhim(client) ==
  LET k == clients[client]
      number == k.sequence + k.reading + 1
  IN  /\ k.stage = "Whim"
      /\ number <= Len(AllWhims[client])
      /\ \E whim \in AllWhims[client][number] :
           LET reads == whim.kind \in Reads
               n == IF reads THEN k.reading + 1 ELSE k.sequence + 1
               Asked(one) == [Message(client, one.kind, n, one.key, one.place) EXCEPT
                                !.deletes = one.deletes, !.version = one.version, !.length = one.length,
                                !.value = ValueOf(Name(client, number), one.place)]
               request == IF whim.several = << >>
                            THEN Asked(whim)
                            ELSE Several(client, whim.kind, n, [i \in DOMAIN whim.several |-> Asked(whim.several[i])])
           IN  Asks(client, Arrived(request), IF reads THEN [k EXCEPT !.reading = n] ELSE [k EXCEPT !.sequence = n])

Ask(client) ==
  /\ clients[client].phase = "In"
  /\ clients[client].waiting = NoRequest
  /\ AskRead(client) \/ AskWrite(client) \/ AskSettle(client) \/ AskWhim(client)
  /\ UNCHANGED <<history, claims, told>>

Stage(k, stage) == [k EXCEPT !.stage = stage, !.at = 1, !.left = << >>]

\* Gives up locks, and aborts: they may be granted or not.
Quit(client) ==
  LET k == clients[client]
      operations == k.waiting.operations
      places == IF k.waiting.kind = "Lock" THEN {k.waiting.place} ELSE {operations[i].place : i \in DOMAIN operations}
  IN  /\ client \in Quitters
      /\ k.phase = "In"
      /\ k.waiting.kind \in {"Lock", "Gather"} /\ k.stage = "Lock"
      /\ clients' = [clients EXCEPT ![client] = Stage([k EXCEPT !.waiting = NoRequest, !.failed = TRUE, !.pins = @ \cup places],
                                                      "Settle")]
      /\ event' = Event(<<"client", client>>, <<"client", client>>, "Quit", "", k.waiting, k.waiting)
      /\ UNCHANGED <<history, claims, told>>
      /\ FrameUnchanged

\* The stage after this one that has something to do in it.
AfterLocks(program) == IF program.validates # << >> THEN "Validate" ELSE "Settle"
AfterReads(program) == IF program.writes # << >> THEN "Lock" ELSE AfterLocks(program)

After(program, stage) == CASE stage = "Read" -> AfterReads(program) [] stage = "Lock" -> AfterLocks(program) [] OTHER -> "Settle"

\* With an answer to a reading.
Reads1(program, k, answer) ==
  LET version == IF answer.kind = "Value" THEN answer.version ELSE 0
      seen == IF answer.kind = "Value" THEN <<answer.key, answer.version, TRUE>> ELSE <<answer.key, answer.version, FALSE>>
      again == \E i \in 1..Len(program.validates) : program.validates[i] = answer.key
      written == \E i \in 1..Len(program.writes) : program.writes[i][1] = answer.key
  IN  [k EXCEPT !.saw = @ \cup {<<answer.key, version, seen>>}, !.failed = @ \/ (answer.locked /\ ~ again /\ ~ written)]

\* True if a second read finds the same: the same version, or missing with the same floor, and not locked.
IsAsItWas(k, answer) ==
  /\ ~ answer.locked
  /\ \E each \in k.saw : each[3] = <<answer.key, answer.version, answer.kind = "Value">>

\* What a client knows once it has the answer to a request, or to an operation.
Learns(program, k, answer) ==
  CASE k.stage = "Read" -> Reads1(program, k, answer)
    [] k.stage = "Validate" -> [k EXCEPT !.failed = @ \/ ~ IsAsItWas(k, answer)]
    [] k.stage = "Settle" -> [k EXCEPT !.pins = @ \ {answer.place}]
    [] program.plain -> k
    [] answer.kind = "Granted" -> [k EXCEPT !.pins = @ \cup {answer.place}]
    [] OTHER -> [k EXCEPT !.failed = TRUE]

\* The same of all operations from the ith on, which were asked for at once. Some were left alone.
RECURSIVE LearnsAll(_, _, _, _)
LearnsAll(program, k, answer, i) ==
  LET operation == answer.operations[i]
  IN  CASE i > Len(answer.operations) -> [k EXCEPT !.at = i]
        [] operation.kind = k.waiting.operations[i].kind -> LearnsAll(program, [k EXCEPT !.left = Append(@, i)], answer, i + 1)
        [] OTHER -> LearnsAll(program, Learns(program, k, operation), answer, i + 1)

\* It goes on with the rest of its stage, or with the next one.
GoesOnWith(program, k) ==
  CASE k.stage = "Settle" -> k
    [] program.plain \/ k.failed -> Stage(k, "Settle")
    [] k.left # << >> -> k
    [] k.at < Len(ListOf(program, k.stage)) -> [k EXCEPT !.at = @ + 1]
    [] OTHER -> Stage(k, After(program, k.stage))

\* A client that has nothing left to settle goes on to its next program.
Over(client, k) ==
  LET next == k.number + 1
      over == next > Len(All[client])
  IN  IF k.stage = "Settle" /\ k.pins = {}
        THEN [k EXCEPT !.number = next, !.stage = IF over THEN "Over" ELSE BeginsWith(All[client][next]), !.at = 1,
                       !.left = << >>, !.saw = {}, !.failed = FALSE, !.ends = "", !.after = {}]
        ELSE k

\* The keys that a program locks without having read them: they are not to exist.
Unread(program, k) ==
  IF program.plain THEN {} ELSE {program.writes[i][1] : i \in 1..Len(program.writes)} \ {each[1] : each \in k.saw}

\* Its reads that must still hold, and its writes.
ClaimOf(program, k) ==
  [reads |-> {[key |-> each[1], there |-> each[3][3], version |-> each[3][2]] : each \in k.saw}
             \cup {[key |-> key, there |-> FALSE, version |-> 0] : key \in Unread(program, k)},
   writes |-> {program.writes[i][1] : i \in {j \in 1..Len(program.writes) :
                                               program.writes[j][2] # "Delete" \/ Expected(k, program.writes[j][1]) # 0}},
   after |-> k.after]

Receive(client, packet) ==
  LET k == clients[client]
      answer == packet.message
      program == ProgramOf(client)
      heard == IF answer.kind \in {"Fetched", "Gathered"}
                 THEN LearnsAll(program, k, answer, 1)
                 ELSE Learns(program, [k EXCEPT !.left = IF @ = << >> THEN @ ELSE Tail(@)], answer)
      next == GoesOnWith(program, heard)
      validated == k.stage # "Settle" /\ next.stage = "Settle" /\ ~ next.failed
      ends == \/ answer.kind = "Committed" \/ \E i \in DOMAIN answer.operations : answer.operations[i].kind = "Committed"
              \/ program.plain
              \/ validated /\ program.writes = << >>
  IN  /\ packet.peer = client
      /\ k.stage # "Whim"
      /\ Outstanding(client, answer)
      /\ clients' = [clients EXCEPT ![client] = Over(client, [next EXCEPT !.waiting = NoRequest])]
      /\ claims' = IF validated THEN [name \in DOMAIN claims \cup {NameOf(client)} |->
                                        IF name = NameOf(client) THEN ClaimOf(program, next) ELSE claims[name]]
                                ELSE claims
      /\ told' = IF ends THEN told \cup {NameOf(client)} ELSE told
      /\ event' = Event("network", <<"client", client>>, "Receive", "", answer, answer)
      /\ UNCHANGED history
      /\ FrameUnchanged

\* Whatever the answer is, the next whim follows.
ReceiveAny(client, packet) ==
  /\ packet.peer = client
  /\ clients[client].stage = "Whim"
  /\ Outstanding(client, packet.message)
  /\ clients' = [clients EXCEPT ![client].waiting = NoRequest]
  /\ event' = Event("network", <<"client", client>>, "Receive", "", packet.message, packet.message)
  /\ UNCHANGED <<history, claims, told>>
  /\ FrameUnchanged

\* The client's lease ends by its own clock, or it dies.
LeaseEnds(client) ==
  /\ client \in Lapses
  /\ clients[client].phase = "In"
  /\ clients' = [clients EXCEPT ![client] = [@ EXCEPT !.phase = "Out", !.waiting = NoRequest]]
  /\ event' = Event(<<"client", client>>, <<"client", client>>, "LeaseEnds", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<history, claims, told>>
  /\ FrameUnchanged

(***************************************************************************)
(* The server                                                              *)
(***************************************************************************)

\* A session whose client's own lease runs is not overdue; all others are.
Now(client) == IF client \in Clients /\ clients[client].phase = "In" THEN 0 ELSE TimeModulus \div 2

\* Which keys have changed, and by whose write: it is in the message of the step that changed them.
Changed(key, state) ==
  LET last == history[key][Len(history[key])]
  IN  state.there # last.there \/ (state.there /\ state.version # last.version)

Notes ==
  /\ history' = IF cells.bucket = cells.bucket'
                  THEN history
                  ELSE [key \in Keys |-> IF Changed(key, State(key)')
                                           THEN Append(history[key], [State(key)' EXCEPT !.by = WhoseIs(event'.message.value)])
                                           ELSE history[key]]
  /\ UNCHANGED <<clients, claims, told>>

AtXdp(packet) == ArriveAtXdp(packet, 0)
AtTc(packet) == ArriveAtTc(packet, 0)

RunActs ==
  /\ \/ \E packet \in requests : AtXdp(packet)
     \/ \E packet \in Leaving : AtTc(packet)
     \/ \E r \in 1..(MaxRuns + 1) : RunSection(r) \/ SkipSection(r)
  /\ Notes

DaemonActs ==
  /\ \/ \E packet \in AtDaemon : ServeForwarded(packet, [now |-> 0, random |-> 0, age |-> Lease + 1, index |-> 0])
     \/ SweepSection(Now)
     \/ \E index \in Clients : SweepBegins(index, Now)
     \/ SkipSweepSection
     \/ Crash
  /\ Notes

ClientActs(client) ==
  \/ Ask(client)
  \/ Quit(client)
  \/ \E packet \in answers : Receive(client, packet) \/ ReceiveAny(client, packet)
  \/ LeaseEnds(client)

Next == RunActs \/ DaemonActs \/ \E client \in Clients : ClientActs(client)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Guarantees to clients *)
(***************************************************************************)

\* The states that a reading may have been of.
Matching(read) ==
  {i \in 1..Len(history[read.key]) :
     LET state == history[read.key][i]
     IN  state.there = read.there /\ (read.there => state.version = read.version)}

Writers == UNION {{history[key][i].by : i \in 1..Len(history[key])} : key \in Keys} \ {0}

\* Readings, each with the name of its transaction.
Readings == UNION {{[by |-> name, key |-> read.key, read |-> read] : read \in claims[name].reads} : name \in DOMAIN claims}

\* Which comes before which: by what was written over what, by what was read, and by what had ended before what began.
WriteEdges ==
  UNION {{<<history[key][i].by, history[key][i + 1].by>> : i \in 1..(Len(history[key]) - 1)} : key \in Keys}

ReadEdges(seen) ==
  UNION {LET states == history[each.key]
         IN  {<<states[seen[each]].by, each.by>>}
             \cup (IF seen[each] < Len(states) THEN {<<each.by, states[seen[each] + 1].by>>} ELSE {}) : each \in Readings}

TimeEdges == UNION {{<<before, name>> : before \in claims[name].after} : name \in DOMAIN claims}

\* Transactions without a predecessor go first, and so on.
RECURSIVE IsOrder(_, _)
IsOrder(names, edges) ==
  LET first == {name \in names : ~ \E other \in names : other # name /\ <<other, name>> \in edges}
  IN  names = {} \/ (first # {} /\ IsOrder(names \ first, edges))

\* Transactions, and the store's own writes, are as if executed one after the other, in an order in which none comes before
\* one that had ended as it began.
Serializable ==
  claims # << >> =>
    \E seen \in [Readings -> UNION {1..Len(history[key]) : key \in Keys}] :
      /\ \A each \in Readings : seen[each] \in Matching(each.read)
      /\ IsOrder(Writers \cup DOMAIN claims, WriteEdges \cup ReadEdges(seen) \cup TimeEdges)

\* The keys that a transaction has written.
Wrote(name) == {key \in Keys : \E i \in 1..Len(history[key]) : history[key][i].by = name}

\* A transaction writes all or nothing, and all if its client got that answer: once it is settled, by whomever.
Atomic ==
  \A name \in DOMAIN claims :
    LET client == ClientOf(name)
    IN  /\ ~ All[client][NumberOf(name)].plain
        /\ PinsNone(cells.transaction[client]) \/ clients[client].number # NumberOf(name)
        /\ Wrote(name) # {} \/ name \in told
        => Wrote(name) = claims[name].writes

\* A key that was read and then written is written over the value that was read.
NoLostUpdate ==
  \A key \in Keys : \A i \in 2..Len(history[key]) :
    LET name == history[key][i].by
    IN  name \in DOMAIN claims =>
          \A read \in claims[name].reads : read.key = key => i - 1 \in Matching(read)

\* The version goes up by one with every update, and only up over a deletion and an insertion.
VersionsGoUpByOne ==
  \A key \in Keys : \A i \in 2..Len(history[key]) :
    LET before == history[key][i - 1]
        after == history[key][i]
    IN  CASE before.there /\ after.there -> after.version = before.version + 1
          [] after.there -> \A j \in 1..(i - 1) : after.version > history[key][j].version
          [] OTHER -> TRUE

\* Every write is executed at most once.
NoWriteTwice ==
  \A key \in Keys : \A i, j \in 1..Len(history[key]) : history[key][i].by = history[key][j].by => i = j

\* Two answers say the same. What was got with others is told only once.
SayTheSame(one, other) ==
  LET Got(operation) == operation.kind \in {"Get"} \cup ReadAnswers
  IN  /\ one.kind = other.kind /\ one.version = other.version
      /\ DOMAIN one.operations = DOMAIN other.operations
      /\ \A i \in DOMAIN one.operations :
           LET a == one.operations[i]
               b == other.operations[i]
           IN  (a.kind = b.kind /\ a.version = b.version /\ a.place = b.place) \/ (Got(a) /\ Got(b))

\* All answers to one request agree: a retry gets the answer of the first execution.
AnswersAgree ==
  \A a, b \in answers :
    /\ a.message.kind \in Answers
    /\ b.message.kind \in Answers
    /\ a.message.client = b.message.client
    /\ a.message.sequence = b.message.sequence
    => SayTheSame(a.message, b.message)

\* A granted place is committed or aborted on request: this is never refused, for want of room or anything else.
GrantedIsSettled ==
  [][event'.step = "Receive" /\ event'.message.kind \in Answers
       => LET k == clients[event'.to[2]]
              operations == event'.message.operations
          IN  k.stage = "Settle" =>
                IF event'.message.kind = "Gathered"
                  THEN \A i \in DOMAIN operations : operations[i].kind \in {"Commit", "Committed", "Abort", "Aborted"}
                  ELSE event'.message.kind \in {"Committed", "Aborted"}]_vars

(***************************************************************************)
(* Invariants of the tables *)
(***************************************************************************)

\* The places of a session that pin a way.
PlacesOf(client) == {place \in 0..(Intents - 1) : cells.transaction[client].ways[place + 1] # 0}

\* The bucket and the way that a place pins.
Pin(client, place) == <<cells.intent[client * Intents + place].slot, cells.transaction[client].ways[place + 1]>>

HeldPlaces == UNION {{<<client, place>> : place \in PlacesOf(client)} : client \in Clients}

PinnedWays == UNION {{<<slot, i + 1>> : i \in cells.bucket[slot].pinned} : slot \in 0..(Buckets - 1)}

\* When nothing is in flight, every way that is pinned is pinned by a place of a session that is there, once, and every place
\* that says so pins one.
LocksAreHeld ==
  NobodyInFlight =>
    /\ PinnedWays = {Pin(each[1], each[2]) : each \in HeldPlaces}
    /\ Cardinality(PinnedWays) = Cardinality(HeldPlaces)
    /\ \A client \in Clients : cells.session[client].state = "Vacant" => PlacesOf(client) = {}

\* When nothing is in flight, a client that waits for no answer has no more places than it knows of: no lock is granted late, or
\* twice, so there is none that nobody will settle.
NoLockIsForgotten ==
  NobodyInFlight =>
    \A client \in Clients :
      clients[client].phase = "In" /\ clients[client].stage # "Whim" /\ clients[client].waiting = NoRequest
        => PlacesOf(client) \subseteq clients[client].pins

\* While a way is pinned, nobody changes what it has: neither its key nor the entry.
PinnedStays ==
  [][\A slot \in 0..(Buckets - 1) :
       LET before == cells.bucket[slot]
           after == cells'.bucket[slot]
       IN  before # after =>
             \A i \in 1..Ways :
               i - 1 \in before.pinned \cap after.pinned
                 => /\ after.keys[i] = before.keys[i]
                    /\ IsLive(after, i) = IsLive(before, i)
                    /\ IsLive(before, i) => after.entries[i] = before.entries[i]
                    /\ after.marks[i] # "Empty"]_vars

\* Only whoever pinned a way frees it, or the sweep when its session is over.
OnlyTheHolderFrees ==
  [][\A slot \in 0..(Buckets - 1) :
       LET before == cells.bucket[slot]
           after == cells'.bucket[slot]
       IN  before # after =>
             \A i \in 1..Ways :
               i - 1 \in before.pinned \ after.pinned
                 => LET client == event'.message.client
                    IN  /\ \E place \in PlacesOf(client) : Pin(client, place) = <<slot, i>>
                        /\ cells.session[client].state = IF event'.from = "sweep" THEN "Closing" ELSE "Busy"]_vars

\* A run of the programs that works on a packet of a client's session, seen in the step that it takes.
RunStep == event'.from \in {"XDP", "TC"} \X Clients

\* Nothing changes through a packet of another than the client that it names.
NobodyActsForAnother == [][RunStep /\ event'.from[2] # event'.given.client => UNCHANGED cells]_vars

\* Where the layout says that a section is never contended, nobody else writes its cell.
NeverMeansNever == [][NeverContended]_vars
=================================================================================
