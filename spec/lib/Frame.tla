--------------------------------- MODULE Frame ---------------------------------
(***************************************************************************)
(* What the frame around the steps does, at the grain of the program: runs *)
(* of the XDP and TC hooks that go section by section with anything in     *)
(* between, the daemon's rare path, and the sweep with its passes and      *)
(* grace periods.                                                          *)
(*                                                                         *)
(* The program is a parameter: the constants Program... below.  A model    *)
(* puts operators of the protocol in their place, by frame.yaml:           *)
(* ProgramStep is StepOf of the generated <P>Hooks, ProgramArrived is      *)
(* Arrived of <P>Program, which stands beside the model.  The model        *)
(* extends both <P>Program and Frame, and adds its clients: see Lock.tla.  *)
(*                                                                         *)
(* (TLC evaluates what stands in place of a constant anew at each use, and *)
(* a definition made of constants once.)                                   *)
(*                                                                         *)
(* Some fields the hooks hand over to one another in the packet (HandedOver,*)
(* generated).  XDP takes them as blank, whatever a client put there, and  *)
(* writes them into what it passes to the daemon.                          *)
(*                                                                         *)
(* The network.  What was sent stays in `requests` or `answers` for ever   *)
(* and may be taken from there any number of times, at any later time, in  *)
(* any order: duplication, delay, reordering and replay.  Never to be      *)
(* taken is loss.  What XDP passed to the daemon stays in `forwarded`: a   *)
(* copy of the request could have been passed as well.  What the daemon    *)
(* sent passes TC once, any time later (it may outlive the daemon), so     *)
(* `completions` loses what TC takes.                                      *)
(*                                                                         *)
(* Strangers.  The network stack brings packets to the daemon's port that  *)
(* XDP passed by (IP options, fragments, extension headers) or never saw,  *)
(* and TC sees packets that another socket sent from that port.  In both,  *)
(* the fields that the hooks hand over are whatever the sender put there.  *)
(* A model names such packets, and they are about for ever.  Nobody serves *)
(* or completes them, because of what the program checks: ServedFrom and   *)
(* CompletedOf.                                                            *)
(*                                                                         *)
(* The daemon is one thread: it serves one packet at a time, section by    *)
(* section, in a run like those of XDP and TC.  It keeps nothing between   *)
(* two system calls except that and how far a sweep has come.  A daemon    *)
(* that is down does nothing; one that comes back sweeps from the start.   *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS
  ProgramSections(_),              \* sections of a hook: "XDP", "TC" or "User"
  ProgramStep(_, _, _, _, _),      \* (hook, at, cell, message, env): what the section does
  ProgramSweepPasses,              \* passes of the sweep, with their sections
  ProgramSweepStep(_, _, _, _, _), \* (pass, at, cell, message, env)
  ProgramTableIndex(_, _),         \* (table, message): the index of its cell
  ProgramHandedOver(_, _),         \* (message, from): the message with what hooks hand to one another, as `from` has it
  ProgramPassedOn(_, _),           \* (packet, message): what XDP passes to the daemon
  ProgramBlankMessage,
  ProgramNewTables,                \* table -> index -> cell
  ProgramLocked,                   \* tables whose cells are under a lock that whoever waits for it gets: no section of theirs loses
  ProgramArrived(_),               \* a message as a program finds it in a packet, with the local fields filled in
  ProgramAnswer(_),                \* what a client sees of a message sent to it
  ProgramValidated(_, _),          \* (message, peer): whether it shows a token that was made for the peer: env.validated
  ProgramCellOK(_, _),             \* (table, cell): whether the cell has the layout's type
  ProgramMessageOK(_),             \* whether a message has the layout's type
  \* These are for protocols whose messages have operations. Others put definitions of this module in their place: NoGroup
  \* and those behind it.
  ProgramGroup(_, _),              \* (hook, at): the group of a section, from 1; 0 for none
  ProgramGroupIsFor(_, _),         \* (group, message)
  ProgramOperations(_),            \* how many operations a message has that arrives
  ProgramOperationAt(_, _),        \* (message, number): the message as a group has it for that operation
  ProgramOwnOf(_, _),              \* (message, from): the message with what each operation has of its own, as `from` has it
  ProgramOperationDone(_, _)       \* (message, number): the message with that operation as the group has left it

CONSTANTS
  MaxRuns,       \* runs of XDP and TC in flight at once, beside the daemon's
  Contention,    \* whether sections that may be skipped ever are
  GracePeriods   \* whether the sweep waits between its passes

VARIABLES
  cells,        \* table -> index -> cell
  runs,         \* runs of XDP, of TC and of the daemon in flight, in order of arrival
  sweep,        \* how far the sweep has come
  requests,     \* packets sent by clients: [peer, message]
  forwarded,    \* packets that XDP put into the daemon's queue
  completions,  \* packets from the daemon on their way to TC
  answers,      \* packets on their way to clients
  event         \* what happened last, for the reader of a counterexample

Packet(peer, message) == [peer |-> peer, message |-> message]

\* Packets of strangers: a model puts others in the place of these.
StrangersToDaemon == {}
StrangersToTc == {}

\* The daemon reads what only XDP can write, its AF_XDP socket and the ring buffer, and no socket of the network stack.
ServedFrom(way) == way = "XDP"

\* TC compares the socket that sent a packet with the daemon's.
CompletedOf(sender) == sender = "daemon"

AtDaemon == forwarded \cup (IF ServedFrom("stack") THEN StrangersToDaemon ELSE {})
Leaving == completions \cup (IF CompletedOf("another") THEN StrangersToTc ELSE {})

Passes == ProgramSweepPasses

NoMessage == ProgramBlankMessage

BlankCells == ProgramNewTables

NoSweep == [pass |-> 0, index |-> 0, at |-> 1, continued |-> FALSE, record |-> NoMessage]

\* The last event: the step, its verdict, and the message before and after.
Event(from, to, step, verdict, given, message) ==
  [from |-> from, to |-> to, step |-> step, verdict |-> verdict, given |-> given, message |-> message]

FrameInit(initialCells) ==
  /\ cells = initialCells
  /\ runs = << >>
  /\ sweep = NoSweep
  /\ forwarded = {}
  /\ completions = {}
  /\ answers = {}
  /\ event = Event("", "", "Init", "", NoMessage, NoMessage)

(***************************************************************************)
(* Runs of XDP and TC                                                      *)
(***************************************************************************)

\* The message that XDP reads from a client's packet.
FromClient(message) == ProgramHandedOver(message, NoMessage)

\* No operations, and so no groups.
NoGroup(hook, at) == 0
NoGroupIsFor(group, message) == FALSE
NoOperations(message) == 0
NoOperationAt(message, number) == message
NoneOfItsOwn(message, from) == message
NoOperationDone(message, number) == message

\* env.terms: what the server's build is known by.  (A client of the same build says the same.)
OwnTerms == 0

\* A packet arrives at a hook, on a processor.  `old` is set when a grace period begins.  `age` of the tables: only the
\* daemon's runs know it.  Within a group, `operation` is the number of the one that it is at, and `head` is the message
\* as it was before the group.
NewRun(hook, packet, now, random, cpu) ==
  [hook |-> hook, at |-> 1, operation |-> 0, head |-> NoMessage, peer |-> packet.peer, packet |-> packet.message,
   message |-> ProgramArrived(IF hook = "XDP" THEN FromClient(packet.message) ELSE packet.message),
   now |-> now, random |-> random, cpu |-> cpu, age |-> 0, old |-> FALSE]

SectionOf(run) == ProgramSections(run.hook)[run.at]

\* The run, about to enter the section with a step: for models of one section alone.
Before(step, run) ==
  LET sections == ProgramSections(run.hook)
  IN  [run EXCEPT !.at = CHOOSE at \in DOMAIN sections : sections[at].step = step]

IndexOf(run) == ProgramTableIndex(SectionOf(run).table, run.message)

SectionResult(run) ==
  LET table == cells[SectionOf(run).table]
      index == IndexOf(run)
      env == [position |-> IF run.operation = 0 THEN 0 ELSE run.operation - 1,
              now |-> run.now, random |-> run.random, cpu |-> run.cpu, age |-> run.age, terms |-> OwnTerms, index |-> index,
              peer |-> run.peer, token |-> run.random, validated |-> ProgramValidated(run.packet, run.peer)]
  IN  IF run.hook = "User" /\ SectionOf(run).reads = "table"
        THEN ProgramStep(run.hook, run.at, table, run.message, env)
        ELSE ProgramStep(run.hook, run.at, table[index], run.message, env)

\* How many operations came with the run's packet.
OperationCount(run) == ProgramOperations(run.packet)

GroupAt(run) == ProgramGroup(run.hook, run.at)

\* The message, as a group has it for one of its operations.
ForOperation(message, number) == ProgramOwnOf(message, ProgramArrived(ProgramOperationAt(message, number)))

\* The run comes to a section with a message.  A group that is not for it is left out.
RECURSIVE EnterAt(_, _, _)
EnterAt(run, at, message) ==
  LET group == ProgramGroup(run.hook, at)
  IN  CASE group = 0 -> [run EXCEPT !.at = at, !.message = message]
        [] OperationCount(run) > 0 /\ ProgramGroupIsFor(group, message) ->
             [run EXCEPT !.at = at, !.operation = 1, !.head = message, !.message = ForOperation(message, 1)]
        [] OTHER -> EnterAt(run, at + 1, message)

\* The run goes on with a message: to the next section, or in a group to the next operation.
GoesOn(run, message) ==
  LET group == GroupAt(run)
      first == CHOOSE at \in 1..run.at : /\ ProgramGroup(run.hook, at) = group
                                         /\ at = 1 \/ ProgramGroup(run.hook, at - 1) # group
      done == ProgramOperationDone(message, run.operation)
  IN  CASE group = 0 -> EnterAt(run, run.at + 1, message)
        [] ProgramGroup(run.hook, run.at + 1) = group -> [run EXCEPT !.at = @ + 1, !.message = message]
        [] run.operation < OperationCount(run) ->
             [run EXCEPT !.at = first, !.operation = @ + 1, !.message = ForOperation(done, run.operation + 1)]
        [] OTHER ->
             EnterAt([run EXCEPT !.operation = 0, !.head = NoMessage], run.at + 1, ProgramOwnOf(done, run.head))

\* The effect of a section's result on its run: the rest of the run, the messages
\* sent, and the event for the reader.  "Skip" is the verdict of a section that
\* lost its races: the run goes on.
Outcome(run, result) ==
  LET section == SectionOf(run)
      last == run.at = Len(ProgramSections(run.hook))
      ends == last \/ result.verdict \notin {"Continue", "Skip"}
      daemon == run.hook = "User"
  IN  [rest |-> IF ends THEN << >> ELSE << GoesOn(run, result.msg) >>,
       answers |-> IF result.verdict = "Reply" /\ ~ daemon THEN {Packet(run.peer, ProgramAnswer(result.msg))} ELSE {},
       forwarded |-> IF result.verdict = "Forward" /\ run.hook = "XDP" /\ OperationCount(run) = 0
                       THEN {Packet(run.peer, ProgramPassedOn(run.packet, result.msg))} ELSE {},
       event |-> Event(IF daemon THEN "daemon" ELSE <<run.hook, run.peer>>,
                       IF daemon /\ ends THEN <<"TC", run.peer>> ELSE <<section.table, IndexOf(run)>>,
                       IF daemon /\ ends THEN "UserStep" ELSE section.step,
                       IF last /\ result.verdict = "Continue" THEN "Drop" ELSE result.verdict, run.message, result.msg)]

\* `Others(next)` puts the run back where it was, if it goes on.  (In an action
\* TLC evaluates what a LET defines anew at each use, and also an operator's
\* argument when it asks what is enabled, but once what is bound as the element
\* of a set.)
Proceed(run, result, Others(_)) ==
  \E outcome \in {Outcome(run, result)} :
    /\ runs' = Others(outcome.rest)
    /\ answers' = answers \cup outcome.answers
    /\ forwarded' = forwarded \cup outcome.forwarded
    /\ event' = outcome.event

\* Some sections of the daemon only read.
Steps(run) == run.hook # "User" \/ SectionOf(run).reads = "none"

\* A message of the daemon goes to TC, beside others on their way there.
Executed(run, result, Others(_), underway) ==
  /\ cells' = IF Steps(run) THEN [cells EXCEPT ![SectionOf(run).table][IndexOf(run)] = result.cell] ELSE cells
  /\ completions' = IF run.hook = "User" /\ result.verdict = "Reply"
                      THEN underway \cup {Packet(run.peer, ProgramArrived(result.msg))}
                      ELSE underway
  /\ Proceed(run, result, Others)

Execute(run, Others(_), underway) ==
  \E result \in {SectionResult(run)} : Executed(run, result, Others, underway)

KernelRuns == SelectSeq(runs, LAMBDA run : run.hook # "User")

DaemonRuns == \E r \in 1..Len(runs) : runs[r].hook = "User"

\* A packet arrives, and its run executes the first section: until then it
\* could as well have been on its way.  (A first section that loses its races
\* drops the packet, which is no more than the network can do.)
ArriveOn(cpu, hook, packet, now, underway) ==
  /\ Len(KernelRuns) < MaxRuns
  /\ \E run \in {NewRun(hook, packet, now, 0, cpu)} : Execute(EnterAt(run, 1, run.message), LAMBDA next : runs \o next, underway)

\* For steps that do not ask for the processor.
Arrive(hook, packet, now, underway) == ArriveOn(0, hook, packet, now, underway)

ArriveAtXdpOn(cpu, packet, now) ==
  /\ packet \in requests
  /\ ArriveOn(cpu, "XDP", packet, now, completions)
  /\ UNCHANGED <<sweep, requests>>

ArriveAtXdp(packet, now) == ArriveAtXdpOn(0, packet, now)

ArriveAtTc(packet, now) ==
  /\ packet \in Leaving
  /\ Arrive("TC", packet, now, completions \ {packet})
  /\ UNCHANGED <<sweep, requests>>

InPlace(r, next) == SubSeq(runs, 1, r - 1) \o next \o SubSeq(runs, r + 1, Len(runs))

\* Run r executes its next section.
RunSection(r) ==
  /\ r <= Len(runs)
  /\ Execute(runs[r], LAMBDA next : InPlace(r, next), completions)
  /\ UNCHANGED <<sweep, requests>>

InSweepSection == sweep.at > 1

\* Run r loses its races for a section that may be skipped, which takes somebody
\* to lose against.  A section that drops the packet has changed nothing and is
\* left out, like a packet that never came.
SkipSection(r) ==
  /\ Contention
  /\ r <= Len(runs)
  /\ SectionOf(runs[r]).contended = "skip"
  /\ SectionOf(runs[r]).table \notin ProgramLocked
  /\ Len(runs) > 1 \/ sweep.pass > 0
  /\ LET run == runs[r]
     IN  Proceed(run, [verdict |-> "Skip", msg |-> run.message], LAMBDA next : InPlace(r, next))
  /\ UNCHANGED <<cells, sweep, requests, completions>>

(***************************************************************************)
(* The daemon                                                              *)
(***************************************************************************)

\* One packet of the rare path: decide from the tables, send the answer.  (What
\* the daemon says again while it is on its way is left out: it changes no table
\* and no packet.  Neither does what it drops, but that is an event.)
ServeForwarded(packet, env) ==
  /\ packet \in AtDaemon
  /\ ~ DaemonRuns
  /\ \E run \in {[NewRun("User", packet, env.now, env.random, 0) EXCEPT !.age = env.age]} :
       \E result \in {SectionResult(run)} :
         /\ Executed(run, result, LAMBDA next : runs \o next, completions)
         /\ result.verdict = "Drop" \/ <<cells, runs, completions>>' # <<cells, runs, completions>>
  /\ UNCHANGED <<sweep, requests>>

Pass(sweeping) == Passes[sweeping.pass]

\* The swept cell itself, and of other tables the one that the record names.
SweptIndex(sweeping) ==
  LET table == Pass(sweeping).sections[sweeping.at].table
  IN  IF table = Pass(sweeping).each THEN sweeping.index ELSE ProgramTableIndex(table, sweeping.record)

\* The sweep as it goes on after its section said `verdict`: to the next section,
\* the next index, the next pass, or home.
SweepAfter(sweeping, verdict, record) ==
  LET pass == Pass(sweeping)
      goesOn == verdict = "Continue"
      continued == sweeping.continued \/ (goesOn /\ sweeping.at = Len(pass.sections))
      over == sweeping.pass = Len(Passes) \/ (sweeping.pass = 1 /\ ~ continued)
  IN  CASE goesOn /\ sweeping.at < Len(pass.sections) ->
             [sweeping EXCEPT !.at = @ + 1, !.record = record]
        [] sweeping.index + 1 \in DOMAIN cells[pass.each] ->
             [sweeping EXCEPT !.index = @ + 1, !.at = 1, !.continued = continued, !.record = record]
        [] over -> NoSweep
        [] OTHER ->
             [sweeping EXCEPT !.pass = @ + 1, !.index = 0, !.at = 1, !.continued = FALSE, !.record = record]

\* A grace period has passed when all runs that were in flight at its beginning
\* have ended.
Graceful(sweeping) == sweeping.index = 0 /\ sweeping.at = 1 => \A r \in 1..Len(runs) : ~ runs[r].old

SweepProceeds(sweeping, verdict, record, section, index) ==
  LET next == SweepAfter(sweeping, verdict, record)
  IN  /\ sweep' = next
      /\ runs' = IF GracePeriods /\ next.pass > sweeping.pass
                   THEN [r \in 1..Len(runs) |-> [runs[r] EXCEPT !.old = TRUE]]
                   ELSE runs
      /\ event' = Event("sweep", <<section.table, index>>, section.step, verdict, sweeping.record, record)
      /\ UNCHANGED <<requests, forwarded, completions, answers>>

\* The sweep runs one section.  Now(index) is the time that it sees.  (A section
\* that loses its races and drops is tried again.)
SweepFrom(sweeping, Now(_), Begins(_)) ==
  \E section \in {Pass(sweeping).sections[sweeping.at]}, index \in {SweptIndex(sweeping)} :
    \E result \in {ProgramSweepStep(sweeping.pass, sweeping.at, cells[section.table][index], sweeping.record,
                             [now |-> Now(index), index |-> index])} :
      /\ Begins(result)
      /\ cells' = [cells EXCEPT ![section.table][index] = result.cell]
      /\ SweepProceeds(sweeping, result.verdict, result.msg, section, index)

SweepSection(Now(_)) ==
  /\ sweep.pass > 0
  /\ ~ DaemonRuns
  /\ Graceful(sweep)
  /\ SweepFrom(sweep, Now, LAMBDA result : TRUE)

\* A sweep begins with the first index that has something to do for it: what the
\* earlier ones have to do came up after they were visited.
SweepBegins(index, Now(_)) ==
  /\ sweep.pass = 0
  /\ ~ DaemonRuns
  /\ index \in DOMAIN cells[Passes[1].each]
  /\ SweepFrom([sweep EXCEPT !.pass = 1, !.index = index], Now,
               LAMBDA result : result.verdict = "Continue")

SkipSweepSection ==
  /\ Contention
  /\ InSweepSection
  /\ Len(runs) > 0
  /\ LET section == Pass(sweep).sections[sweep.at]
     IN  /\ section.contended = "skip"
         /\ section.table \notin ProgramLocked
         /\ SweepProceeds(sweep, "Continue", sweep.record, section, SweptIndex(sweep))
  /\ UNCHANGED cells

\* kill -9, between two system calls: a program run for the sweep ends first.
Crash ==
  /\ sweep.pass > 0 \/ DaemonRuns
  /\ ~ InSweepSection
  /\ sweep' = NoSweep
  /\ runs' = KernelRuns
  /\ event' = Event("daemon", "daemon", "Crash", "", NoMessage, NoMessage)
  /\ UNCHANGED <<cells, requests, forwarded, completions, answers>>

(***************************************************************************)
(* Clients                                                                 *)
(***************************************************************************)

\* The part of a client's action that is the network's: sending.  Packets for
\* which Keeps is false have been in the network for too long, and are gone.
Send(packet, Keeps(_)) ==
  /\ requests' = {other \in requests : Keeps(other)} \cup {packet}
  /\ forwarded' = {other \in forwarded : Keeps(other)}
  /\ completions' = {other \in completions : Keeps(other)}
  /\ answers' = {other \in answers : Keeps(other)}
  /\ event' = Event(<<"client", packet.peer>>, "XDP", "Send", "", packet.message, packet.message)
  /\ UNCHANGED <<cells, runs, sweep>>

\* A client takes a packet, or acts on its own.
FrameUnchanged == UNCHANGED <<cells, runs, sweep, requests, forwarded, completions, answers>>

(***************************************************************************)
(* Invariants of every protocol *)
(***************************************************************************)

\* A section whose layout says that it is never contended: while somebody is
\* about to write its cell there, nobody else does.  (A section that leaves the
\* cell as it was has nothing to lose: looked at last, as it takes the longest.)
NeverContended == cells' # cells =>
  /\ \A r \in 1..Len(runs) :
       LET section == SectionOf(runs[r])
           cell == cells[section.table][IndexOf(runs[r])]
       IN  /\ section.contended = "never"
           /\ section.table \notin ProgramLocked
           /\ cells'[section.table][IndexOf(runs[r])] # cell
           /\ \E i \in 1..Len(runs') : [runs'[i] EXCEPT !.old = runs[r].old] = runs[r]  \* a grace period may begin meanwhile
           => SectionResult(runs[r]).cell = cell
  /\ sweep.pass > 0 /\ sweep' = sweep =>
       LET section == Pass(sweep).sections[sweep.at]
           index == SweptIndex(sweep)
       IN  section.contended = "never" /\ section.table \notin ProgramLocked
             => cells'[section.table][index] = cells[section.table][index]

\* Every cell, and every message of a run, of the sweep or in flight, has the type that the layout gives it.
TypeOK ==
  /\ \A table \in DOMAIN cells : \A index \in DOMAIN cells[table] : ProgramCellOK(table, cells[table][index])
  /\ \A packet \in requests : ProgramMessageOK(packet.message)
  /\ \A packet \in forwarded : ProgramMessageOK(packet.message)
  /\ \A packet \in completions : ProgramMessageOK(packet.message)
  /\ \A packet \in answers : ProgramMessageOK(packet.message)
  /\ \A r \in 1..Len(runs) : ProgramMessageOK(runs[r].message)
  /\ ProgramMessageOK(sweep.record)

NobodyInFlight == runs = << >> /\ sweep = NoSweep
================================================================================
