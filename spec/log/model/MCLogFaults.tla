------------------------------- MODULE MCLogFaults -------------------------------
(***************************************************************************)
(* Rules that are wrong, each put in place of the right one by the model   *)
(* that must fail because of it.  Many are what the published circular log *)
(* does (DINT: one header a processor, nothing that a reader could tell,   *)
(* nothing that it could hold back); some are what comes to mind first.    *)
(***************************************************************************)
EXTENDS MCLog

\* The rules as they are, for wrong ones that differ in one thing.
Right == INSTANCE LogHooks

(***************************************************************************)
(* The buffer                                                              *)
(***************************************************************************)

\* The buffer is a circle, and nobody looks whether the daemon has been there.
RoomForEver(drained, msg) ==
  IF msg.kind \in Requests
    THEN Continue(drained, [msg EXCEPT !.epoch = drained.epoch, !.limit = LastNumber])
    ELSE Reply(drained, [msg EXCEPT !.epoch = drained.epoch])

\* The log of a processor is the number before it: the first has none.
RecallBefore(answer, msg, env) == Continue(answer, [msg EXCEPT !.log = env.cpu - 1, !.epoch = 0, !.number = 0])

\* The number is taken before the step checks for room.
ReserveFirst(head, msg) ==
  CASE head.appended >= LastNumber -> Refused(head, msg)
    [] head.appended >= msg.limit -> Refused([head EXCEPT !.appended = @ + 1], msg)
    [] OTHER ->
         Continue([head EXCEPT !.appended = @ + 1],
                  [msg EXCEPT !.number = head.appended + 1, !.slot = SlotOf(msg.log, head.appended + 1)])

\* The log of a processor has one writer, so its header is read and, in another section, written.
Peek(head, msg) ==
  IF head.appended >= msg.limit
    THEN Refused(head, msg)
    ELSE Continue(head, [msg EXCEPT !.number = head.appended + 1, !.slot = SlotOf(msg.log, head.appended + 1)])

Poke(head, msg) ==
  IF Reserved(msg) THEN Continue([head EXCEPT !.appended = msg.number], msg) ELSE Continue(head, msg)

XdpSectionsInTwo == <<
  Section("credential", "Authenticate", "drop"),
  Section("session", "Begin", "drop"),
  Section("answer", "Recall", "never"),
  Section("drained", "Room", "never"),
  Section("head", "Reserve", "skip"),
  Section("head", "Poke", "skip"),
  Section("record", "Write", "never"),
  Section("stamp", "Stamp", "never"),
  Section("answer", "Remember", "never"),
  Section("session", "End", "never")
>>

XdpStepInTwo(at, cell, msg, env) ==
  CASE at = 1 -> Authenticate(cell, msg)
    [] at = 2 -> Begin(cell, msg, env)
    [] at = 3 -> Recall(cell, msg, env)
    [] at = 4 -> Room(cell, msg)
    [] at = 5 -> Peek(cell, msg)
    [] at = 6 -> Poke(cell, msg)
    [] at = 7 -> Write(cell, msg)
    [] at = 8 -> Stamp(cell, msg)
    [] at = 9 -> Remember(cell, msg)
    [] at = 10 -> End(cell, msg)

\* The stamp comes before the record.
XdpSectionsStampedFirst == [Right!XdpSections EXCEPT ![6] = Right!XdpSections[7], ![7] = Right!XdpSections[6]]

XdpStepStampedFirst(at, cell, msg, env) ==
  CASE at = 1 -> Authenticate(cell, msg)
    [] at = 2 -> Begin(cell, msg, env)
    [] at = 3 -> Recall(cell, msg, env)
    [] at = 4 -> Room(cell, msg)
    [] at = 5 -> Reserve(cell, msg)
    [] at = 6 -> Stamp(cell, msg)
    [] at = 7 -> Write(cell, msg)
    [] OTHER -> Right!XdpStep(at, cell, msg, env)

\* The slot is under a lock that may fail: what has a number by then is never written.
XdpSectionsSkipped == [Right!XdpSections EXCEPT ![7] = Section("stamp", "Stamp", "skip")]

\* The daemon reads as far as the header says.
LookAtHeader(stamp, msg) ==
  IF msg.number <= cells.head[msg.log].appended THEN Continue(stamp, msg) ELSE Drop(stamp, msg)

\* The stamp says that there is a record, and not which: that of the last lap will do.
LookForAny(stamp, msg) == IF stamp.number > 0 THEN Continue(stamp, msg) ELSE Drop(stamp, msg)

(***************************************************************************)
(* Once                                                                    *)
(***************************************************************************)

\* A request that comes again is appended again.
BeginAgain(session, msg, env) ==
  IF session.state = "Idle" /\ msg.sequence \in {session.sequence, NextSequence(session.sequence)}
    THEN Continue([session EXCEPT !.state = "Busy", !.sequence = msg.sequence], msg)
    ELSE Drop(session, msg)

\* A retry's answer names the log of the processor that received it.
RecallHere(answer, msg, env) ==
  LET recalled == Right!Recall(answer, msg, env)
  IN  IF recalled.verdict = "Continue"
        THEN Continue(answer, [recalled.msg EXCEPT !.log = env.cpu % Logs])
        ELSE recalled

\* A retry's answer has the place of the last append of any request.
RecallUncompared(answer, msg, env) ==
  IF msg.kind \in {"Appended", "Stored"}
    THEN Continue(answer, [msg EXCEPT !.log = answer.log, !.number = answer.number])
    ELSE Right!Recall(answer, msg, env)

\* The fields of the answer keep the values that the client wrote.
RecallBelieving(answer, msg, env) ==
  IF msg.kind \in Requests THEN Continue(answer, [msg EXCEPT !.log = env.cpu % Logs]) ELSE Right!Recall(answer, msg, env)

\* A number that nobody was given, in the first request of client 0.
ForgedAtStart == {Packet(0, [RequestOf(0, "Memory", 1, SecretOf(0, 0)) EXCEPT !.number = 1])}

\* A request that lost its races for a number is left to the daemon, which knows nothing of it.
RememberNothing(answer, msg) ==
  IF msg.kind \in Requests /\ msg.number = 0 THEN Continue(answer, msg) ELSE Right!Remember(answer, msg)

(***************************************************************************)
(* Several records at once                                                 *)
(***************************************************************************)

\* As many are appended as there is room for.
ReserveAPart(head, msg) ==
  IF msg.kind = "Gather" /\ head.appended + RecordsOf(msg) > msg.limit /\ head.appended < msg.limit
    THEN Continue([head EXCEPT !.appended = msg.limit],
                  [msg EXCEPT !.number = msg.limit, !.slot = SlotOf(msg.log, msg.limit)])
    ELSE Right!Reserve(head, msg)

\* A request takes one number, however many records it has.
ReserveOne(head, msg) ==
  LET result == Right!Reserve(head, [msg EXCEPT !.kind = "Append"])
  IN  [result EXCEPT !.msg.kind = IF @ = "Append" THEN msg.kind ELSE @]

\* All records of a request have the number of the request.
PlaceAsOne(answer, msg, env) ==
  IF Reserved(msg)
    THEN Continue(answer, [msg EXCEPT !.numbered = msg.number, !.slot = SlotOf(msg.log, msg.number)])
    ELSE Continue(answer, msg)

\* The daemon answers without a look at what is synced.
AwaitNothing(synced, msg) ==
  IF msg.kind = "Sync" THEN Reply(synced, [msg EXCEPT !.kind = "Synced"]) ELSE Right!Await(synced, msg)

\* A number of another epoch counts as well.
AwaitAnyEpoch(synced, msg) == [Right!Await(synced, [msg EXCEPT !.epoch = synced.epoch]) EXCEPT !.msg.epoch = msg.epoch]

(***************************************************************************)
(* On disk                                                                 *)
(***************************************************************************)

\* XDP says that it is on disk.
RememberAsStored(answer, msg) ==
  LET result == Right!Remember(answer, msg)
  IN  IF result.msg.kind \in Requests THEN Answered(result.cell, result.msg, "Stored") ELSE result

\* A retry of a record that waits for the disk gets the remembered answer.
BeginRecalls(session, msg, env) ==
  IF session.state = "Forwarded" /\ msg.sequence = session.sequence
    THEN Continue(session, [msg EXCEPT !.kind = "Stored"])
    ELSE Right!Begin(session, msg, env)

\* A record in a file counts as on disk.
UserSectionsDrained == << UserSection("answer", "Locate", "none"), UserSection("drained", "Await", "none") >>

\* A record written before the end of a sync counts as synced.
WrittenByNow == daemon.written

\* The buffer's slots are free when the daemon has taken what was in them.
TakenAlready(log) == IF LastTaken(log) > 0 THEN LastTaken(log) ELSE daemon.written[log]

\* A sync that failed is tried again.
DaemonTriesAgain == [daemon EXCEPT !.syncing = NoSync]

\* A segment is full, so the next one begins.
EndsUnsynced == TRUE

\* A file that an operator removes stays removed.
RemovesAny(segment) == TRUE

(***************************************************************************)
(* After a crash                                                           *)
(***************************************************************************)

\* The daemon goes on where `drained` says.
StartsFromMark(epoch) == [log \in AllLogs |-> cells.drained[log].number]

\* The daemon appends to the last file, behind whatever is there.
TrimNothing(segment) == [segment EXCEPT !.durable = Len(segment.entries), !.lost = "No"]

\* Entries that the daemon finds in the file count as on the disk, since they are in the file.
TrimUnsynced(segment) == [segment EXCEPT !.entries = Cut(@), !.lost = "No"]

\* Entries that the daemon finds in the file count as on the disk when it has synced that file.
TrimInPlace(segment) ==
  [segment EXCEPT !.entries = Cut(@), !.durable = IF segment.lost = "No" THEN Len(Cut(segment.entries)) ELSE @,
                  !.lost = IF @ = "No" THEN "No" ELSE "Said"]

\* The tail may be torn where the machine has gone down: a daemon that was only killed does not look.
FilesAfterKill ==
  IF EpochOfMemory = 0 THEN Append(Trimmed, Segment(NextEpoch)) ELSE [segments EXCEPT ![LastSegment] = TrimNothing(@)]

\* All that is in the file is replayed.
CutNothing(entries) == entries

\* The last record of a key counts, whichever log it was in.
LaterInFile(entry, msg) ==
  Continue([entry EXCEPT !.version = msg.version, !.deletes = msg.deletes, !.length = msg.length, !.value = msg.value], msg)

\* Torn entries are left out, and the rest is replayed.
CutOut(entries) == SelectSeq(entries, LAMBDA entry : entry.whole)

\* The numbers of new memory begin again, in the same epoch.
SameEpoch == CHOOSE e \in EpochsOfFiles : \A f \in EpochsOfFiles : f <= e

\* The epoch is on the disk when its first record is.
FilesWithoutEpoch == Trimmed

\* The new epoch goes on in the same file.
FilesAtStartInPlace == IF EpochOfMemory = 0 THEN [Trimmed EXCEPT ![LastSegment].epoch = NextEpoch] ELSE Trimmed
=================================================================================
