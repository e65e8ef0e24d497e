----------------------------------- MODULE Log -----------------------------------
(***************************************************************************)
(* The log in its world: clients, a network that loses, repeats, delays    *)
(* and reorders, packets that come in on any processor, runs of the        *)
(* programs section by section, a daemon that drains and may die at any    *)
(* point, a disk that has what was synced and of the rest anything, and a  *)
(* machine that may lose its memory.  What every protocol has in common is *)
(* in Frame; here are the clients and the daemon's drain.  LogGuarantees   *)
(* says what clients may rely on.                                          *)
(*                                                                         *)
(* The disk is a row of segments.  Only the last one is written to, and    *)
(* another is begun only when all of the last is synced: so nothing but    *)
(* the tail of the last one can be torn.  An entry that was not synced     *)
(* when the machine went down is there, or is torn, or is not there, each  *)
(* for itself: the disk writes pages in any order.  Torn entries are       *)
(* recognised (by their checksums: that these always tell is assumed).     *)
(*                                                                         *)
(* How sessions are opened, and how they end, is Session's; here a client  *)
(* whose session the machine has lost has another one in a single step.    *)
(***************************************************************************)
EXTENDS LogProgram, Frame

CONSTANTS
  Levels,             \* what clients ask for: a set for each
  Gathers,            \* how many records they append at once: a set for each, where 1 is an append
  Syncs,              \* clients that ask whether what they appended is on the disk
  MaxAsks,            \* requests of each client in one session
  MaxOpens,           \* sessions that a client opens after its first
  Batch,              \* records that the daemon takes before it writes
  SegmentSize,        \* entries that a segment has before another is begun
  MaxDaemonCrashes,   \* bounds for all three: more of them would lead to nothing new
  MaxMachineCrashes,
  MaxDiskFailures,
  Truncates,          \* whether segments are applied elsewhere and then removed
  Forged,             \* packets of others that are about from the start
  Replays             \* whether packets stay in the network when their client has moved on

VARIABLES
  clients,   \* what each client knows
  daemon,    \* what the daemon knows, and loses when it dies
  segments,  \* files as they would be read now
  store,     \* of each key, what was applied elsewhere before a segment was removed
  crashes,   \* of the daemon, of the machine, and how often the disk failed
  given,     \* every number that was ever given, and for which request
  told       \* every answer that was ever sent

network == <<requests, forwarded, completions, answers>>
model == <<clients, daemon, segments, store, crashes, given, told>>
vars == <<cells, runs, sweep, network, model, event>>

\* The state without the reader's comment on it.
View == <<cells, runs, sweep, network, model>>

AllLogs == 0..(Logs - 1)

\* Packets come in on these. A model puts others in the place of them.
Processors == AllLogs

NoRequest == [BlankMessage EXCEPT !.kind = "None"]

(***************************************************************************)
(* Clients.  Each has a key of its own, and writes it with ever newer      *)
(* versions: what it appends is known by its number and the version.       *)
(***************************************************************************)

RecordOf(client, version) ==
  [transaction |-> 10 + version, key |-> client, version |-> version, deletes |-> version % 3 = 1,
   length |-> 20 + version, value |-> 100 * (client + 1) + version]

\* The version of a request's record, by its position there, from 1.
VersionOf(sequence, position) == (sequence - 1) * Operations + position

FirstSequence(client, opens) == opens * (MaxAsks[client] + 1)

SecretOf(client, opens) == 1 + client + opens * Cardinality(Clients)

\* sequence: of the last request.  waiting: the outstanding one.  place: the last answer with a place in memory, until the
\* answer to a Sync.  syncing: the outstanding Sync.
InitialClient(client) ==
  [opens |-> 0, sequence |-> 0, waiting |-> NoRequest, place |-> NoRequest, syncing |-> NoRequest]

SessionOf(client, opens) ==
  [state |-> "Idle", sequence |-> FirstSequence(client, opens), outcome |-> "Opened", deadline |-> Extended(0)]

InitialCells ==
  [BlankCells EXCEPT
    !.session = [client \in DOMAIN @ |-> SessionOf(client, 0)],
    !.credential = [client \in DOMAIN @ |-> [secret |-> SecretOf(client, 0)]],
    !.drained = [log \in DOMAIN @ |-> [epoch |-> 1, number |-> 0]],
    !.synced = [log \in DOMAIN @ |-> [epoch |-> 1, number |-> 0]]]

\* durable: how many entries are on the disk.  lost: whether the kernel has given up
\* what is not, and whether it has said so: see Fails.
Segment(epoch) == [epoch |-> epoch, entries |-> << >>, durable |-> 0, lost |-> "No", applied |-> FALSE]

NoNumbers == [log \in AllLogs |-> 0]

NoSync == -1

\* epoch: of the memory.  looked: the record whose stamp was seen, if any.
\* buffer: what was taken.  written: of each log, the last number in the files.
\* syncing: how much of the segment the sync under way is sure to cover.
\* covered, durable: written, when it began, and when the last one did.
Daemon(epoch, written) ==
  [up |-> TRUE, epoch |-> epoch, looked |-> << >>, buffer |-> << >>, written |-> written,
   syncing |-> NoSync, covered |-> written, durable |-> written]

NoDaemon == [Daemon(0, NoNumbers) EXCEPT !.up = FALSE]

Init ==
  /\ FrameInit(InitialCells)
  /\ requests = Forged
  /\ clients = [client \in Clients |-> InitialClient(client)]
  /\ daemon = Daemon(1, NoNumbers)
  /\ segments = <<Segment(1)>>
  /\ store = [client \in Clients |-> InitialCell("entry")]
  /\ crashes = [daemon |-> 0, machine |-> 0, disk |-> 0]
  /\ given = {}
  /\ told = {}

\* The network may still deliver these when a client sends.
Keeps(client, packet) == Replays \/ packet.peer # client

RequestOf(client, level, sequence, secret) ==
  LET record == RecordOf(client, VersionOf(sequence, 1))
  IN  [BlankMessage EXCEPT !.kind = "Append", !.client = client, !.sequence = sequence, !.secret = secret, !.level = level,
                           !.transaction = record.transaction, !.key = record.key, !.version = record.version,
                           !.deletes = record.deletes, !.length = record.length, !.value = record.value]

Request(client, level, sequence) == RequestOf(client, level, sequence, SecretOf(client, clients[client].opens))

MayAsk(client) == clients[client].sequence < FirstSequence(client, clients[client].opens) + MaxAsks[client]

AskFor(client, message) ==
  /\ clients[client].waiting = NoRequest
  /\ MayAsk(client)
  /\ clients' = [clients EXCEPT ![client].sequence = message.sequence, ![client].waiting = message]
  /\ Send(Packet(client, message), LAMBDA packet : Keeps(client, packet))

Ask(client, level) ==
  /\ level \in Levels[client]
  /\ 1 \in Gathers[client]
  /\ AskFor(client, Request(client, level, NextSequence(clients[client].sequence)))

GatherOf(client, count, sequence, secret) ==
  [BlankMessage EXCEPT !.kind = "Gather", !.client = client, !.sequence = sequence, !.secret = secret, !.count = count,
                       !.operations = [i \in 1..count |-> RecordOf(client, VersionOf(sequence, i))]]

\* Several records at once.
AskGather(client, count) ==
  /\ count \in Gathers[client]
  /\ AskFor(client, GatherOf(client, count, NextSequence(clients[client].sequence), SecretOf(client, clients[client].opens)))

\* Is that place on the disk?  All before it are, then.  A client may also ask that in its next session.
AskSync(client) ==
  LET k == clients[client]
      message == [BlankMessage EXCEPT !.kind = "Sync", !.client = client, !.sequence = k.sequence,
                                      !.secret = SecretOf(client, k.opens),
                                      !.epoch = k.place.epoch, !.log = k.place.log, !.number = k.place.number]
  IN  /\ client \in Syncs
      /\ k.place # NoRequest
      /\ k.syncing = NoRequest
      /\ clients' = [clients EXCEPT ![client].syncing = message]
      /\ Send(Packet(client, message), LAMBDA packet : Keeps(client, packet))

\* An answer belongs to the outstanding request if it says so.
Belongs(answer, request) ==
  /\ request # NoRequest
  /\ answer.client = request.client
  /\ answer.sequence = request.sequence
  /\ answer.secret = request.secret

Receive(client, packet) ==
  /\ packet.peer = client
  /\ packet.message.kind \in Answers
  /\ Belongs(packet.message, clients[client].waiting)
  /\ clients' = [clients EXCEPT ![client].waiting = NoRequest,
                                ![client].place = IF client \in Syncs /\ packet.message.kind \in {"Appended", "Gathered"} THEN packet.message ELSE @]
  /\ event' = Event("network", <<"client", client>>, "Receive", "", packet.message, packet.message)
  /\ FrameUnchanged

ReceiveSynced(client, packet) ==
  /\ packet.peer = client
  /\ packet.message.kind \in ReadAnswers
  /\ Belongs(packet.message, clients[client].syncing)
  /\ clients' = [clients EXCEPT ![client].syncing = NoRequest, ![client].place = NoRequest]
  /\ event' = Event("network", <<"client", client>>, "Receive", "", packet.message, packet.message)
  /\ FrameUnchanged

\* A session that the machine has lost. Nobody knows what became of its last request.
OpenAgain(client) ==
  LET opens == clients[client].opens + 1
  IN  /\ daemon.up
      /\ cells.session[client].state = "Vacant"
      /\ opens <= MaxOpens
      /\ cells' = [cells EXCEPT !.session[client] = SessionOf(client, opens),
                                !.credential[client] = [secret |-> SecretOf(client, opens)]]
      /\ clients' = [clients EXCEPT ![client] =
                       [InitialClient(client) EXCEPT !.opens = opens, !.sequence = FirstSequence(client, opens),
                                                     !.place = clients[client].place]]
      /\ event' = Event("daemon", <<"client", client>>, "OpenAgain", "", BlankMessage, BlankMessage)
      /\ UNCHANGED <<runs, sweep, network>>

ClientActs(client) ==
  /\ \/ \E level \in Levels[client] : Ask(client, level)
     \/ \E count \in Gathers[client] \ {1} : AskGather(client, count)
     \/ AskSync(client)
     \/ \E packet \in answers : Receive(client, packet) \/ ReceiveSynced(client, packet)
     \/ OpenAgain(client)
  /\ UNCHANGED <<daemon, segments, store, crashes, given, told>>

(***************************************************************************)
(* Files                                                                   *)
(***************************************************************************)

LastSegment == Len(segments)

Current == segments[LastSegment]

Torn(entry) == [entry EXCEPT !.whole = FALSE, !.record.value = 0]

IsWhole(entries) == \A i \in DOMAIN entries : entries[i].whole

\* All before the first entry that is torn.
Cut(entries) ==
  LET torn == {i \in DOMAIN entries : ~ entries[i].whole}
  IN  IF torn = {} THEN entries ELSE SubSeq(entries, 1, (CHOOSE i \in torn : \A j \in torn : i <= j) - 1)

\* The entries that a reader uses: in the last segment, all before its torn tail.
Readable(files) == [s \in DOMAIN files |-> IF s = Len(files) THEN Cut(files[s].entries) ELSE files[s].entries]

\* The entries that certainly survive if the machine goes down now.
Certain(files) == [s \in DOMAIN files |-> Cut(SubSeq(files[s].entries, 1, files[s].durable))]

RECURSIVE All(_, _)
All(rows, s) == IF s > Len(rows) THEN << >> ELSE rows[s] \o All(rows, s + 1)

\* The result of a step of recovery: what becomes of a key's row with another entry.
WithEntry(row, entry) ==
  Newer(row, [BlankMessage EXCEPT !.version = entry.record.version, !.deletes = entry.record.deletes,
                                  !.length = entry.record.length, !.value = entry.record.value])

RECURSIVE Replayed(_, _, _)
Replayed(known, entries, i) ==
  IF i > Len(entries)
    THEN known
    ELSE LET key == entries[i].record.key
             result == WithEntry(known[key], entries[i])
         IN  Replayed(IF result.verdict = "Continue" THEN [known EXCEPT ![key] = result.cell] ELSE known, entries, i + 1)

\* The result of recovery from entries: the newest row of each key.
Recovered(rows) == Replayed(store, All(rows, 1), 1)

OfLog(rows, epoch, log) == SelectSeq(All(rows, 1), LAMBDA entry : entry.epoch = epoch /\ entry.log = log)

LastInFiles(rows, epoch, log) ==
  LET found == OfLog(rows, epoch, log)
  IN  IF found = << >> THEN 0 ELSE found[Len(found)].number

(***************************************************************************)
(* The daemon's drain: the steps of LogSteps, in the order that the frame  *)
(* gives them, with everything that may come in between.                   *)
(***************************************************************************)

\* An action of the daemon alone.
Acts(what, log) ==
  /\ daemon.up
  /\ event' = Event("daemon", <<"log", log>>, what, "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<runs, sweep, network, clients, store, crashes, given, told>>

\* Files have nothing that `drained` does not say.
AllReached == \A log \in AllLogs : daemon.written[log] <= cells.drained[log].number

Taken(log) == {i \in DOMAIN daemon.buffer : daemon.buffer[i].log = log}

LastTaken(log) ==
  IF Taken(log) = {} THEN 0 ELSE daemon.buffer[CHOOSE i \in Taken(log) : \A j \in Taken(log) : j <= i].number

\* The record that the drain asks for next.
NextOf(log) == DrainStep(1, cells.drained[log], [BlankMessage EXCEPT !.log = log, !.number = LastTaken(log)])

MayLook == daemon.looked = << >> /\ Len(daemon.buffer) < Batch /\ AllReached

\* The next record's stamp is there.
Looks(log) ==
  /\ Acts("Look", log)
  /\ MayLook
  /\ LET next == NextOf(log)
     IN  /\ next.verdict = "Continue"
         /\ LET look == DrainStep(2, cells.stamp[next.msg.slot], next.msg)
            IN  /\ look.verdict = "Continue"
                /\ daemon' = [daemon EXCEPT !.looked = <<look.msg>>]
  /\ UNCHANGED <<cells, segments>>

EntryOf(message) ==
  [epoch |-> message.epoch, log |-> message.log, number |-> message.number, whole |-> TRUE,
   record |-> [transaction |-> message.transaction, key |-> message.key, version |-> message.version,
               deletes |-> message.deletes, length |-> message.length, value |-> message.value]]

Takes ==
  /\ daemon.looked # << >>
  /\ Acts("Take", daemon.looked[1].log)
  /\ LET took == DrainStep(3, cells.record[daemon.looked[1].slot], daemon.looked[1])
     IN  /\ took.verdict = "Reply"
         /\ daemon' = [daemon EXCEPT !.looked = << >>, !.buffer = Append(@, EntryOf(took.msg))]
  /\ UNCHANGED <<cells, segments>>

\* write(): from here on the record outlives the daemon.
MayWrite == daemon.buffer # << >>

Writes ==
  /\ Acts("Write", 0)
  /\ daemon.looked = << >>
  /\ MayWrite
  /\ segments' = [segments EXCEPT ![LastSegment].entries = @ \o daemon.buffer]
  /\ daemon' = [daemon EXCEPT !.buffer = << >>,
                              !.written = [log \in AllLogs |-> IF LastTaken(log) = 0 THEN @[log] ELSE LastTaken(log)]]
  /\ UNCHANGED cells

MarkOf(log, number) == [BlankMessage EXCEPT !.log = log, !.epoch = daemon.epoch, !.number = number]

\* The last number whose record outlives the daemon.
Outlives(log) == daemon.written[log]

\* The slots are free for other records.
ReachesWritten(log) ==
  LET result == Reached(cells.drained[log], MarkOf(log, Outlives(log)))
  IN  /\ Acts("Drained", log)
      /\ result.verdict = "Continue"
      /\ cells' = [cells EXCEPT !.drained[log] = result.cell]
      /\ UNCHANGED <<daemon, segments>>

\* fdatasync(), which may take a while: it covers what was written before.
BeginsSync ==
  /\ Acts("BeginSync", 0)
  /\ daemon.syncing = NoSync
  /\ Len(Current.entries) > Current.durable
  /\ daemon' = [daemon EXCEPT !.syncing = Len(Current.entries), !.covered = daemon.written]
  /\ UNCHANGED <<cells, segments>>

SurelySynced == daemon.covered

EndsSync ==
  /\ Acts("EndSync", 0)
  /\ daemon.syncing # NoSync
  /\ Current.lost # "Unsaid"
  /\ segments' = IF Current.lost = "No" THEN [segments EXCEPT ![LastSegment].durable = daemon.syncing] ELSE segments
  /\ daemon' = [daemon EXCEPT !.syncing = NoSync, !.durable = SurelySynced]
  /\ UNCHANGED cells

ReachesSynced(log) ==
  LET result == Reached(cells.synced[log], MarkOf(log, daemon.durable[log]))
  IN  /\ Acts("Synced", log)
      /\ result.verdict = "Continue"
      /\ cells' = [cells EXCEPT !.synced[log] = result.cell]
      /\ UNCHANGED <<daemon, segments>>

\* A segment ends when all of it is synced, also what comes after it in no other file.
Ended == Current.durable = Len(Current.entries)

Rotates ==
  /\ Acts("Rotate", 0)
  /\ Len(Current.entries) >= SegmentSize
  /\ daemon.syncing = NoSync
  /\ Ended
  /\ segments' = Append(segments, Segment(daemon.epoch))
  /\ UNCHANGED <<cells, daemon>>

(***************************************************************************)
(* The daemon begins: it cuts the torn tail, also of a write() that its    *)
(* own death cut short, copies and syncs what is left, and asks the files  *)
(* how far the log has come.  Where the memory is new, it begins an epoch. *)
(***************************************************************************)

EpochOfMemory == LET epochs == {cells.synced[log].epoch : log \in AllLogs} IN CHOOSE e \in epochs : \A f \in epochs : f <= e

EpochsOfFiles ==
  {segments[s].epoch : s \in DOMAIN segments}
  \cup UNION {{segments[s].entries[i].epoch : i \in DOMAIN segments[s].entries} : s \in DOMAIN segments}

NextEpoch == 1 + CHOOSE e \in EpochsOfFiles : \A f \in EpochsOfFiles : f <= e

\* What is left is copied to another file, which is synced and takes the place of this one: what the kernel has given up
\* of this one, without a word to a daemon that was not there, it still shows.
TrimTail(segment) == [segment EXCEPT !.entries = Cut(@), !.durable = Len(Cut(segment.entries)), !.lost = "No"]

Trimmed == [segments EXCEPT ![LastSegment] = TrimTail(@)]

\* The file of a new epoch is on the disk before anything is said in its name.
FilesAtStart == IF EpochOfMemory = 0 THEN Append(Trimmed, Segment(NextEpoch)) ELSE Trimmed

WrittenAtStart(epoch) == [log \in AllLogs |-> LastInFiles(Readable(Trimmed), epoch, log)]

Starts ==
  LET epoch == IF EpochOfMemory = 0 THEN NextEpoch ELSE EpochOfMemory
  IN  /\ ~ daemon.up
      /\ segments' = FilesAtStart
      /\ daemon' = Daemon(epoch, WrittenAtStart(epoch))
      /\ event' = Event("daemon", "daemon", "Start", "", BlankMessage, BlankMessage)
      /\ UNCHANGED <<cells, runs, sweep, network, clients, store, crashes, given, told>>

BeginsEpoch(table, log) ==
  LET result == Begun(cells[table][log], MarkOf(log, 0))
  IN  /\ Acts("Begin", log)
      /\ result.verdict = "Continue"
      /\ table = "drained" => \A other \in AllLogs : cells.synced[other].epoch # 0
      /\ cells' = [cells EXCEPT ![table][log] = result.cell]
      /\ UNCHANGED <<daemon, segments>>

DrainActs ==
  \/ \E log \in AllLogs : Looks(log) \/ ReachesWritten(log) \/ ReachesSynced(log)
  \/ \E log \in AllLogs, table \in {"synced", "drained"} : BeginsEpoch(table, log)
  \/ Takes \/ Writes \/ BeginsSync \/ EndsSync \/ Rotates \/ Starts

(***************************************************************************)
(* An explicit command: what a segment holds is applied elsewhere, safely, *)
(* and then it is removed.  The last one never is.                         *)
(***************************************************************************)

Applies ==
  /\ LastSegment > 1
  /\ ~ segments[1].applied
  /\ store' = Replayed(store, segments[1].entries, 1)
  /\ segments' = [segments EXCEPT ![1].applied = TRUE]

MayRemove(segment) == segment.applied

Removes ==
  /\ LastSegment > 1
  /\ MayRemove(segments[1])
  /\ segments' = Tail(segments)
  /\ UNCHANGED store

CommandActs ==
  /\ Truncates
  /\ Applies \/ Removes
  /\ event' = Event("daemon", "daemon", "Truncate", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<cells, runs, sweep, network, clients, daemon, crashes, given, told>>

(***************************************************************************)
(* Crashes                                                                 *)
(***************************************************************************)

\* A write() that is cut short leaves what it has written.
WriteCutShort ==
  LET buffer == daemon.buffer
  IN  IF daemon.looked # << >>
        THEN {Current.entries}
        ELSE {Current.entries}
             \cup {Current.entries \o SubSeq(buffer, 1, n) \o <<Torn(buffer[n + 1])>> : n \in 0..(Len(buffer) - 1)}

DaemonCrashes ==
  /\ daemon.up
  /\ crashes.daemon < MaxDaemonCrashes
  /\ crashes' = [crashes EXCEPT !.daemon = @ + 1]
  /\ \E entries \in WriteCutShort : segments' = [segments EXCEPT ![LastSegment].entries = entries]
  /\ daemon' = NoDaemon
  /\ runs' = KernelRuns
  /\ event' = Event("daemon", "daemon", "Crash", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<cells, sweep, network, clients, store, given, told>>

\* The disk fails: what was not yet synced will not be there after the machine has gone down, and is there until then.  The
\* next sync says so, once, to who has the file open; another one after that says that all is well.
Fails ==
  /\ crashes.disk < MaxDiskFailures
  /\ Current.durable < Len(Current.entries)
  /\ Current.lost = "No"
  /\ crashes' = [crashes EXCEPT !.disk = @ + 1]
  /\ segments' = [segments EXCEPT ![LastSegment].lost = "Unsaid"]
  /\ event' = Event("daemon", "daemon", "DiskFails", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<cells, runs, sweep, network, clients, daemon, store, given, told>>

\* A daemon that gets a signal ends.
DaemonGivesUp == NoDaemon

SyncFails ==
  /\ daemon.up
  /\ daemon.syncing # NoSync
  /\ Current.lost = "Unsaid"
  /\ segments' = [segments EXCEPT ![LastSegment].lost = "Said"]
  /\ daemon' = DaemonGivesUp
  /\ runs' = IF daemon'.up THEN runs ELSE KernelRuns
  /\ event' = Event("daemon", "daemon", "SyncFails", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<cells, sweep, network, clients, store, crashes, given, told>>

\* The possible content of a segment.
Remains(segment) ==
  UNION {{[segment EXCEPT !.lost = "No", !.entries = [i \in 1..last |-> IF i \in torn THEN Torn(@[i]) ELSE @[i]]] :
            torn \in SUBSET ((segment.durable + 1)..last)} :
         last \in segment.durable..Len(segment.entries)}

RECURSIVE RemainsOf(_)
RemainsOf(files) ==
  IF files = << >> THEN {<< >>}
  ELSE {<<first>> \o rest : first \in Remains(Head(files)), rest \in RemainsOf(Tail(files))}

MachineCrashes ==
  /\ crashes.machine < MaxMachineCrashes
  /\ crashes' = [crashes EXCEPT !.machine = @ + 1]
  /\ segments' \in RemainsOf(segments)
  /\ cells' = BlankCells
  /\ runs' = << >>
  /\ sweep' = NoSweep
  /\ forwarded' = {}
  /\ completions' = {}
  /\ daemon' = NoDaemon
  /\ event' = Event("daemon", "daemon", "MachineCrash", "", BlankMessage, BlankMessage)
  /\ UNCHANGED <<requests, answers, clients, store, given, told>>

(***************************************************************************)
(* The server                                                              *)
(***************************************************************************)

Serve(packet) == daemon.up /\ ServeForwarded(packet, [now |-> 0, random |-> 0, age |-> Lease + 1, index |-> 0])

AtXdp(cpu, packet) == ArriveAtXdpOn(cpu, packet, 0)
AtTc(packet) == ArriveAtTc(packet, 0)

\* The numbers that Reserve has given, each with the record that it is for.
GivenBy(message) ==
  {[epoch |-> message.epoch, log |-> message.log, number |-> message.number - RecordsOf(message) + position,
    client |-> message.client, sequence |-> message.sequence, version |-> VersionOf(message.sequence, position)] :
     position \in 1..RecordsOf(message)}

\* The history that the properties need.
Notes ==
  LET message == event'.message
  IN  /\ given' = IF /\ event'.step = "Reserve"
                       /\ message.kind \in Requests
                       /\ message.number > 0
                       /\ (cells'.head # cells.head \/ message # event'.given)  \* it was not skipped
                    THEN given \cup GivenBy(message)
                    ELSE given
      /\ told' = told \cup {[kind |-> packet.message.kind, client |-> packet.message.client,
                             sequence |-> packet.message.sequence, epoch |-> packet.message.epoch,
                             log |-> packet.message.log, number |-> packet.message.number, count |-> packet.message.count] :
                               packet \in {new \in answers' \ answers : new.message.kind \in Answers \cup ReadAnswers}}

RunActs ==
  /\ \/ \E packet \in requests, cpu \in Processors : AtXdp(cpu, packet)
     \/ \E packet \in Leaving : AtTc(packet)
     \/ \E packet \in AtDaemon : Serve(packet)
     \/ \E r \in 1..(MaxRuns + 1) : RunSection(r) \/ SkipSection(r)
  /\ Notes
  /\ UNCHANGED <<clients, daemon, segments, store, crashes>>

Acting ==
  \/ RunActs
  \/ DrainActs
  \/ CommandActs
  \/ DaemonCrashes
  \/ MachineCrashes
  \/ Fails
  \/ SyncFails

NextStep == Acting \/ \E client \in Clients : ClientActs(client)

Spec == Init /\ [][NextStep]_vars
=================================================================================
