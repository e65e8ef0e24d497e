-------------------------------- MODULE OccSteps --------------------------------
(***************************************************************************)
(* Optimistic transactions over the store's cells.                         *)
(*                                                                         *)
(* A client reads what it needs (Get), locks what it writes, each with the *)
(* version that it read, reads again what it only read, and commits.  No   *)
(* state anywhere says that it has read something.                         *)
(*                                                                         *)
(* A lock is in the bucket, beside the entry and its version: the entry's  *)
(* way is pinned.  A key that does not exist is locked as a way that is    *)
(* Gone.  A pinned way stays: it is no room, and no victim.  An intent     *)
(* says what is to be written there, and in which bucket that is.  So what *)
(* was decided can be done in the bucket at any later time, without room,  *)
(* page or daemon.                                                         *)
(*                                                                         *)
(* `transaction` has, of each session, the way that each place pins (0:    *)
(* none), and what was decided for them, in one word.  Commit and Abort    *)
(* settle one place each; the first of them decides.                       *)
(*                                                                         *)
(* Between Begin and End a session is Busy, and the sweep lets it be; when *)
(* it is Closing nobody but the sweep acts for it.  So nobody ever races   *)
(* for the session's cells of transaction and intent.  What a session that *)
(* is over left behind, the sweep does: forward where it was decided to    *)
(* commit, else back.  Then the number is free again.                      *)
(*                                                                         *)
(* The store's own requests go on as they were, but change nothing that is *)
(* locked (Locked).                                                        *)
(*                                                                         *)
(* Several at once: Fetch reads keys, and so it also reads them again.  A  *)
(* Gather may lock, commit and abort as well.  Each operation is a request *)
(* of its own, and all sections run for one before the next one begins.    *)
(*                                                                         *)
(* Cells: the store's, bucket with [pinned]; transaction [verdict, ways],  *)
(* intent [slot, bit, deletes, length, value].                             *)
(***************************************************************************)
EXTENDS StoreSteps

CONSTANT Intents  \* of a session: so many writes a transaction may have

IntentOf(msg) == msg.client * Intents + msg.place

IsPinned(bucket, way) == way - 1 \in bucket.pinned

\* The way that the message's place pins; 0: none.
PinnedBy(transaction, msg) == transaction.ways[msg.place + 1]

PinsNone(transaction) == \A i \in 1..Intents : transaction.ways[i] = 0

\* 0: there is none.
VersionAt(bucket, way) == IF IsLive(bucket, way) THEN bucket.entries[way].version ELSE 0

Writes == {"Insert", "Update", "Delete"}

Transacting == {"Lock", "Commit", "Abort"}

(***************************************************************************)
(* Requests of a session *)
(***************************************************************************)

Enter(transaction, msg) ==
  LET pins == PinnedBy(transaction, msg) # 0
      entered == Continue(transaction, [msg EXCEPT !.intent = IntentOf(msg), !.way = PinnedBy(transaction, msg)])
  IN
  CASE msg.kind = "Lock" ->
         CASE pins -> PlaceTaken :: Answered(transaction, msg, "Refused")
           [] transaction.verdict # "Open" -> Unsettled :: Answered(transaction, msg, "Refused")
           [] IsLong(msg.length) -> LockTooLong :: Answered(transaction, msg, "TooLong")
           [] OTHER -> entered
    [] msg.kind = "Commit" ->
         IF pins /\ transaction.verdict # "Aborted"
           THEN entered
           ELSE NotToCommit :: Answered(transaction, msg, "Refused")
    [] msg.kind = "Abort" ->
         CASE transaction.verdict = "Committed" -> NotToAbort :: Answered(transaction, msg, "Refused")
           [] pins -> entered
           [] OTHER -> NothingToAbort :: Answered(transaction, msg, "Aborted")
    [] OTHER -> Continue(transaction, msg)

\* A lock's intent is noted before the way is pinned; what is settled is what was noted, whatever the message says.
Note(intent, msg) ==
  CASE msg.kind = "Lock" ->
         Continue([slot |-> msg.slot, bit |-> msg.bit, deletes |-> msg.deletes, length |-> msg.length, value |-> msg.value], msg)
    [] msg.kind \in {"Commit", "Abort"} ->
         Continue(intent, [msg EXCEPT !.slot = intent.slot, !.bit = intent.bit, !.deletes = intent.deletes,
                                      !.length = intent.length, !.value = intent.value])
    [] OTHER -> Continue(intent, msg)

\* The outcome of the place.
Leave(transaction, msg) ==
  LET rest == [transaction EXCEPT !.ways[msg.place + 1] = 0]
      verdict == IF PinsNone(rest) THEN "Open" ELSE IF msg.kind = "Committed" THEN "Committed" ELSE "Aborted"
  IN
  CASE msg.kind = "Granted" -> Continue([transaction EXCEPT !.ways[msg.place + 1] = msg.way], msg)
    [] msg.kind \in {"Committed", "Aborted"} -> Continue([rest EXCEPT !.verdict = verdict], msg)
    [] OTHER -> Continue(transaction, msg)

(***************************************************************************)
(* Room beside what is pinned                                              *)
(***************************************************************************)

RoomBeside(bucket) ==
  LET Free(i) == ~ IsPinned(bucket, i) /\ bucket.marks[i] \in {"Empty", "Clean"}
      idle == FirstIndex(1, Ways, 0, LAMBDA i : Free(i) /\ (bucket.marks[i] = "Empty" \/ ~ IsUsed(bucket, i)))
  IN  IF idle > 0 \/ ~ SparesUsed THEN idle ELSE FirstIndex(1, Ways, 0, Free)

Oldest(bucket) == (bucket.epoch % Ways) + 1

\* A pinned one only where all are.
VictimBeside(bucket) ==
  LET idle == FirstIndex(1, Ways, 0, LAMBDA i : ~ IsPinned(bucket, i) /\ ~ IsUsed(bucket, i))
  IN  IF SparesUsed /\ idle > 0
        THEN idle
        ELSE IF IsPinned(bucket, Oldest(bucket))
               THEN FirstIndex(1, Ways, Oldest(bucket), LAMBDA i : ~ IsPinned(bucket, i))
               ELSE Oldest(bucket)

\* The bucket has no room, and cannot make any.
IsCrowded(bucket) == \A i \in 1..Ways : IsPinned(bucket, i)

(***************************************************************************)
(* The bucket                                                              *)
(***************************************************************************)

Pinned(bucket, way) == [bucket EXCEPT !.pinned = @ \cup {way - 1}]

Granted(bucket, msg, way, version) == Continue(Pinned(bucket, way), [msg EXCEPT !.kind = "Granted", !.way = way, !.version = version])

\* A lock of a key that is in the bucket, there or Gone.
LockOn(bucket, msg, way, expected) ==
  CASE IsPinned(bucket, way) ->
         LockedAlready :: Continue(bucket, [msg EXCEPT !.kind = "Conflict", !.version = VersionAt(bucket, way)])
    [] VersionAt(bucket, way) # expected ->
         OtherVersion :: Continue(bucket, [msg EXCEPT !.kind = "Conflict", !.version = VersionAt(bucket, way)])
    [] HasTail(bucket, way) ->
         TailLocked :: Answered(bucket, msg, "TooLong")
    [] OTHER ->
         Granted(bucket, msg, way, expected)

\* A way that says that the key does not exist.
Tombstone(bucket, way, msg) == Placed(bucket, way, "Gone", bucket.floor, msg)

\* Undecided(_) says what becomes of a lock that the bucket cannot decide. There is this room for its key.
Lock(bucket, msg, Undecided(_)) ==
  LET own == WayOf(bucket, msg.key)
      room == RoomBeside(bucket)
  IN
  CASE own > 0 ->
         LockOn(bucket, msg, own, msg.version)
    [] ~ MayBeSpilled(bucket, msg) /\ msg.version # 0 ->
         NotThere :: Continue(bucket, [msg EXCEPT !.kind = "Conflict", !.version = 0])
    [] IsCrowded(bucket) ->
         NoWayToLock :: Answered(bucket, msg, "Conflict")
    [] ~ MayBeSpilled(bucket, msg) /\ room > 0 ->
         Granted(Tombstone(bucket, room, msg), msg, room, msg.version)
    [] OTHER ->
         Undecided(room)

\* The intent is done, or dropped, if it still pins its way.  It was noted with the way's key, which stays there.
Settled(bucket, msg) ==
  LET way == msg.way
      free == [bucket EXCEPT !.pinned = @ \ {way - 1}]
      intended == [msg EXCEPT !.key = bucket.keys[way]]
      settled == IF msg.kind = "Commit" THEN "Committed" ELSE "Aborted"
  IN
  CASE msg.kind \notin {"Commit", "Abort"} ->
         Continue(bucket, msg)
    [] way \notin 1..Ways \/ ~ IsPinned(bucket, way) ->
         NothingPinned :: Answered(bucket, msg, settled)
    [] ~ IsLive(bucket, way) /\ (msg.kind = "Abort" \/ msg.deletes) ->
         StillGone :: Answered([free EXCEPT !.marks[way] = Remains(bucket, msg)], msg, settled)
    [] msg.kind = "Abort" ->
         Answered(free, msg, settled)
    [] msg.deletes ->
         DeleteAt(free, intended, way, settled)
    [] IsLive(bucket, way) ->
         UpdateAt(free, intended, way, settled)
    [] OTHER ->
         InsertAt(free, intended, way, settled)

KeyIsLocked(bucket, msg) ==
  LET own == WayOf(bucket, msg.key)
  IN  own > 0 /\ IsPinned(bucket, own)

\* Undecided(_), Own(_) and Other(_) say what becomes of what the bucket cannot answer: of a lock, of another request for a key
\* that is in this way, and of one for another key, for which there is this room.
Answering(bucket, msg, Undecided(_), Own(_), Other(_)) ==
  LET own == WayOf(bucket, msg.key)
      locked == KeyIsLocked(bucket, msg)
  IN
  CASE msg.kind \in {"Commit", "Abort"} ->
         Settled(bucket, msg)
    [] msg.kind = "Lock" ->
         Lock(bucket, msg, Undecided)
    [] msg.kind \notin {"Get"} \cup Writes ->
         NotForOne :: Continue(bucket, msg)
    [] locked /\ msg.kind \in Writes ->
         WriteOfLocked :: Answered(bucket, msg, "Locked")
    [] own = 0 /\ msg.kind \in {"Insert", "Update"} /\ IsCrowded(bucket) ->
         NoWayToWrite :: Answered(bucket, msg, "Locked")
    [] OTHER ->
         RequestElse(bucket, [msg EXCEPT !.locked = locked], RoomBeside(bucket), Own, Other)

OnOccRequest(bucket, msg) ==
  LET Seeks(room) == LookUpIn(bucket, msg, room, VictimBeside)
  IN  Answering(bucket, msg,
                LAMBDA room : Continue(bucket, [Seeks(room).msg EXCEPT !.expected = msg.version]),
                LAMBDA way : LookUpOwn(bucket, msg, way),
                Seeks)

\* An operation that the bucket cannot answer stays as it came: the daemon does not hear of it.
OnGathered(bucket, msg) ==
  LET Stays(any) == Continue(bucket, msg)
  IN  Answering(bucket, msg, Stays, Stays, Stays)

OnFetched(bucket, msg) ==
  IF msg.kind = "Get" THEN OnGathered(bucket, msg) ELSE NotAGet :: Continue(bucket, msg)

(***************************************************************************)
(* What became of each operation of several                                *)
(***************************************************************************)

\* Barred: a lock, commit or abort that is Refused, and one of the store's writes that is Locked.
NoteOutcome(noted, msg) ==
  NoteAs(noted, msg, CASE msg.kind \in {"Inserted", "Updated", "Deleted", "Granted", "Committed", "Aborted"} -> "Done"
                       [] msg.kind \in {"Exists", "Absent", "Conflict"} -> "Refused"
                       [] msg.kind = "TooLong" -> "TooLong"
                       [] msg.kind \in {"Locked", "Refused"} -> "Barred"
                       [] OTHER -> "Alone")

Recollect(noted, msg) ==
  IF noted.tag = TagOf(msg) /\ noted.outcome = "Barred"
    THEN Continue(noted, [msg EXCEPT !.kind = IF msg.kind \in Transacting THEN "Refused" ELSE "Locked"])
    ELSE RecollectAs(noted, msg,
                     CASE msg.kind = "Insert" -> "Inserted"
                       [] msg.kind = "Update" -> "Updated"
                       [] msg.kind = "Delete" -> "Deleted"
                       [] msg.kind = "Lock" -> "Granted"
                       [] msg.kind = "Commit" -> "Committed"
                       [] OTHER -> "Aborted",
                     CASE msg.kind = "Insert" -> "Exists" [] msg.kind = "Lock" -> "Conflict" [] OTHER -> "Absent")

(***************************************************************************)
(* The rare path: what was found is brought into the bucket, and pinned.   *)
(***************************************************************************)

\* The way that was to be had is pinned by now.
IsTaken(bucket, msg) == msg.way \in 1..Ways /\ IsPinned(bucket, msg.way)

LockFound(bucket, msg) ==
  LET own == WayOf(bucket, msg.key)
      there == IF msg.found THEN msg.version ELSE 0
      Brought(b) == IF msg.found THEN Placed(b, msg.way, "Clean", msg.version, msg) ELSE Tombstone(b, msg.way, msg)
      granted == [msg EXCEPT !.kind = "Granted", !.version = there, !.moved = msg.lifted # "Empty"]
  IN
  CASE own > 0 ->
         LockOn(bucket, msg, own, msg.expected)
    [] bucket.epoch # msg.epoch ->
         LockLate :: Continue(bucket, msg)
    [] there # msg.expected ->
         FoundOther :: Continue(bucket, [msg EXCEPT !.kind = "Conflict", !.version = there])
    [] msg.found /\ IsLong(msg.length) ->
         TailFound :: Answered(bucket, msg, "TooLong")
    [] Stores(msg) /\ msg.entry = 0 ->
         NoRoomToLock :: Answered(bucket, msg, "NoRoom")
    [] ~ Ready(bucket, msg) ->
         LockNotReady :: Continue(bucket, msg)
    [] IsTaken(bucket, msg) ->
         PinnedSince :: Continue(bucket, msg)
    [] msg.lifted = "Empty" ->
         Continue(Pinned(Brought(bucket), msg.way), granted)
    [] OTHER ->
         Continue(Pinned(Moved(Brought(bucket), IF Stores(msg) THEN msg.filter \cup {msg.victim_bit} ELSE msg.filter), msg.way),
                  granted)

\* A get that finds no way is answered without one; a write must ask again.
OnOccCompletion(bucket, msg) ==
  LET own == WayOf(bucket, msg.key)
      locked == KeyIsLocked(bucket, msg)
  IN
  CASE msg.kind = "Lock" ->
         LockFound(bucket, msg)
    [] msg.kind \notin Writes \cup ReadCompletions ->
         Continue(bucket, msg)
    [] locked /\ msg.kind \in Writes ->
         CompletedLocked :: Answered(bucket, msg, "Locked")
    [] own = 0 /\ Places(msg) /\ IsTaken(bucket, msg) ->
         IF msg.kind = "Get" /\ bucket.epoch = msg.epoch
           THEN Continue(bucket, [msg EXCEPT !.kind = "Value", !.locked = FALSE])
           ELSE TakenSince :: Continue(bucket, msg)
    [] OTHER ->
         OnCompletion(bucket, [msg EXCEPT !.locked = locked])

(***************************************************************************)
(* The sweep                                                               *)
(***************************************************************************)

\* One place of a session that is over, in each sweep: goes on as the request that its client will not send.
Unsettled(transaction, msg, env) ==
  LET place == FirstIndex(1, Intents, 0, LAMBDA i : transaction.ways[i] # 0)
      request == [msg EXCEPT !.kind = IF transaction.verdict = "Committed" THEN "Commit" ELSE "Abort",
                             !.client = env.index, !.place = place - 1, !.way = transaction.ways[place]]
  IN
  IF env.index \in msg.gone /\ place > 0
    THEN Continue(transaction, [request EXCEPT !.intent = IntentOf(request)])
    ELSE Drop(transaction, msg)

\* Whoever has nothing left to settle may be retired.
IsSettled(transaction, msg, env) ==
  IF env.index \in msg.gone /\ PinsNone(transaction)
    THEN Continue(transaction, [msg EXCEPT !.client = env.index])
    ELSE Drop(transaction, msg)

(***************************************************************************)
(* Rows that were recovered, into a store in which nothing is locked.      *)
(***************************************************************************)

OccRefill(bucket, msg) ==
  IF msg.fate = "Pending" /\ bucket.pinned # {}
    THEN SomethingLocked :: Continue(bucket, [msg EXCEPT !.fate = "LockInTheWay"])
    ELSE Refill(bucket, msg)
=================================================================================
