------------------------------ MODULE StoreSteps ------------------------------
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
(* If a bucket cannot answer, the daemon looks in the page: it finds, TC   *)
(* commits.  XDP says what it saw (epoch, way, victim), the daemon what it *)
(* found.  `epoch` changes with every commit that moves something between  *)
(* a bucket and its page: what was found holds as long as the epoch is the *)
(* one that XDP saw.  No state of a bucket waits for the daemon.           *)
(*                                                                         *)
(* In the page an entry is Joining before the bucket is committed, and one *)
(* that is to go is Leaving.  Whoever sees one of these on its way asks    *)
(* again later.                                                            *)
(*                                                                         *)
(* Versions of a key only go up, also over its deletion: `floor` is the    *)
(* greatest version of a key that was deleted from this bucket.            *)
(*                                                                         *)
(* A value that is longer than a slot is a tail of the packet, which XDP   *)
(* and TC never read.  The daemon keeps it in a spot of the key's shelf;   *)
(* the entry says which, and 0 where it has no tail.  The daemon puts a    *)
(* tail in a spot that is not taken, and takes a new `generation` of the   *)
(* shelf; TC takes the spot if the shelf still has that generation.  So    *)
(* what was never committed is overwritten by and by, and nobody has to    *)
(* look for it.  Only TC replaces or deletes an entry with a tail, since   *)
(* its spot is free from then on.                                          *)
(*                                                                         *)
(* Cells: bucket [filter, epoch, floor, marks, used, keys, entries], page  *)
(* [spilled], shelf [generation, taken], tail [bytes], answer [sequence,   *)
(* version], noted [tag, version, outcome].                                *)
(***************************************************************************)
EXTENDS SessionSteps

CONSTANTS
  Ways,            \* entries of a bucket
  PageSize,        \* entries of a page
  SlotSize,        \* bytes of a value that an entry has itself
  ValueMax,        \* bytes of the longest value
  Spots,           \* of a shelf
  VersionModulus,
  EpochModulus,
  GenerationModulus,
  FilterBits,      \* bits of a bucket's filter
  Filtered,        \* whether the filter is asked
  WriteBack,       \* whether a write stays in the bucket until its way is needed
  SparesUsed,      \* whether entries that were used again are spared when a way is needed
  TellsFloor,      \* whether an answer that there is no such key says the bucket's floor
  Operations,      \* of one message
  TagModulus,      \* a note's tag counts modulo this
  Pinning          \* kinds of a protocol over this one's cells, which have their key brought into the bucket, there or not

NextVersion(version) == (version + 1) % VersionModulus
NextEpoch(epoch) == (epoch + 1) % EpochModulus
NextGeneration(generation) == (generation + 1) % GenerationModulus

IsLong(length) == length > SlotSize

\* A write that comes with a tail.
WritesTail(msg) == msg.kind \in {"Insert", "Update"} /\ IsLong(msg.length)

Answered(cell, msg, kind) == Continue(cell, [msg EXCEPT !.kind = kind])

WayOf(bucket, key) ==
  FirstIndex(1, Ways, 0, LAMBDA i : bucket.marks[i] # "Empty" /\ bucket.keys[i] = key)

IsLive(bucket, way) == bucket.marks[way] \in {"Clean", "Dirty"}

HasTail(bucket, way) == IsLive(bucket, way) /\ IsLong(bucket.entries[way].length)

IsUsed(bucket, way) == SparesUsed /\ way - 1 \in bucket.used

\* A way whose entry, if any, the page has as well.
RoomIn(bucket) ==
  LET idle == FirstIndex(1, Ways, 0, LAMBDA i : bucket.marks[i] = "Empty" \/ (bucket.marks[i] = "Clean" /\ ~ IsUsed(bucket, i)))
      clean == FirstIndex(1, Ways, 0, LAMBDA i : bucket.marks[i] = "Clean")
  IN  IF idle > 0 \/ ~ SparesUsed THEN idle ELSE clean

MayBeSpilled(bucket, msg) == Filtered => msg.bit \in bucket.filter

\* The mark of a way whose key is deleted.
Remains(bucket, msg) == IF MayBeSpilled(bucket, msg) THEN "Gone" ELSE "Empty"

Put(bucket, way, mark, version, msg) ==
  [bucket EXCEPT !.marks[way] = mark,
                 !.keys[way] = msg.key,
                 !.entries[way].version = version,
                 !.entries[way].length = msg.length,
                 !.entries[way].spot = msg.spot,
                 !.entries[way].value = msg.value]

\* `used` begins anew when an entry that was used has to go.
Placed(bucket, way, mark, version, msg) ==
  [Put(bucket, way, mark, version, msg) EXCEPT !.used = IF IsUsed(bucket, way) THEN {} ELSE @]

Used(bucket, way) == [bucket EXCEPT !.used = IF SparesUsed THEN @ \cup {way - 1} ELSE @]

Deleted(bucket, version) == [bucket EXCEPT !.floor = IF version > @ THEN version ELSE @]

\* A client that gets the same floor again knows that the key has not come and gone in between.
Missing(bucket, msg) ==
  Answered(bucket, IF TellsFloor THEN [msg EXCEPT !.version = bucket.floor] ELSE msg, "Missing")

(***************************************************************************)
(* A request for a key that is in the bucket.                              *)
(***************************************************************************)

InsertAt(bucket, msg, way, said) ==
  Continue(Put(bucket, way, "Dirty", NextVersion(bucket.floor), msg),
           [msg EXCEPT !.kind = said, !.version = NextVersion(bucket.floor), !.done = TRUE])

UpdateAt(bucket, msg, way, said) ==
  LET version == NextVersion(bucket.entries[way].version)
  IN  Continue(Used(Put(bucket, way, "Dirty", version, msg), way), [msg EXCEPT !.kind = said, !.version = version, !.done = TRUE])

DeleteAt(bucket, msg, way, said) ==
  LET version == bucket.entries[way].version
  IN  Continue([Deleted(bucket, version) EXCEPT !.marks[way] = Remains(bucket, msg)],
               [msg EXCEPT !.kind = said, !.version = version, !.done = TRUE])

OnEntry(bucket, msg, way) ==
  LET version == bucket.entries[way].version
  IN
  CASE msg.kind = "Get" ->
         IF IsLive(bucket, way)
           THEN Continue(Used(bucket, way), [msg EXCEPT !.kind = "Value",
                                                        !.version = version,
                                                        !.length = bucket.entries[way].length,
                                                        !.value = bucket.entries[way].value])
           ELSE Missing(bucket, msg)
    [] msg.kind = "Insert" ->
         IF IsLive(bucket, way)
           THEN Continue(bucket, [msg EXCEPT !.kind = "Exists", !.version = version])
           ELSE InsertAt(bucket, msg, way, "Inserted")
    [] ~ IsLive(bucket, way) ->
         Answered(bucket, msg, "Absent")
    [] msg.kind = "Update" ->
         UpdateAt(bucket, msg, way, "Updated")
    [] OTHER ->
         DeleteAt(bucket, msg, way, "Deleted")

(***************************************************************************)
(* XDP                                                                     *)
(***************************************************************************)

\* The way to be emptied for another entry, when all are Dirty or Gone.
Victim(bucket) ==
  LET idle == FirstIndex(1, Ways, 0, LAMBDA i : ~ IsUsed(bucket, i))
  IN  IF SparesUsed /\ idle > 0 THEN idle ELSE (bucket.epoch % Ways) + 1

\* Not answered: to the daemon, with what was seen here.
Seen(bucket, msg, way, victim, evicts) ==
  Continue(bucket, [msg EXCEPT !.epoch = bucket.epoch, !.way = way, !.victim = victim, !.evicts = evicts])

\* A key in the bucket: its tail is in userspace, or the new one must go there.  A write that goes through
\* replaces what the page has of its own key, and not of a victim.
LookUpOwn(bucket, msg, way) ==
  IF msg.kind = "Get"
    THEN TailRead :: Continue(bucket, [Seen(bucket, msg, way, msg.key, FALSE).msg EXCEPT
                                         !.version = bucket.entries[way].version,
                                         !.length = bucket.entries[way].length,
                                         !.spot = bucket.entries[way].spot])
    ELSE Written :: Seen(bucket, msg, way, msg.key, ~ WriteBack)

\* A key that is not in the bucket.
LookUpIn(bucket, msg, room, Spare(_)) ==
  LET way == IF room > 0 THEN room ELSE Spare(bucket)
  IN  Seen(bucket, msg, way, IF WriteBack THEN bucket.keys[way] ELSE msg.key, room = 0 \/ ~ WriteBack)

LookUp(bucket, msg, room) == LookUpIn(bucket, msg, room, Victim)

\* A request, where this way is room for another entry, or 0.  Own(_) and Other(_) say what becomes of one that the bucket
\* cannot answer: of a key that is in this way, and of another key, for which there is this room.
RequestElse(bucket, msg, room, Own(_), Other(_)) ==
  LET way == WayOf(bucket, msg.key)
  IN
  CASE msg.kind # "Get" /\ msg.length > ValueMax ->
         TooLong :: Answered(bucket, msg, "TooLong")
    [] way > 0 ->
         IF HasTail(bucket, way) \/ WritesTail(msg) \/ (~ WriteBack /\ msg.kind \notin Reads)
           THEN Own(way)
           ELSE OnEntry(bucket, msg, way)
    [] MayBeSpilled(bucket, msg) ->
         Other(room)
    [] msg.kind = "Get" ->
         NeverSpilled :: Missing(bucket, msg)
    [] msg.kind # "Insert" ->
         NotSpilled :: Answered(bucket, msg, "Absent")
    [] room > 0 /\ WriteBack /\ ~ IsLong(msg.length) ->
         Continue(Placed(bucket, room, "Dirty", NextVersion(bucket.floor), msg),
                  [msg EXCEPT !.kind = "Inserted", !.version = NextVersion(bucket.floor)])
    [] OTHER ->
         Full :: Other(room)

\* What the bucket cannot answer is the daemon's.  Without room, a way is chosen to be emptied.
RequestIn(bucket, msg, room, Spare(_)) ==
  RequestElse(bucket, msg, room, LAMBDA way : LookUpOwn(bucket, msg, way), LAMBDA free : LookUpIn(bucket, msg, free, Spare))

(***************************************************************************)
(* The daemon: what the page has of the key, and of the victim; an entry   *)
(* that is free; the filter as it will be without what is to go.           *)
(***************************************************************************)

\* An answer with a long value goes to the address that its session was opened from, and to no other: else a short request with
\* somebody's address as its source would have a long answer sent there.  A client with a new address gets an answer that says so.
Refused(msg) == [msg EXCEPT !.kind = "Uninvited", !.length = 0]

\* The daemon has done with what has no tail.
Decided(page, msg) == IF WritesTail(msg) \/ msg.spot > 0 THEN Continue(page, msg) ELSE Reply(page, msg)

\* Among handover fields, XDP sets the epoch, the way, the victim, and of a tail to be read its spot.  All else is said here,
\* whatever the packet has of it.
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
  CASE msg.kind \in Opening -> Reply(page, Invite(msg, env))
    [] msg.kind \notin Completions \cup ReadCompletions -> NotForwarded :: Drop(page, msg)
    [] msg.way = 0 -> NotSeen :: Drop(page, msg)
    [] msg.kind = "Get" /\ msg.spot > 0 ->
         Continue(page, [msg EXCEPT !.found = FALSE, !.old = 0, !.entry = 0, !.filter = {}])
    [] \E j \in 1..PageSize : Moves(j, msg.key) \/ (msg.evicts /\ Moves(j, msg.victim)) ->
         OnItsWay :: Drop(page, msg)
    [] own = 0 ->
         Decided(page, [msg EXCEPT !.found = FALSE, !.spot = 0, !.former = 0, !.old = old, !.entry = vacant, !.filter = filter])
    [] msg.kind = "Get" ->
         Decided(page, [msg EXCEPT !.found = TRUE,
                                   !.version = page.spilled[own].entry.version,
                                   !.length = page.spilled[own].entry.length,
                                   !.value = page.spilled[own].entry.value,
                                   !.spot = page.spilled[own].entry.spot,
                                   !.old = old, !.entry = vacant, !.filter = filter])
    [] msg.kind \in Pinning /\ IsLong(page.spilled[own].entry.length) /\ ~ env.validated ->
         PinnedElsewhere :: Reply(page, Refused(msg))
    [] msg.kind \in Pinning ->
         Reply(page, [msg EXCEPT !.found = TRUE, !.spot = 0,
                                 !.version = page.spilled[own].entry.version,
                                 !.length = page.spilled[own].entry.length,
                                 !.value = page.spilled[own].entry.value,
                                 !.old = old, !.entry = vacant, !.filter = filter])
    [] OTHER ->
         Decided(page, [msg EXCEPT !.found = TRUE,
                                   !.version = page.spilled[own].entry.version,
                                   !.spot = 0, !.former = page.spilled[own].entry.spot,
                                   !.old = old, !.entry = vacant, !.filter = filter])

\* A spot for the tail.  The generation is for whoever claims it.
Reserve(shelf, msg) ==
  LET free == FirstIndex(1, Spots, 0, LAMBDA i : i - 1 \notin shelf.taken)
  IN
  CASE ~ WritesTail(msg) -> Continue(shelf, msg)
    [] free = 0 -> ShelfFull :: Continue(shelf, [msg EXCEPT !.spot = 0])
    [] OTHER -> Continue([shelf EXCEPT !.generation = NextGeneration(@)],
                         [msg EXCEPT !.spot = free, !.generation = NextGeneration(shelf.generation)])

Keep(tail, msg, env) ==
  CASE msg.spot \notin 1..Spots -> Reply(tail, msg)
    [] msg.kind = "Get" ->
         IF env.validated
           THEN Reply(tail, [msg EXCEPT !.tail = tail.bytes[msg.spot]])
           ELSE Elsewhere :: Reply(tail, Refused(msg))
    [] OTHER -> Reply([tail EXCEPT !.bytes[msg.spot] = msg.tail], msg)

(***************************************************************************)
(* TC: lift a copy of what is to go from the bucket, stow it in the page,  *)
(* claim the spot of the tail, change the bucket, settle the page and the  *)
(* shelf.                                                                  *)
(***************************************************************************)

\* Whether the request is to have a place in the bucket.
Places(msg) == IF msg.found THEN msg.kind \in {"Get", "Update"} \cup Pinning ELSE msg.kind \in {"Insert"} \cup Pinning

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
                                      !.carried.spot = msg.spot,
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

\* Nobody puts another tail there from now on.
Claim(shelf, msg) ==
  CASE ~ WritesTail(msg) \/ msg.spot \notin 1..Spots -> Continue(shelf, msg)
    [] shelf.generation # msg.generation \/ msg.spot - 1 \in shelf.taken -> Overwritten :: Continue(shelf, msg)
    [] OTHER -> Continue([shelf EXCEPT !.taken = @ \cup {msg.spot - 1}], [msg EXCEPT !.claimed = TRUE])

\* True if the way is free, or its entry is unchanged since it was lifted, and is safe.  A write that goes through is safe
\* once the page has it, which it has not if Lift lost its races.
Ready(bucket, msg) ==
  CASE msg.way \notin 1..Ways -> FALSE
    [] (Dooms(msg) \/ Stores(msg) \/ (~ WriteBack /\ msg.kind # "Get")) /\ ~ msg.stowed -> FALSE
    [] ~ WriteBack \/ msg.lifted = "Empty" -> bucket.marks[msg.way] \in {"Empty", "Clean"}
    [] OTHER -> /\ bucket.marks[msg.way] = msg.lifted
                /\ bucket.keys[msg.way] = msg.victim
                /\ bucket.entries[msg.way].version = msg.carried.version

\* From now on, the page has lifted and doomed entries as they were announced.
Moved(bucket, filter) == [bucket EXCEPT !.epoch = NextEpoch(@), !.filter = filter]

\* A write whose tail is nowhere: there was no spot for it, or another was put there since.
Lacks(msg) == WritesTail(msg) /\ ~ msg.claimed

Untailed(bucket, msg) ==
  IF msg.spot = 0 THEN NoSpot :: Answered(bucket, msg, "NoRoom") ELSE Unclaimed :: Continue(bucket, msg)

\* A tail that was given to an entry that is no more may have been another's by then.
IsTailOf(msg, entry) == msg.spot = entry.spot /\ msg.version = entry.version

\* An entry with a tail that XDP saw here, so that nobody looked for it in the page, and that has made room since: of one
\* that the page has as well, the epoch does not tell.
GaveWay(msg) == msg.kind = "Get" /\ ~ msg.found /\ msg.spot > 0

OnCompletion(bucket, msg) ==
  LET own == WayOf(bucket, msg.key)
      way == IF own > 0 THEN own ELSE msg.way
      version == NewVersion(bucket, msg)
      mark == IF WriteBack /\ msg.kind # "Get" THEN "Dirty" ELSE "Clean"
      placed == [msg EXCEPT !.kind = IF msg.kind = "Get" THEN "Value" ELSE IF msg.found THEN "Updated" ELSE "Inserted",
                            !.version = version,
                            !.done = msg.kind # "Get",
                            !.moved = msg.lifted # "Empty"]
  IN
  CASE msg.kind \notin Completions \cup ReadCompletions ->
         Continue(bucket, msg)
    [] own > 0 /\ (WriteBack \/ msg.kind \in Reads) ->
         CASE Lacks(msg) /\ IsLive(bucket, own) = (msg.kind = "Update") ->
                Untailed(bucket, msg)
           [] msg.kind = "Get" /\ IF HasTail(bucket, own) THEN ~ IsTailOf(msg, bucket.entries[own]) ELSE msg.spot > 0 ->
                OtherTail :: Continue(bucket, msg)
           [] OTHER ->
                OnEntry(bucket, [msg EXCEPT !.former = IF HasTail(bucket, own) THEN bucket.entries[own].spot ELSE 0], own)
    [] bucket.epoch # msg.epoch ->
         Late :: Continue(bucket, msg)
    [] GaveWay(msg) ->
         NoLonger :: Continue(bucket, msg)
    [] msg.kind = "Get" /\ ~ msg.found ->
         Missing(bucket, msg)
    [] msg.kind = "Insert" /\ msg.found ->
         Answered(bucket, msg, "Exists")
    [] msg.kind # "Insert" /\ ~ msg.found ->
         Answered(bucket, msg, "Absent")
    [] msg.kind = "Delete" ->
         IF ~ msg.stowed
           THEN NotStowed :: Continue(bucket, msg)
           ELSE IF own > 0
                  THEN Continue([Moved(Deleted(bucket, msg.version), msg.filter) EXCEPT !.marks[own] = "Empty"],
                                [msg EXCEPT !.kind = "Deleted", !.done = TRUE, !.moved = TRUE])
                  ELSE Continue(Moved(Deleted(bucket, msg.version), msg.filter),
                                [msg EXCEPT !.kind = "Deleted", !.done = TRUE, !.moved = TRUE])
    [] msg.kind = "Get" /\ ~ Ready(bucket, msg) ->
         Uncached :: Answered(bucket, msg, "Value")
    [] Lacks(msg) ->
         Untailed(bucket, msg)
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

\* The claimed spot is the entry's now, or free again; that of the one that was replaced or deleted is free.
Shelve(shelf, msg) ==
  CASE msg.done /\ msg.former \in 1..Spots -> Continue([shelf EXCEPT !.taken = @ \ {msg.former - 1}], msg)
    [] ~ msg.done /\ msg.claimed /\ msg.spot \in 1..Spots -> Continue([shelf EXCEPT !.taken = @ \ {msg.spot - 1}], msg)
    [] OTHER -> Continue(shelf, msg)

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

(***************************************************************************)
(* Several operations in one message.  Each is a request of its own, on    *)
(* its own key.  One that its bucket cannot answer stays as it is, and its *)
(* client asks for it alone.                                               *)
(*                                                                         *)
(* Fetch gets keys, any number of times and in no order.  Gather may write *)
(* as well, at most once: what became of each operation is noted with the  *)
(* session, for when the request is sent again.  A value is not noted, so  *)
(* what a Gather gets is told once.                                        *)
(*                                                                         *)
(* A note's tag says whose it is: a sequence number, or its last bits.     *)
(* That a run lives while its session comes round to the same tag is       *)
(* assumed away, like that of an epoch.                                    *)
(***************************************************************************)

\* Each session has a place for each operation of a message.
NotePlace(answer, msg, env) == Continue(answer, [msg EXCEPT !.note = Operations * msg.client + env.position])

TagOf(msg) == msg.sequence % TagModulus

NoteAs(noted, msg, outcome) ==
  Continue([noted EXCEPT !.tag = TagOf(msg), !.version = msg.version, !.outcome = outcome], msg)

\* The request was sent again: its operations are answered as they were, unless another one was noted since.  `done` and
\* `refused` are the kinds that answer an operation of this kind.
RecollectAs(noted, msg, done, refused) ==
  CASE noted.tag # TagOf(msg) -> Overtaken :: Continue(noted, [msg EXCEPT !.overtaken = TRUE])
    [] noted.outcome = "TooLong" -> Continue(noted, [msg EXCEPT !.kind = "TooLong"])
    [] noted.outcome = "Done" -> Continue(noted, [msg EXCEPT !.kind = done, !.version = noted.version])
    [] noted.outcome = "Refused" -> Continue(noted, [msg EXCEPT !.kind = refused, !.version = noted.version])
    [] OTHER -> StillAlone :: Continue(noted, msg)

RecallOne(answer, msg) == IF msg.kind = "Gathered" THEN Several :: Continue(answer, msg) ELSE Recall(answer, msg)

Recalled(answer, msg) ==
  CASE msg.kind # "Gathered" -> NotRecalled :: Continue(answer, msg)
    [] msg.overtaken -> MovedPast :: Drop(answer, msg)
    [] OTHER -> Reply(answer, msg)

Conclude(answer, msg) ==
  CASE msg.kind = "Fetch" -> Continue(answer, [msg EXCEPT !.kind = "Fetched"])
    [] msg.kind = "Gather" -> Continue(answer, [msg EXCEPT !.kind = "Gathered"])
    [] OTHER -> NotGathered :: Continue(answer, msg)

(***************************************************************************)
(* Rows that were recovered, one of each key, into a store that serves     *)
(* nobody: the newest that it has, or is given, stays.                     *)
(***************************************************************************)

Take(row, msg) ==
  IF row.fate # "Pending"
    THEN Drop(row, msg)
    ELSE Continue(row, [msg EXCEPT !.key = row.key, !.slot = row.slot, !.bit = row.bit, !.home = row.home,
                                   !.version = row.version, !.length = row.length, !.value = row.value, !.spot = 0,
                                   !.lives = ~ row.deletes, !.spills = FALSE,
                                   !.fate = IF row.length > SlotSize THEN "TooLong" ELSE "Pending"])

\* An existing entry counts as new.
IsOlder(entry, msg) == entry.version >= msg.version

\* A row that the page has to take: from now on the key is looked for there.
ToPage(bucket, msg) ==
  Continue(IF msg.lives THEN [bucket EXCEPT !.filter = @ \cup {msg.bit}] ELSE Deleted(bucket, msg.version),
           [msg EXCEPT !.spills = TRUE])

Refill(bucket, msg) ==
  LET own == WayOf(bucket, msg.key)
      room == RoomIn(bucket)
      restored == [msg EXCEPT !.fate = "Restored"]
  IN
  CASE msg.fate # "Pending" -> Continue(bucket, msg)
    [] own > 0 /\ IsOlder(bucket.entries[own], msg) -> Continue(bucket, [msg EXCEPT !.fate = "Older"])
    [] own > 0 /\ HasTail(bucket, own) -> Continue(bucket, [msg EXCEPT !.fate = "TailInTheWay"])
    [] own > 0 /\ ~ WriteBack -> ToPage([bucket EXCEPT !.marks[own] = "Empty"], msg)
    [] own > 0 /\ msg.lives -> Continue(Put(bucket, own, "Dirty", msg.version, msg), restored)
    [] own > 0 ->
         Continue([Deleted(bucket, msg.version) EXCEPT !.marks[own] = Remains(bucket, msg),
                                                       !.entries[own].version = msg.version],
                  restored)
    [] MayBeSpilled(bucket, msg) \/ ~ WriteBack -> ToPage(bucket, msg)
    [] ~ msg.lives -> Continue(Deleted(bucket, msg.version), restored)
    [] room > 0 -> Continue(Placed(bucket, room, "Dirty", msg.version, msg), restored)
    [] OTHER -> ToPage(bucket, msg)

Overflow(page, msg) ==
  LET own == FirstIndex(1, PageSize, 0, LAMBDA j : /\ page.spilled[j].mark # "Vacant"
                                                   /\ page.spilled[j].slot = msg.slot
                                                   /\ page.spilled[j].key = msg.key)
      vacant == FirstIndex(1, PageSize, 0, LAMBDA j : page.spilled[j].mark = "Vacant")
      restored == [msg EXCEPT !.fate = "Restored"]
      Holds(j) == [page EXCEPT !.spilled[j].mark = "Held",
                               !.spilled[j].slot = msg.slot,
                               !.spilled[j].key = msg.key,
                               !.spilled[j].bit = msg.bit,
                               !.spilled[j].entry.version = msg.version,
                               !.spilled[j].entry.length = msg.length,
                               !.spilled[j].entry.spot = 0,
                               !.spilled[j].entry.value = msg.value]
  IN
  CASE ~ msg.spills -> Continue(page, msg)
    [] own > 0 /\ IsOlder(page.spilled[own].entry, msg) -> Continue(page, [msg EXCEPT !.fate = "Older"])
    [] own > 0 /\ IsLong(page.spilled[own].entry.length) -> Continue(page, [msg EXCEPT !.fate = "TailInTheWay"])
    [] own > 0 /\ msg.lives -> Continue(Holds(own), restored)
    [] own > 0 -> Continue([page EXCEPT !.spilled[own].mark = "Vacant"], restored)
    [] ~ msg.lives -> Continue(page, restored)
    [] vacant > 0 -> Continue(Holds(vacant), restored)
    [] OTHER -> Continue(page, [msg EXCEPT !.fate = "NoRoom"])

Report(row, msg) == Continue([row EXCEPT !.fate = msg.fate], msg)
================================================================================
