------------------------------ MODULE KvGuarantees ------------------------------
(***************************************************************************)
(* Promises about single steps, for any sender and any delay.  Each        *)
(* section does only what it was asked for, and only as long as the cells  *)
(* are as they were seen.                                                  *)
(***************************************************************************)
EXTENDS Kv

\* Some way has the key.
HasKey(bucket, key) == \E i \in 1..Ways : bucket.marks[i] # "Empty" /\ bucket.keys[i] = key

InItsBucket(key) == HasKey(BucketOf(key), key)

\* The page may have the key, as far as its bucket tells.
MayBeInPage(msg) == Filtered => msg.bit \in BucketOf(msg.key).filter

\* The entry that a key has in its bucket.
OwnEntry(key) ==
  LET way == CHOOSE i \in 1..Ways : BucketOf(key).marks[i] # "Empty" /\ BucketOf(key).keys[i] = key
  IN  [mark |-> BucketOf(key).marks[way], entry |-> BucketOf(key).entries[way]]

\* The spot of the tail that a key has in its bucket; 0: it has none there.
OwnSpot(key) ==
  IF InItsBucket(key) /\ OwnEntry(key).mark # "Gone" /\ OwnEntry(key).entry.length > SlotSize THEN OwnEntry(key).entry.spot ELSE 0

\* A write with a long value.
HasLong(msg) == msg.kind \in {"Insert", "Update"} /\ msg.length > SlotSize

(***************************************************************************)
(* All sections of XDP and TC                                              *)
(***************************************************************************)

\* A request that has begun goes through all sections: nobody ends it before its session is idle and its page settled.
BegunIsEnded ==
  [][event'.step \in {"OnRequest", "OnFetched", "OnOperation", "Note", "Conclude", "Claim", "Lift", "Stow", "OnCompletion",
                       "Settle", "Shelve", "Remember"}
       => event'.verdict \in {"Continue", "Skip"}]_vars

\* Only the answer to a write is remembered.
WritesAreRemembered ==
  [][event'.step = "Remember" /\ cells'.answer # cells.answer => event'.message.kind \in Answers]_vars

\* A write that is sent again is answered again, unless its session has moved on since.
RecallsTheLast ==
  [][event'.step \in {"Recall", "RecallOne"} /\ event'.verdict = "Drop" =>
       cells.session[event'.given.client].sequence # event'.given.sequence]_vars

AtBucket == event'.step \in {"OnRequest", "OnFetched", "OnOperation", "OnCompletion"} /\ event'.message.kind # event'.given.kind

\* Missing says the floor, in a store that tells it, and else nothing new.
MissingSaysTheFloor ==
  [][AtBucket /\ event'.message.kind = "Missing" =>
       event'.message.version = IF TellsFloor THEN BucketOf(event'.given.key).floor ELSE event'.given.version]_vars

\* A deleted key leaves a tombstone in its bucket just where its page may have it.
TombstonesForAReason ==
  [][AtBucket /\ event'.message.kind = "Deleted" /\ InItsBucket(event'.given.key) =>
       HasKey(cells'.bucket[event'.given.slot], event'.given.key) = (WriteBack /\ MayBeInPage(event'.given))]_vars

\* A way that was used stays so as long as no entry has to go.
UsedStaysUsed ==
  [][AtBucket /\ WriteBack /\ InItsBucket(event'.given.key) =>
       BucketOf(event'.given.key).used \subseteq cells'.bucket[event'.given.slot].used]_vars

(***************************************************************************)
(* XDP                                                                     *)
(***************************************************************************)

\* A bucket whose filter is not asked says nothing about keys that it does not have.
UnfilteredIsSilent ==
  [][AtBucket /\ event'.step = "OnRequest" /\ ~ Filtered /\ ~ InItsBucket(event'.given.key) =>
       event'.message.kind = "TooLong"]_vars

HasRoom(bucket) == \E i \in 1..Ways : bucket.marks[i] \in {"Empty", "Clean"}

\* The daemon hears the epoch of the bucket. It hears the key's own way, or one that has room, or one that is to make
\* room. For a tail it hears which entry has it.
SeenAsItIs ==
  [][event'.step = "OnRequest" /\ event'.message.way # event'.given.way =>
       LET msg == event'.message
           bucket == BucketOf(msg.key)
       IN  /\ msg.epoch = bucket.epoch
           /\ msg.way \in 1..Ways
           /\ IF InItsBucket(msg.key)
                THEN /\ bucket.keys[msg.way] = msg.key
                     /\ msg.kind = "Get" => /\ msg.spot = bucket.entries[msg.way].spot
                                            /\ msg.version = bucket.entries[msg.way].version
                                            /\ msg.length = bucket.entries[msg.way].length
                ELSE /\ msg.evicts = (~ HasRoom(bucket) \/ ~ WriteBack)
                     /\ HasRoom(bucket) => bucket.marks[msg.way] \in {"Empty", "Clean"}]_vars

\* An entry that was used makes room only where all others that could were used. Then all go in turns, and so they do
\* where none is spared.
VictimsAreSpare ==
  [][event'.step = "OnRequest" /\ event'.message.way # event'.given.way /\ ~ InItsBucket(event'.given.key) =>
       LET bucket == BucketOf(event'.given.key)
           WaysMarked(marks) == {i \in 1..Ways : bucket.marks[i] \in marks}
           safe == WaysMarked({"Empty", "Clean"})
           spare == {i \in IF safe = {} THEN 1..Ways ELSE safe : bucket.marks[i] = "Empty" \/ i - 1 \notin bucket.used}
       IN  CASE SparesUsed /\ spare # {} -> event'.message.way \in spare
             [] safe # {} -> event'.message.way \in safe
             [] OTHER -> event'.message.way = 1 + (bucket.epoch % Ways)]_vars

(***************************************************************************)
(* Several operations in one message.  A section that loses its races did  *)
(* nothing.                                                                *)
(***************************************************************************)

\* An operation comes to what a request for it alone would, if the bucket has an answer to that. Else it stays as it is.
AnsweredAsAlone ==
  [][event'.step \in {"OnFetched", "OnOperation"} /\ event'.verdict # "Skip" =>
       LET given == event'.given
           alone == OnRequest(BucketOf(given.key), given)
           allowed == IF event'.step = "OnFetched" THEN {"Get"} ELSE {"Get", "Insert", "Update", "Delete"}
       IN  IF given.kind \in allowed /\ alone.msg.kind # given.kind
             THEN event'.message = alone.msg /\ cells'.bucket[given.slot] = alone.cell
             ELSE event'.message = given /\ cells' = cells]_vars

\* What became of each operation is noted in its own place.
OutcomesAreNoted ==
  [][event'.step = "Note" =>
       LET given == event'.given
           noted == cells'.noted[given.note]
       IN  /\ given.note \div Operations = given.client
           /\ noted.tag = TagOf(given) /\ noted.version = given.version
           /\ noted.outcome = CASE given.kind \in {"Inserted", "Updated", "Deleted"} -> "Done"
                                [] given.kind \in {"Exists", "Absent"} -> "Refused"
                                [] given.kind = "TooLong" -> "TooLong"
                                [] OTHER -> "Alone"]_vars

(***************************************************************************)
(* The daemon                                                              *)
(***************************************************************************)

\* The daemon drops only what XDP did not look at, and what would find an entry on its way.
DroppedForAReason ==
  [][event'.step = "UserStep" /\ event'.verdict = "Drop" =>
       event'.given.kind \notin Opening /\ (event'.given.way = 0 \/ IsOnItsWay(event'.given))]_vars

\* XDP saw a tail in the bucket. It says so only of a get.
SawATail(msg) == msg.kind = "Get" /\ msg.spot # 0

\* A tail that XDP saw in the bucket is read there, and the page has nothing to do with it.
TailsAreReadThere ==
  [][Looks /\ event'.verdict # "Drop" /\ SawATail(event'.given) =>
       event'.message = [event'.given EXCEPT !.found = FALSE, !.old = 0, !.entry = 0, !.filter = {},
                                             !.kind = event'.message.kind, !.length = event'.message.length,
                                             !.tail = event'.message.tail]]_vars

\* For all other requests, the daemon looks for the key in the page. What the packet says of that counts for nothing. Nothing that
\* is found is on its way.
FindsWhatIsThere ==
  [][Looks /\ event'.verdict # "Drop" /\ event'.given.kind \in Requests \cup Reads /\ ~ SawATail(event'.given) =>
       LET given == event'.given
           msg == event'.message
           own == EntryFor(given, given.key)
           entry == PageFor(given)[own].entry
       IN  /\ given.way # 0
           /\ ~ IsOnItsWay(given)
           /\ SaysWhatIsThere(given, msg)
           /\ own # 0 /\ given.kind = "Get" => msg.length = entry.length /\ msg.value = entry.value /\ msg.spot = entry.spot
           /\ own # 0 /\ given.kind # "Get" => msg.former = entry.spot
           /\ own = 0 => msg.former = 0
           /\ own = 0 \/ given.kind # "Get" => msg.spot = 0]_vars

\* A shelf has a new generation just where the daemon gives one of its free spots to a tail.
GenerationsTellOfTails ==
  [][event'.step \in {"Reserve", "UserStep"} => \A number \in 0..(Shelves - 1) :
       LET shelf == cells.shelf[number]
       IN  (cells'.shelf[number].generation # shelf.generation) =
             /\ event'.step = "Reserve" /\ event'.given.shelf = number
             /\ HasLong(event'.given) /\ event'.message.spot \in {i \in 1..Spots : i - 1 \notin shelf.taken}
             /\ event'.message.generation = cells'.shelf[number].generation]_vars

\* The daemon gives no tail a spot that is taken.
NoSpotForATail ==
  [][event'.step = "Reserve" /\ HasLong(event'.given) =>
       LET shelf == cells.shelf[event'.given.shelf]
       IN  event'.message.spot \notin {spot \in 1..Spots : spot - 1 \in shelf.taken}]_vars

(***************************************************************************)
(* TC.  Sections that lost their races did nothing.                        *)
(***************************************************************************)

\* A long value gets the spot where the daemon put it, if that is free and nobody has put another there. It is taken from
\* then on.
ClaimsWhatIsItsOwn ==
  [][event'.step = "Claim" /\ event'.verdict # "Skip" =>
       LET given == event'.given
           shelf == cells.shelf[given.shelf]
       IN  /\ event'.message.claimed = /\ HasLong(given) /\ given.spot # 0
                                       /\ given.generation = shelf.generation /\ given.spot - 1 \notin shelf.taken
           /\ cells'.shelf[given.shelf].taken = shelf.taken \cup (IF event'.message.claimed THEN {given.spot - 1} ELSE {})]_vars

\* The completion is to put its key into the bucket.
Enters(msg) == IF msg.found THEN msg.kind \in {"Get", "Update"} ELSE msg.kind = "Insert"

\* Another key's entry is lifted just where it is to make room, and is the one that XDP saw there. Where all is written
\* through, the page gets just what is written.
LiftsWhatIsToGo ==
  [][event'.step = "Lift" /\ event'.verdict # "Skip" /\ event'.given.kind \in Requests \cup Reads =>
       LET given == event'.given
           msg == event'.message
           bucket == BucketOf(given.key)
           asked == Enters(given) /\ given.epoch = bucket.epoch
       IN  IF WriteBack
             THEN /\ (msg.lifted # "Empty") = /\ asked /\ given.evicts /\ ~ InItsBucket(given.key)
                                              /\ bucket.marks[given.way] \in {"Dirty", "Gone"}
                                              /\ bucket.keys[given.way] = given.victim
                  /\ msg.lifted # "Empty" => msg.lifted = bucket.marks[given.way] /\ msg.carried = bucket.entries[given.way]
             ELSE /\ msg.lifted = IF asked /\ given.kind # "Get" THEN "Dirty" ELSE "Empty"
                  /\ msg.lifted # "Empty" => msg.carried.value = given.value /\ msg.carried.length = given.length]_vars

\* The entry that is to go from the page: the key's own where it is deleted, else an older one of the key that makes room.
Going(msg) == IF msg.lifted # "Empty" \/ (msg.kind = "Delete" /\ msg.found) THEN {msg.old} \ {0} ELSE {}
Coming(msg) == IF msg.lifted = "Dirty" THEN {msg.entry} ELSE {}

\* A run marks all that is to go from the page and to come, or nothing. It goes only if it is held and the right key's, and comes
\* only where nothing is.
StowsWhatIsToMove ==
  [][event'.step = "Stow" =>
       LET given == event'.given
           places == PageFor(given)
           key == IF given.kind = "Delete" THEN given.key ELSE given.victim
           joining == [mark |-> "Joining", slot |-> given.slot, key |-> given.victim, bit |-> given.victim_bit,
                       entry |-> given.carried]
       IN  IF event'.message.stowed
             THEN /\ \A j \in Going(given) : places[j].mark = "Held" /\ places[j].slot = given.slot /\ places[j].key = key
                  /\ \A j \in Coming(given) : places[j].mark = "Vacant"
                  /\ cells'.page[given.home].spilled = [j \in 1..PageSize |-> CASE j \in Coming(given) -> joining
                                                               [] j \in Going(given) -> [places[j] EXCEPT !.mark = "Leaving"]
                                                               [] OTHER -> places[j]]
             ELSE cells'.page[given.home].spilled = places]_vars

\* The entries that a run has on their way are all held afterwards, or gone. It touches no others.
SettlesWhatWasStowed ==
  [][event'.step = "Settle" =>
       LET given == event'.given
           places == PageFor(given)
           going == IF given.stowed THEN {given.old} \ {0} ELSE {}
           coming == IF given.stowed THEN Coming(given) ELSE {}
       IN  cells'.page[given.home].spilled = [j \in 1..PageSize |->
             IF j \in going \cup coming
               THEN [places[j] EXCEPT !.mark = IF (j \in coming) = given.moved THEN "Held" ELSE "Vacant"]
               ELSE places[j]]]_vars

\* A run frees the spot of what it has replaced or deleted; or the one that it has claimed, if it came to nothing.
ShelvesWhatIsFree ==
  [][event'.step = "Shelve" /\ event'.verdict # "Skip" =>
       LET given == event'.given
           free == CASE given.done -> {given.former - 1} [] given.claimed -> {given.spot - 1} [] OTHER -> {}
       IN  cells'.shelf[given.shelf].taken = cells.shelf[given.shelf].taken \ free]_vars

(***************************************************************************)
(* Completions at the bucket                                               *)
(***************************************************************************)

Completes == event'.step = "OnCompletion" /\ event'.given.kind \in Requests \cup Reads

\* A completion goes by what the bucket has of its key; where it writes through, by what the page has.
ByBucket(msg) == InItsBucket(msg.key) /\ (WriteBack \/ msg.kind \in Reads)

\* A finding of an earlier epoch comes to nothing.
LateComesToNothing ==
  [][Completes /\ ~ ByBucket(event'.given) /\ event'.given.epoch # BucketOf(event'.given.key).epoch =>
       event'.message = event'.given /\ cells' = cells]_vars

\* Whatever moves between a bucket and its page is on its way there: whoever looks meanwhile waits. The epoch counts each move,
\* and the filter is that of the page as it will be.
MovesWhatIsStowed ==
  [][Completes /\ event'.message.moved /\ ~ event'.given.moved =>
       /\ Going(event'.given) \cup Coming(event'.given) # {} => event'.given.stowed
       /\ event'.given.kind = "Delete" => event'.given.stowed
       /\ LET given == event'.given
               after == cells'.bucket[given.slot]
           IN  /\ after.epoch = (BucketOf(given.key).epoch + 1) % EpochModulus
               /\ after.filter = given.filter \cup (IF Coming(given) = {} THEN {} ELSE {given.victim_bit})]_vars

\* A dirty entry or a tombstone makes room only if it is as it was when it was lifted.
NothingElseGoes ==
  [][Completes =>
       LET given == event'.given
           before == BucketOf(given.key)
           after == cells'.bucket[given.slot]
       IN  \A i \in 1..Ways :
             before.marks[i] \in {"Dirty", "Gone"} /\ before.keys[i] # given.key
               => \/ after.marks[i] = before.marks[i] /\ after.keys[i] = before.keys[i] /\ after.entries[i] = before.entries[i]
                  \/ /\ i = given.way /\ event'.message.moved
                     /\ before.marks[i] = given.lifted /\ before.keys[i] = given.victim /\ before.entries[i] = given.carried]_vars

\* No key gets a second way.
OneWayEach ==
  [][Completes =>
       LET bucket == cells'.bucket[event'.given.slot]
       IN  Cardinality({i \in 1..Ways : bucket.marks[i] # "Empty" /\ bucket.keys[i] = event'.given.key}) <= 1]_vars

\* A get that finds its key in the page brings it into the bucket, if its way is free by now or may be emptied.
GotIsKept ==
  [][Completes /\ event'.verdict # "Skip" /\ event'.given.kind = "Get" /\ event'.given.found /\ ~ InItsBucket(event'.given.key) =>
       LET given == event'.given
           bucket == BucketOf(given.key)
           free == bucket.marks[given.way] \in {"Empty", "Clean"} /\ given.lifted = "Empty"
           safe == /\ given.stowed \/ Going(given) \cup Coming(given) = {}
                   /\ bucket.marks[given.way] = given.lifted /\ bucket.keys[given.way] = given.victim
                   /\ bucket.entries[given.way] = given.carried
       IN  given.epoch = bucket.epoch /\ given.way # 0 /\ (free \/ (WriteBack /\ safe)) =>
             HasKey(cells'.bucket[given.slot], given.key)]_vars

\* A get is answered at once if its key is in the bucket, without a tail and with none on the packet.
GetsAreAnswered ==
  [][Completes /\ event'.given.kind = "Get" /\ event'.given.spot = 0 /\ InItsBucket(event'.given.key)
       /\ OwnSpot(event'.given.key) = 0 /\ event'.verdict # "Skip" => event'.message.kind \in {"Value", "Missing"}]_vars

\* A value comes with a tail just if it is long. The tail is that of the entry in the bucket, if there is one.
TailsFit ==
  [][Completes /\ event'.given.kind = "Get" /\ event'.message.kind = "Value" =>
       LET given == event'.given
       IN  /\ (given.spot # 0) = (event'.message.length > SlotSize)
           /\ given.spot # 0 /\ InItsBucket(given.key) =>
                given.spot = OwnSpot(given.key) /\ given.version = OwnEntry(given.key).entry.version]_vars

\* Missing is said of a key that was deleted, or that the daemon has looked for in vain. An entry that XDP saw in the bucket
\* may have gone to the page since.
MissingForAReason ==
  [][Completes /\ event'.message.kind = "Missing" =>
       IF InItsBucket(event'.given.key) THEN OwnEntry(event'.given.key).mark = "Gone" ELSE event'.given.spot = 0]_vars

\* NoRoom is said only where the page has no place for what is to come, or the shelf none for a tail.
NoRoomForAReason ==
  [][Completes /\ event'.message.kind = "NoRoom" =>
       \/ event'.given.entry = 0 /\ event'.given.lifted = "Dirty"
       \/ event'.given.spot = 0 /\ HasLong(event'.given)]_vars

\* A completion is done if it wrote. Then the spot of the entry that it replaced or deleted is free, and no other.
FreesWhatIsReplaced ==
  [][Completes /\ event'.verdict # "Skip" =>
       /\ event'.message.done = (event'.message.kind \in {"Inserted", "Updated", "Deleted"})
       /\ event'.message.done =>
            event'.message.former = IF ByBucket(event'.given) THEN OwnSpot(event'.given.key) ELSE event'.given.former]_vars
=================================================================================
