-------------------------------- MODULE LogSteps --------------------------------
(***************************************************************************)
(* A log.                                                                  *)
(*                                                                         *)
(* There are several logs, each a circular buffer of Slots records in the  *)
(* kernel; a processor appends to one of them.  A record has a number:     *)
(* 1, 2, 3 and so on in its log.  Numbers begin again in another epoch,    *)
(* after the machine has lost its memory.                                  *)
(*                                                                         *)
(* XDP takes the next number (Reserve), writes the record into the slot of *)
(* that number (Write) and then says so (Stamp).  The daemon takes a       *)
(* record when its stamp is there, writes it to a segment file, and then   *)
(* moves `drained` past it.  No number is given that is more than Slots    *)
(* ahead of `drained`: so from Reserve to Stamp nobody else has to do with *)
(* that slot, and nothing is overwritten that the daemon has not written   *)
(* to a file.                                                              *)
(*                                                                         *)
(* A client asks for one of two levels.  In memory: XDP answers Appended;  *)
(* the record outlives the daemon, not the machine.  On disk: XDP appends  *)
(* the record as well, and leaves the answer to the daemon, which says     *)
(* Stored when `synced` has passed the record's number.  `answer` has the  *)
(* place of the last record of each session: for a request that comes      *)
(* again, and for the daemon, which keeps nothing that it could lose.      *)
(*                                                                         *)
(* Gather appends several records to one log: all, or none if some would   *)
(* not fit.  They get numbers one after the other, and the answer names    *)
(* the last.  They are in memory then.  Sync asks whether a number is on   *)
(* the disk: the daemon answers when `synced` has passed it.  If the       *)
(* number is of another epoch, the answer is Unknown.                      *)
(*                                                                         *)
(* Cells: answer [tag, log, number], drained and synced [epoch, number],   *)
(* head [appended], record [transaction, key, version, deletes, length,     *)
(* value], stamp [number].                                                 *)
(***************************************************************************)
EXTENDS SessionSteps

CONSTANTS
  Logs,           \* how many; several processors may share one
  Slots,          \* records of a log's buffer
  LastNumber,     \* of an epoch
  NumberModulus,  \* greater than every number
  TagModulus,     \* what is remembered of a sequence number
  Operations      \* records of one message

Tag(sequence) == sequence % TagModulus

SlotOf(log, number) == log * Slots + (number % Slots)

Answered(cell, msg, kind) == Continue(cell, [msg EXCEPT !.kind = kind])

\* The request has a number, and no answer yet.
Reserved(msg) == msg.kind \in Requests /\ msg.number > 0

\* How many records a request appends.
RecordsOf(msg) == IF msg.kind = "Gather" THEN msg.count ELSE 1

(***************************************************************************)
(* XDP                                                                     *)
(***************************************************************************)

\* The log of this processor; or, of what was done before, the place that it came to.  What a client put into these
\* fields does not count, except where it asks whether that place is on the disk.
Recall(answer, msg, env) ==
  CASE msg.kind \in Requests ->
         Continue(answer, [msg EXCEPT !.epoch = 0, !.log = env.cpu % Logs, !.number = 0])
    [] msg.kind \in Reads ->
         Forward(answer, msg)
    [] msg.kind = "Full" ->
         FullAgain :: Reply(answer, [msg EXCEPT !.epoch = 0, !.log = 0, !.number = 0])
    [] answer.tag # Tag(msg.sequence) ->
         MovedOn :: Drop(answer, msg)
    [] OTHER ->
         Continue(answer, [msg EXCEPT !.log = answer.log, !.number = answer.number])

\* The greatest number that may be given.  `drained` only goes up: one that has gone up since gives more room, not less.
\* (In one section with Reserve, XDP and the daemon would write one word.)
Room(drained, msg) ==
  IF msg.kind \in Requests
    THEN Continue(drained, [msg EXCEPT !.epoch = drained.epoch,
                                       !.limit = IF drained.epoch = 0 THEN 0 ELSE drained.number + Slots])
    ELSE Recalled :: Reply(drained, [msg EXCEPT !.epoch = drained.epoch])

Refused(cell, msg) == Continue(cell, [msg EXCEPT !.kind = "Full", !.epoch = 0, !.log = 0])

\* The number of a request for several records is that of the last one.
Reserve(head, msg) ==
  LET last == head.appended + RecordsOf(msg)
  IN
  CASE RecordsOf(msg) = 0 ->
         NoRecords :: Refused(head, msg)
    [] last > LastNumber ->
         Exhausted :: Refused(head, msg)
    [] last > msg.limit ->
         NoRoom :: Refused(head, msg)
    [] OTHER ->
         Continue([head EXCEPT !.appended = last],
                  [msg EXCEPT !.number = last, !.slot = SlotOf(msg.log, last)])

Written(record, msg) ==
  [record EXCEPT !.transaction = msg.transaction,
                 !.key = msg.key,
                 !.version = msg.version,
                 !.deletes = msg.deletes,
                 !.length = msg.length,
                 !.value = msg.value]

Write(record, msg) ==
  IF msg.kind = "Append" /\ Reserved(msg) THEN Continue(Written(record, msg), msg) ELSE Continue(record, msg)

\* From now on the daemon may read the record.
Stamp(stamp, msg) ==
  IF msg.kind = "Append" /\ Reserved(msg) THEN Continue([stamp EXCEPT !.number = msg.number], msg) ELSE Continue(stamp, msg)

\* The number of one record of several: the last one has that of the request.
NumberOf(msg, env) == (msg.number + NumberModulus - (msg.count - 1) + env.position) % NumberModulus

Place(answer, msg, env) ==
  IF Reserved(msg)
    THEN Continue(answer, [msg EXCEPT !.numbered = NumberOf(msg, env), !.slot = SlotOf(msg.log, NumberOf(msg, env))])
    ELSE Continue(answer, msg)

WriteEach(record, msg) ==
  IF Reserved(msg) THEN Continue(Written(record, msg), msg) ELSE Continue(record, msg)

StampEach(stamp, msg) ==
  IF Reserved(msg) THEN Continue([stamp EXCEPT !.number = msg.numbered], msg) ELSE Continue(stamp, msg)

\* A request without a number lost its races for one, so that nothing was appended: its client asks again.
Remember(answer, msg) ==
  CASE msg.kind \notin Requests ->
         Continue(answer, msg)
    [] msg.number = 0 ->
         NotReserved :: Refused(answer, msg)
    [] OTHER ->
         Continue([answer EXCEPT !.tag = Tag(msg.sequence), !.log = msg.log, !.number = msg.number],
                  IF msg.kind = "Append" /\ msg.level = "Disk"
                    THEN msg
                    ELSE [msg EXCEPT !.kind = IF msg.kind = "Gather" THEN "Gathered" ELSE "Appended"])

(***************************************************************************)
(* The daemon, for a request that waits for the disk: which record is it,  *)
(* and is it there?  A packet that came too early can be looked at again;  *)
(* whether its client still waits, TC will see.                            *)
(***************************************************************************)

Locate(answer, msg, env) ==
  CASE msg.kind \in Opening ->
         Reply(answer, Invite(msg, env))
    [] msg.kind = "Append" ->
         Continue(answer, [msg EXCEPT !.log = answer.log, !.number = answer.number])
    [] msg.kind = "Sync" -> Continue(answer, msg)
    [] OTHER -> NotForwarded :: Drop(answer, msg)

\* The log cannot say what became of a number of another epoch.
Await(synced, msg) ==
  CASE msg.kind = "Sync" /\ msg.epoch # synced.epoch -> OtherEpoch :: Reply(synced, [msg EXCEPT !.kind = "Unknown"])
    [] msg.number > synced.number -> NotYet :: Drop(synced, msg)
    [] msg.kind = "Sync" -> Reply(synced, [msg EXCEPT !.kind = "Synced"])
    [] OTHER -> Reply(synced, [msg EXCEPT !.kind = "Stored", !.epoch = synced.epoch])

(***************************************************************************)
(* The daemon's drain.  For each log: Next, Look, Take, again and again as *)
(* long as there are records; what Take says goes to the segment file.     *)
(* When the file has it: Reached, for `drained`, with the last number.     *)
(* When a sync that began after that is over: Reached, for `synced`.       *)
(*                                                                         *)
(* A daemon that begins looks what the files have, which may be more than  *)
(* `drained` says: Reached tells it so.                                    *)
(***************************************************************************)

\* msg.number is that of the record before, or 0.
Next(drained, msg) ==
  LET before == IF msg.number > drained.number THEN msg.number ELSE drained.number
  IN  IF drained.epoch = 0 \/ before >= LastNumber
        THEN NoMore :: Drop(drained, msg)
        ELSE Continue(drained, [msg EXCEPT !.epoch = drained.epoch, !.number = before + 1, !.slot = SlotOf(msg.log, before + 1)])

Look(stamp, msg) ==
  IF stamp.number = msg.number THEN Continue(stamp, msg) ELSE NotWritten :: Drop(stamp, msg)

Take(record, msg) ==
  Reply(record, [msg EXCEPT !.transaction = record.transaction,
                            !.key = record.key,
                            !.version = record.version,
                            !.deletes = record.deletes,
                            !.length = record.length,
                            !.value = record.value])

Reached(mark, msg) ==
  IF mark.epoch = msg.epoch /\ mark.number < msg.number
    THEN Continue([mark EXCEPT !.number = msg.number], msg)
    ELSE Drop(mark, msg)

\* A log whose memory was lost begins an epoch that no file has: first `synced`, and with `drained` it is open.
Begun(mark, msg) ==
  IF mark.epoch = 0
    THEN Continue([mark EXCEPT !.epoch = msg.epoch], msg)
    ELSE Drop(mark, msg)

(***************************************************************************)
(* Recovery: of the records of a key, in whatever order, the newest.       *)
(***************************************************************************)

Newer(entry, msg) ==
  IF entry.version < msg.version
    THEN Continue([entry EXCEPT !.version = msg.version, !.deletes = msg.deletes, !.length = msg.length, !.value = msg.value], msg)
    ELSE Older :: Drop(entry, msg)
=================================================================================
