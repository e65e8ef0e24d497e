-------------------------------- MODULE KvSteps --------------------------------
(***************************************************************************)
(* A write-back key-value store.                                           *)
(*                                                                         *)
(* A bucket holds up to Ways entries, and a filter of the keys that were   *)
(* spilled from it to its page.  A way is                                  *)
(*                                                                         *)
(*   Empty                                                                 *)
(*   Clean   the page has the same entry                                   *)
(*   Dirty   newer than what the page has of this key, if anything         *)
(*   Gone    deleted, and the page may still have an older entry           *)
(*                                                                         *)
(* What a bucket cannot answer for, the daemon looks up in the page: it    *)
(* finds, TC commits.  XDP says what it saw (epoch, way, victim), the      *)
(* daemon what it found.  `epoch` changes with every commit that moves     *)
(* something between a bucket and its page: what was found holds as long   *)
(* as the epoch is the one that XDP saw.  No state of a bucket waits for   *)
(* the daemon.                                                             *)
(*                                                                         *)
(* In the page an entry is Joining before the bucket is committed, and one *)
(* that is to go is Leaving.  Whoever sees one of these on its way asks    *)
(* again later.                                                            *)
(*                                                                         *)
(* Versions of a key only go up, also over its deletion: `floor` is the    *)
(* greatest version of a key that was deleted from this bucket.            *)
(*                                                                         *)
(* Cells: bucket [filter, epoch, floor, marks, used, keys, entries], page  *)
(* [spilled], answer [sequence, version].                                  *)
(***************************************************************************)
EXTENDS SessionSteps

CONSTANTS
  Ways,            \* entries of a bucket
  PageSize,        \* entries of a page
  SlotSize,        \* bytes of the longest value
  VersionModulus,
  EpochModulus,
  FilterBits,      \* bits of a bucket's filter
  Filtered,        \* whether the filter is asked
  WriteBack,       \* whether a write stays in the bucket until its way is needed
  SparesUsed       \* whether entries that were used again are spared when a way is needed

NextVersion(version) == (version + 1) % VersionModulus
NextEpoch(epoch) == (epoch + 1) % EpochModulus

Answered(cell, msg, kind) == Continue(cell, [msg EXCEPT !.kind = kind])

WayOf(bucket, key) ==
  FirstIndex(1, Ways, 0, LAMBDA i : bucket.marks[i] # "Empty" /\ bucket.keys[i] = key)

IsUsed(bucket, way) == SparesUsed /\ way - 1 \in bucket.used

\* A way whose entry, if any, the page has as well.
RoomIn(bucket) ==
  LET idle == FirstIndex(1, Ways, 0, LAMBDA i : bucket.marks[i] = "Empty" \/ (bucket.marks[i] = "Clean" /\ ~ IsUsed(bucket, i)))
      clean == FirstIndex(1, Ways, 0, LAMBDA i : bucket.marks[i] = "Clean")
  IN  IF idle > 0 \/ ~ SparesUsed THEN idle ELSE clean

MayBeSpilled(bucket, msg) == Filtered => msg.bit \in bucket.filter

Put(bucket, way, mark, version, msg) ==
  [bucket EXCEPT !.marks[way] = mark,
                 !.keys[way] = msg.key,
                 !.entries[way].version = version,
                 !.entries[way].length = msg.length,
                 !.entries[way].value = msg.value]

\* `used` begins anew when an entry that was used has to go.
Placed(bucket, way, mark, version, msg) ==
  [Put(bucket, way, mark, version, msg) EXCEPT !.used = IF IsUsed(bucket, way) THEN {} ELSE @]

Used(bucket, way) == [bucket EXCEPT !.used = IF SparesUsed THEN @ \cup {way - 1} ELSE @]

Deleted(bucket, version) == [bucket EXCEPT !.floor = IF version > @ THEN version ELSE @]

(***************************************************************************)
(* A request for a key that is in the bucket.                              *)
(***************************************************************************)

OnEntry(bucket, msg, way) ==
  LET version == bucket.entries[way].version
      live == bucket.marks[way] \in {"Clean", "Dirty"}
  IN
  CASE msg.kind = "Get" ->
         IF live
           THEN Continue(Used(bucket, way), [msg EXCEPT !.kind = "Value",
                                                        !.version = version,
                                                        !.length = bucket.entries[way].length,
                                                        !.value = bucket.entries[way].value])
           ELSE Answered(bucket, msg, "Missing")
    [] msg.kind = "Insert" ->
         IF live
           THEN Continue(bucket, [msg EXCEPT !.kind = "Exists", !.version = version])
           ELSE Continue(Put(bucket, way, "Dirty", NextVersion(bucket.floor), msg),
                         [msg EXCEPT !.kind = "Inserted", !.version = NextVersion(bucket.floor)])
    [] ~ live ->
         Answered(bucket, msg, "Absent")
    [] msg.kind = "Update" ->
         Continue(Used(Put(bucket, way, "Dirty", NextVersion(version), msg), way),
                  [msg EXCEPT !.kind = "Updated", !.version = NextVersion(version)])
    [] OTHER ->
         Continue([Deleted(bucket, version) EXCEPT
                     !.marks[way] = IF MayBeSpilled(bucket, msg) THEN "Gone" ELSE "Empty"],
                  [msg EXCEPT !.kind = "Deleted", !.version = version])

(***************************************************************************)
(* XDP                                                                     *)
(***************************************************************************)

\* The way to be emptied for another entry, when all are Dirty or Gone.
Victim(bucket) ==
  LET idle == FirstIndex(1, Ways, 0, LAMBDA i : ~ IsUsed(bucket, i))
  IN  IF SparesUsed /\ idle > 0 THEN idle ELSE (bucket.epoch % Ways) + 1

\* Not answered: to the daemon, with what was seen here.  A write that goes
\* through replaces what the page has of its own key, and not of a victim.
LookUp(bucket, msg) ==
  LET own == WayOf(bucket, msg.key)
      room == RoomIn(bucket)
      way == IF own > 0 THEN own ELSE IF room > 0 THEN room ELSE Victim(bucket)
  IN  Continue(bucket, [msg EXCEPT !.epoch = bucket.epoch,
                                   !.way = way,
                                   !.victim = IF WriteBack THEN bucket.keys[way] ELSE msg.key,
                                   !.evicts = room = 0 \/ ~ WriteBack])

OnRequest(bucket, msg) ==
  LET way == WayOf(bucket, msg.key)
      room == RoomIn(bucket)
  IN
  CASE msg.kind # "Get" /\ msg.length > SlotSize ->
         TooLong :: Answered(bucket, msg, "TooLong")
    [] way > 0 ->
         IF WriteBack \/ msg.kind \in Reads
           THEN OnEntry(bucket, msg, way)
           ELSE WrittenThrough :: LookUp(bucket, msg)
    [] MayBeSpilled(bucket, msg) ->
         LookUp(bucket, msg)
    [] msg.kind = "Get" ->
         NeverSpilled :: Answered(bucket, msg, "Missing")
    [] msg.kind # "Insert" ->
         NotSpilled :: Answered(bucket, msg, "Absent")
    [] room > 0 /\ WriteBack ->
         Continue(Placed(bucket, room, "Dirty", NextVersion(bucket.floor), msg),
                  [msg EXCEPT !.kind = "Inserted", !.version = NextVersion(bucket.floor)])
    [] OTHER ->
         Full :: LookUp(bucket, msg)

(***************************************************************************)
(* The daemon: what the page has of the key, and of the victim; an entry   *)
(* that is free; the filter as it will be without what is to go.           *)
(***************************************************************************)

Find(page, msg, env) ==
  LET Here(j) == page.spilled[j].mark # "Vacant" /\ page.spilled[j].slot = msg.slot
      Has(j, key) == Here(j) /\ page.spilled[j].key = key
      Moves(j, key) == Has(j, key) /\ page.spilled[j].mark # "Held"
      own == FirstIndex(1, PageSize, 0, LAMBDA j : Has(j, msg.key))
      older == FirstIndex(1, PageSize, 0, LAMBDA j : Has(j, msg.victim))
      vacant == FirstIndex(1, PageSize, 0, LAMBDA j : page.spilled[j].mark = "Vacant")
      old == IF msg.kind = "Delete" THEN own ELSE IF msg.evicts THEN older ELSE 0
      filter == {page.spilled[j].bit : j \in {i \in 1..PageSize : Here(i) /\ i # old}}
  IN
  CASE msg.kind = "Open" -> Reply(page, Invite(msg, env))
    [] msg.way = 0 -> NotSeen :: Drop(page, msg)
    [] \E j \in 1..PageSize : Moves(j, msg.key) \/ (msg.evicts /\ Moves(j, msg.victim)) ->
         OnItsWay :: Drop(page, msg)
    [] own = 0 ->
         Reply(page, [msg EXCEPT !.found = FALSE, !.old = old, !.entry = vacant, !.filter = filter])
    [] msg.kind = "Get" ->
         Reply(page, [msg EXCEPT !.found = TRUE,
                                 !.version = page.spilled[own].entry.version,
                                 !.length = page.spilled[own].entry.length,
                                 !.value = page.spilled[own].entry.value,
                                 !.old = old, !.entry = vacant, !.filter = filter])
    [] OTHER ->
         Reply(page, [msg EXCEPT !.found = TRUE,
                                 !.version = page.spilled[own].entry.version,
                                 !.old = old, !.entry = vacant, !.filter = filter])

(***************************************************************************)
(* TC: lift a copy of what is to go from the bucket, stow it in the page,  *)
(* change the bucket, settle the page.                                     *)
(***************************************************************************)

\* Whether the request is to have a place in the bucket.
Places(msg) == IF msg.found THEN msg.kind \in {"Get", "Update"} ELSE msg.kind = "Insert"

NewVersion(bucket, msg) ==
  CASE msg.kind = "Get" -> msg.version
    [] msg.found -> NextVersion(msg.version)
    [] OTHER -> NextVersion(bucket.floor)

Lift(bucket, msg) ==
  CASE ~ Places(msg) \/ bucket.epoch # msg.epoch \/ msg.way \notin 1..Ways -> Continue(bucket, msg)
    [] ~ WriteBack /\ msg.kind # "Get" ->
         Continue(bucket, [msg EXCEPT !.lifted = "Dirty",
                                      !.carried.version = NewVersion(bucket, msg),
                                      !.carried.length = msg.length,
                                      !.carried.value = msg.value])
    [] WayOf(bucket, msg.key) > 0 \/ bucket.marks[msg.way] \in {"Empty", "Clean"} -> Continue(bucket, msg)
    [] ~ msg.evicts \/ bucket.keys[msg.way] # msg.victim -> Replaced :: Continue(bucket, [msg EXCEPT !.way = 0])
    [] OTHER ->
         Continue(bucket, [msg EXCEPT !.lifted = bucket.marks[msg.way], !.carried = bucket.entries[msg.way]])

\* Whether a page's entry is to go, and whether one is to come.
Dooms(msg) == msg.old \in 1..PageSize /\ (msg.lifted # "Empty" \/ (msg.kind = "Delete" /\ msg.found))
Stores(msg) == msg.lifted = "Dirty"

\* The one that is to go, as it was found.
OldOne(page, msg, key) ==
  /\ page.spilled[msg.old].mark = "Held"
  /\ page.spilled[msg.old].slot = msg.slot
  /\ page.spilled[msg.old].key = key

Joined(page, msg) ==
  [page EXCEPT !.spilled[msg.entry] = [mark |-> "Joining", slot |-> msg.slot, key |-> msg.victim, bit |-> msg.victim_bit,
                                       entry |-> msg.carried]]

Stow(page, msg) ==
  LET stowed == [msg EXCEPT !.stowed = TRUE]
      Left(p) == [p EXCEPT !.spilled[msg.old].mark = "Leaving"]
  IN
  IF Stores(msg)
    THEN CASE msg.entry \notin 1..PageSize -> PageFull :: Continue(page, msg)
           [] page.spilled[msg.entry].mark # "Vacant" -> EntryTaken :: Continue(page, msg)
           [] ~ Dooms(msg) -> Continue(Joined(page, msg), stowed)
           [] ~ OldOne(page, msg, msg.victim) -> OldOneGone :: Continue(page, msg)
           [] OTHER -> Continue(Joined(Left(page), msg), stowed)
    ELSE CASE ~ Dooms(msg) -> Continue(page, msg)
           [] ~ OldOne(page, msg, IF msg.kind = "Delete" THEN msg.key ELSE msg.victim) -> OldOneMoved :: Continue(page, msg)
           [] OTHER -> Continue(Left(page), stowed)

\* Whether the way is free, or what was in it still is as it was lifted and is safe.
Ready(bucket, msg) ==
  CASE msg.way \notin 1..Ways -> FALSE
    [] (Dooms(msg) \/ Stores(msg)) /\ ~ msg.stowed -> FALSE
    [] ~ WriteBack \/ msg.lifted = "Empty" -> bucket.marks[msg.way] \in {"Empty", "Clean"}
    [] OTHER -> /\ bucket.marks[msg.way] = msg.lifted
                /\ bucket.keys[msg.way] = msg.victim
                /\ bucket.entries[msg.way].version = msg.carried.version

\* What was lifted or doomed is in the page as it was announced, from now on.
Moved(bucket, filter) == [bucket EXCEPT !.epoch = NextEpoch(@), !.filter = filter]

OnCompletion(bucket, msg) ==
  LET own == WayOf(bucket, msg.key)
      way == IF own > 0 THEN own ELSE msg.way
      version == NewVersion(bucket, msg)
      mark == IF WriteBack /\ msg.kind # "Get" THEN "Dirty" ELSE "Clean"
      placed == [msg EXCEPT !.kind = IF msg.kind = "Get" THEN "Value" ELSE IF msg.found THEN "Updated" ELSE "Inserted",
                            !.version = version,
                            !.moved = msg.lifted # "Empty"]
  IN
  CASE msg.kind \notin Requests \cup Reads ->
         Continue(bucket, msg)
    [] own > 0 /\ (WriteBack \/ msg.kind \in Reads) ->
         OnEntry(bucket, msg, own)
    [] bucket.epoch # msg.epoch ->
         Late :: Continue(bucket, msg)
    [] msg.kind = "Get" /\ ~ msg.found ->
         Answered(bucket, msg, "Missing")
    [] msg.kind = "Insert" /\ msg.found ->
         Answered(bucket, msg, "Exists")
    [] msg.kind # "Insert" /\ ~ msg.found ->
         Answered(bucket, msg, "Absent")
    [] msg.kind = "Delete" ->
         IF ~ msg.stowed
           THEN NotStowed :: Continue(bucket, msg)
           ELSE IF own > 0
                  THEN Continue([Moved(Deleted(bucket, msg.version), msg.filter) EXCEPT !.marks[own] = "Empty"],
                                [msg EXCEPT !.kind = "Deleted", !.moved = TRUE])
                  ELSE Continue(Moved(Deleted(bucket, msg.version), msg.filter),
                                [msg EXCEPT !.kind = "Deleted", !.moved = TRUE])
    [] msg.kind = "Get" /\ ~ Ready(bucket, msg) ->
         Uncached :: Answered(bucket, msg, "Value")
    [] Stores(msg) /\ msg.entry = 0 ->
         Answered(bucket, msg, "NoRoom")
    [] ~ Ready(bucket, msg) ->
         NotReady :: Continue(bucket, msg)
    [] msg.lifted = "Empty" ->
         Continue(Placed(bucket, way, mark, version, msg), placed)
    [] OTHER ->
         Continue(Moved(Placed(bucket, way, mark, version, msg),
                        IF Stores(msg) THEN msg.filter \cup {msg.victim_bit} ELSE msg.filter),
                  placed)

Settle(page, msg) ==
  LET Gone(p) == [p EXCEPT !.spilled[msg.old].mark = IF msg.moved THEN "Vacant" ELSE "Held"]
      Come(p) == [p EXCEPT !.spilled[msg.entry].mark = IF msg.moved THEN "Held" ELSE "Vacant"]
      goes == msg.old \in 1..PageSize
      comes == Stores(msg) /\ msg.entry \in 1..PageSize
  IN
  CASE msg.stowed /\ goes /\ comes -> Continue(Come(Gone(page)), msg)
    [] msg.stowed /\ comes -> Continue(Come(page), msg)
    [] msg.stowed /\ goes -> Continue(Gone(page), msg)
    [] OTHER -> Continue(page, msg)

(***************************************************************************)
(* The version that a write came to, for a client that asks again.         *)
(***************************************************************************)

Recall(answer, msg) ==
  CASE msg.kind \in Requests \cup Reads -> Continue(answer, msg)
    [] answer.sequence # msg.sequence -> MovedOn :: Drop(answer, msg)
    [] OTHER -> Reply(answer, [msg EXCEPT !.version = answer.version])

Remember(answer, msg) ==
  IF msg.kind \in Answers
    THEN Continue([answer EXCEPT !.sequence = msg.sequence, !.version = msg.version], msg)
    ELSE Continue(answer, msg)
================================================================================
