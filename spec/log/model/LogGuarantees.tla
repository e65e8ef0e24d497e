----------------------------- MODULE LogGuarantees -----------------------------
(***************************************************************************)
(* What clients of the log may rely on, and what keeps the log going.      *)
(***************************************************************************)
EXTENDS Log

(***************************************************************************)
(* Guarantees to clients *)
(***************************************************************************)

\* The slots of a log.
SlotsOf(log) == (log * Slots)..(log * Slots + Slots - 1)

Open(log) == cells.drained[log].epoch # 0

\* How many records of a log are in the buffer and not yet in a file.
Kept(log) == cells.head[log].appended - cells.drained[log].number

\* No number of a log is given twice.
NoNumberTwice ==
  \A a, b \in given : a.epoch = b.epoch /\ a.log = b.log /\ a.number = b.number => a = b

\* A record gets one number, however often its request arrives, and on whichever processor.
NoRequestTwice ==
  \A a, b \in given : a.client = b.client /\ a.version = b.version => a = b

\* The numbers of a log are 1, 2, 3 and so on: none is left out.
NumbersHaveNoGaps ==
  \A a \in given : a.number > 1 => \E b \in given : b.epoch = a.epoch /\ b.log = a.log /\ b.number = a.number - 1

\* Answers to requests, and answers that a place is on the disk.
ToldOfRequests == {t \in told : t.kind \in Answers}
ToldSynced == {t \in told : t.kind = "Synced"}

\* All answers to one request agree: a retry gets the same place.
AnswersAgree ==
  \A a, b \in ToldOfRequests : a.client = b.client /\ a.sequence = b.sequence => a = b

\* How many records an answer is about: it says that of several.
CountOf(answer) == IF answer.kind = "Gathered" THEN answer.count ELSE 1

\* The place of a record that an answer is about.
PlaceOf(answer, position) ==
  [epoch |-> answer.epoch, log |-> answer.log, number |-> answer.number - CountOf(answer) + position,
   client |-> answer.client, sequence |-> answer.sequence, version |-> VersionOf(answer.sequence, position)]

PlacesOf(answer) == IF answer.kind = "Full" THEN {} ELSE {PlaceOf(answer, position) : position \in 1..CountOf(answer)}

GivenFor(answer) == {g \in given : g.client = answer.client /\ g.sequence = answer.sequence}

\* An answer names the numbers that its request was given, all of them. One that is refused was given none, and its answer
\* names no place.
AnswersAreTrue ==
  \A t \in ToldOfRequests : GivenFor(t) = PlacesOf(t) /\ (t.kind = "Full" => <<t.epoch, t.log, t.number>> = <<0, 0, 0>>)

IsRecord(entry, place) ==
  /\ entry.epoch = place.epoch /\ entry.log = place.log /\ entry.number = place.number
  /\ entry.whole
  /\ entry.record = RecordOf(place.client, place.version)

InFiles(place) == \E s \in DOMAIN segments : \E i \in DOMAIN segments[s].entries : IsRecord(segments[s].entries[i], place)

InBuffer(place) ==
  LET slot == SlotOf(place.log, place.number)
  IN  cells.stamp[slot].number = place.number /\ cells.record[slot] = RecordOf(place.client, place.version)

\* An acknowledged record is in the buffer until it is in a file, as long as the machine keeps its memory. Nothing
\* overwrites it, and no death of the daemon loses it.
InMemorySurvives ==
  \A t \in ToldOfRequests : \A place \in PlacesOf(t) :
    cells.drained[place.log].epoch = place.epoch =>
      IF place.number > cells.drained[place.log].number
        THEN InBuffer(place)
        ELSE InFiles(place) \/ store[place.client].version >= place.version

\* A record that was acknowledged as on disk is recovered, or a newer one of its key, whenever the machine goes down.
OnDiskSurvives ==
  LET recovered == Recovered(Certain(segments))
  IN  \A t \in ToldOfRequests : t.kind = "Stored" => recovered[t.client].version >= VersionOf(t.sequence, 1)

\* So is every record of a log, of whichever client, up to one that was said to be on the disk.
SyncedSurvives ==
  LET recovered == Recovered(Certain(segments))
  IN  \A t \in ToldSynced : \A g \in given :
        g.epoch = t.epoch /\ g.log = t.log /\ g.number <= t.number => recovered[g.client].version >= g.version

\* Recovery finds what somebody appended: nothing torn, nothing that was half written.
RecoveryIsTrue ==
  LET recovered == Recovered(Readable(segments))
  IN  \A client \in Clients :
        LET entry == recovered[client]
            record == RecordOf(client, entry.version)
        IN  entry.version > 0 =>
              /\ entry = [version |-> record.version, deletes |-> record.deletes, length |-> record.length, value |-> record.value]
              /\ \E g \in given : g.client = client /\ g.version = entry.version

\* Recovery takes the newest record of each key, from any log and in any order.
RecoveryTakesTheNewest ==
  LET rows == Readable(segments)
      recovered == Recovered(rows)
  IN  \A s \in DOMAIN rows : \A i \in DOMAIN rows[s] :
        recovered[rows[s][i].record.key].version >= rows[s][i].record.version

\* To recover twice is to recover once: of what was recovered nothing is new.
RecoveryIsIdempotent ==
  LET rows == Readable(segments)
      recovered == Recovered(rows)
  IN  /\ Replayed(recovered, All(rows, 1), 1) = recovered
      /\ \A s \in DOMAIN rows : \A i \in DOMAIN rows[s] :
           WithEntry(recovered[rows[s][i].record.key], rows[s][i]).verdict = "Drop"

\* The files have the numbers of a log in their order, from the first that was not removed, each once, and with each the
\* record that it was given for.
FilesAreInOrder ==
  LET rows == Readable(segments)
  IN  \A epoch \in EpochsOfFiles, log \in AllLogs :
        LET entries == OfLog(rows, epoch, log)
        IN  /\ entries # << >> => entries[1].number = 1 \/ Truncates
            /\ \A i \in 1..(Len(entries) - 1) : entries[i + 1].number = entries[i].number + 1
            /\ \A i \in 1..Len(entries) :
                 \E g \in given : /\ g.epoch = epoch /\ g.log = log /\ g.number = entries[i].number
                                  /\ entries[i].record = RecordOf(g.client, g.version)

\* Nothing but the tail of the last segment is ever torn.
OnlyTheTailIsTorn == \A s \in 1..(LastSegment - 1) : IsWhole(segments[s].entries)

\* When nothing is in flight, no session is busy, and the daemon can take every number that was given.
NothingStuck ==
  NobodyInFlight =>
    /\ \A client \in Clients : cells.session[client].state # "Busy"
    /\ \A log \in AllLogs, number \in 1..(LastNumber + 1) :
         number > cells.drained[log].number /\ number <= cells.head[log].appended
           => cells.stamp[SlotOf(log, number)].number = number

\* A client that has a session, and asks for no more than memory, needs no daemon.
MemoryNeedsNoDaemon ==
  \A packet \in forwarded : packet.message.kind \in Requests => packet.message.level = "Disk"

\* A run of the programs that works on a packet of a client's session, seen in the step that it takes.
RunStep ==
  event'.from \in {"XDP", "TC"} \X Clients /\ event'.given.kind \in Requests \cup Answers \cup Reads \cup ReadAnswers

\* Nothing changes through a packet of another than the client that it names.
NobodyActsForAnother ==
  [][RunStep /\ event'.from[2] # event'.given.client => UNCHANGED cells]_vars

\* Where the layout says that a section is never contended, nobody else writes its cell.
NeverMeansNever == [][NeverContended]_vars

\* Cells stay within their layout, and no more is in the buffer than it has slots.
CellsFit ==
  /\ \A log \in AllLogs :
       /\ cells.head[log].appended <= LastNumber
       /\ cells.head[log].appended <= cells.drained[log].number + Slots
  /\ \A client \in Clients : cells.answer[client].tag < TagModulus

(***************************************************************************)
(* Guarantees of the programs *)
(***************************************************************************)

\* Every section works on a cell that there is.
CellsAreThere == \A r \in 1..Len(runs) : IndexOf(runs[r]) \in DOMAIN cells[SectionOf(runs[r]).table]

\* Processors that have a log of their own append to it.
ProcessorsKeepToTheirLog ==
  \A r \in 1..Len(runs) :
    LET run == runs[r]
    IN  run.hook = "XDP" /\ run.at > 3 /\ run.message.kind \in Requests /\ run.cpu \in AllLogs => run.message.log = run.cpu

Asked(message) == message.kind \in Requests \cup Reads \cup Opening \cup {"Renew", "Close"}

\* Clients get answers and nothing else: Appended is for memory, Stored for the disk. TC gets no answer that it does not
\* complete.
AnswersFit ==
  /\ \A packet \in answers \cup completions :
       /\ ~ Asked(packet.message)
       /\ packet.message.kind = "Appended" => packet.message.level = "Memory"
       /\ packet.message.kind = "Stored" => packet.message.level = "Disk"
  /\ \A packet \in completions : packet.message.kind \in Completions \cup ReadCompletions \cup Words \cup {"Opened"}

\* The daemon does its part for each packet that XDP passes on: it looks where a record is, and invites who asks for a session.
DaemonServes ==
  \A packet \in forwarded :
    LET result == SectionResult([NewRun("User", packet, 0, 0, 0) EXCEPT !.age = Lease + 1])
    IN  CASE packet.message.kind \in Requests \cup Reads -> result.verdict = "Continue"
          [] packet.message.kind = "Ask" -> result.verdict = "Reply" /\ result.msg.kind = "Invited"
          [] OTHER -> result.verdict = "Reply" /\ result.msg.kind = "Opened"

\* A place that a client puts into its request does not count.
ClientsGiveNoPlaces ==
  [][event'.step = "Recall" /\ event'.given.kind \in Requests => event'.message.epoch = 0 /\ event'.message.number = 0]_vars

\* A request is refused only if it has no record, or where its log is closed, or has no number or no slot left. (There may be more room since it
\* looked.)
RefusedForAReason ==
  [][/\ event'.step = "Reserve" /\ event'.given.kind \in Requests /\ event'.message.kind = "Full"
     => LET log == event'.given.log
            count == RecordsOf(event'.given)
        IN  \/ count = 0
            \/ ~ Open(log)
            \/ cells.head[log].appended + count > LastNumber
            \/ Kept(log) + count > Slots
            \/ event'.given.limit < cells.head[log].appended + Slots - Kept(log)]_vars

\* A request that looks for room sees all that there is, and none in a closed log.
AllRoomIsSeen ==
  [][/\ event'.step = "Room" /\ event'.given.kind \in Requests
     => LET log == event'.given.log
            room == event'.message.limit - cells.head[log].appended
        IN  room = IF Open(log) THEN Slots - Kept(log) ELSE 0]_vars

\* A retry is dropped only where its client has moved on, and the daemon puts off only what is not yet on the disk.
PutOffForAReason ==
  [][/\ event'.step = "Recall" /\ event'.verdict = "Drop"
          => cells.session[event'.given.client].sequence # event'.given.sequence
     /\ event'.step = "UserStep" /\ event'.given.kind \in Requests \cup Reads /\ event'.verdict # "Reply"
          => \/ event'.given.number > cells.synced[event'.given.log].number
             \/ event'.given.kind \in Reads /\ event'.given.epoch # cells.synced[event'.given.log].epoch]_vars

(***************************************************************************)
(* Guarantees of the drain *)
(***************************************************************************)

\* The last number that the drain has taken.
LastSeen(log) == IF LastTaken(log) > 0 THEN LastTaken(log) ELSE cells.drained[log].number

\* The drain asks an open log for the record after the last one that it took, if there is another number. It finds the
\* record as soon as one of the log's slots says that it is there.
DrainFindsRecords ==
  daemon.up /\ MayLook => \A log \in AllLogs :
    LET next == NextOf(log)
        number == LastSeen(log) + 1
    IN  IF Open(log) /\ number <= LastNumber
          THEN /\ next.verdict = "Continue"
               /\ next.msg.number = number
               /\ next.msg.slot \in SlotsOf(log)
               /\ (\E slot \in SlotsOf(log) : cells.stamp[slot].number = number) <=> ENABLED Looks(log)
          ELSE next.verdict = "Drop"

\* A record whose stamp was seen can be taken.
SeenRecordsAreTaken == daemon.up /\ daemon.looked # << >> => ENABLED Takes

\* The daemon can move a mark that is behind the files, and begin the epoch of a log that has none. With other marks it has
\* nothing to do.
MarksFollow ==
  daemon.up => \A log \in AllLogs :
    LET unwritten == cells.drained[log].epoch = daemon.epoch /\ cells.drained[log].number < Outlives(log)
        unsynced == cells.synced[log].epoch = daemon.epoch /\ cells.synced[log].number < daemon.durable[log]
        unknown == cells.synced[log].epoch = 0
        closed == ~ Open(log) /\ \A other \in AllLogs : cells.synced[other].epoch # 0
    IN  /\ ENABLED ReachesWritten(log) => unwritten
        /\ ENABLED ReachesSynced(log) => unsynced
        /\ ENABLED BeginsEpoch("synced", log) => unknown
        /\ ENABLED BeginsEpoch("drained", log) => closed
        /\ unwritten => ENABLED (ReachesWritten(log) /\ cells' # cells)
        /\ unsynced => ENABLED (ReachesSynced(log) /\ cells' # cells)
        /\ unknown => ENABLED (BeginsEpoch("synced", log) /\ cells' # cells)
        /\ closed => ENABLED (BeginsEpoch("drained", log) /\ cells' # cells)

\* Marks go up, from epoch to epoch and from number to number.
MarksOnlyGoUp ==
  [][event'.step # "MachineCrash" =>
       \A table \in {"drained", "synced"}, log \in AllLogs :
         LET before == cells[table][log]
             after == cells'[table][log]
         IN  IF before.epoch = 0 THEN after.number = 0 ELSE after.epoch = before.epoch /\ after.number >= before.number]_vars
=================================================================================
