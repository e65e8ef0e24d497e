------------------------------ MODULE OccGuarantees ------------------------------
(***************************************************************************)
(* What each section does for whoever sent the packet, and however late it *)
(* is: promises about single steps.  OccAnswers says what an answer may    *)
(* be; here is what becomes of a request, of its place and of the bucket.  *)
(***************************************************************************)
EXTENDS OccAnswers

\* A section that lost its races did nothing. Events of the sweep do not tell that.
Does(steps) == event'.step \in steps /\ event'.verdict # "Skip" /\ (event'.from = "sweep" => ~ Contention)

Transacts(msg) == msg.kind \in {"Lock", "Commit", "Abort"}

Settles(msg) == msg.kind \in {"Commit", "Abort"}

\* The content of a key; all missing keys are alike.
Content(key) == Standing(key, 0)

\* The bucket has a way with the key.
Has(bucket, key) == \E i \in 1..Ways : bucket.marks[i] # "Empty" /\ bucket.keys[i] = key

(***************************************************************************)
(* A session's transaction and its intents                                 *)
(***************************************************************************)

\* A request that has begun goes through all sections: nobody ends it before its session is idle.
BegunIsEnded ==
  [][event'.step \in {"Enter", "Note", "OnOccRequest", "OnGathered", "OnFetched", "OnOccCompletion", "Settled", "Leave", "NotePlace",
                       "NoteOutcome", "Conclude"}
       => event'.verdict \in {"Continue", "Skip"}]_vars

\* A lock goes on to its bucket where its place is free, its transaction undecided and its value short. A commit goes on where its
\* place was granted and nothing was aborted, and an abort where nothing was committed.
EntersAsItMay ==
  [][event'.step = "Enter" /\ Transacts(event'.given) =>
       LET given == event'.given
           transaction == cells.transaction[given.client]
           granted == given.place \in PlacesIn(transaction)
       IN  /\ (event'.message.kind = given.kind) =
                CASE given.kind = "Lock" -> ~ granted /\ transaction.verdict = "Open" /\ given.length <= SlotSize
                  [] given.kind = "Commit" -> granted /\ transaction.verdict # "Aborted"
                  [] OTHER -> granted /\ transaction.verdict # "Committed"
           /\ event'.message.kind = "Aborted" => transaction.verdict # "Committed"]_vars

\* Whatever goes on has the intent of its own place, and the way that this place pins.
EntersWithItsOwn ==
  [][event'.step = "Enter" /\ Transacts(event'.given) /\ event'.message.kind = event'.given.kind =>
       LET given == event'.given
       IN  /\ event'.message.intent = given.client * Intents + given.place
           /\ event'.message.way = cells.transaction[given.client].ways[given.place + 1]]_vars

\* The store's own requests pass the sections of transactions as they are, and so do answers.
OthersPass ==
  [][event'.step \in {"Enter", "Note"} /\ ~ Transacts(event'.given) => event'.message = event'.given /\ cells' = cells]_vars

\* The wish of a lock is noted before it is granted. Its place is settled by what was noted, whatever the request says.
NotedIsSettled ==
  [][event'.step = "Note" /\ Transacts(event'.given) =>
       LET given == event'.given
           Wish(whose) == <<whose.slot, whose.bit, whose.deletes, whose.length, whose.value>>
       IN  IF given.kind = "Lock"
             THEN Wish(cells'.intent[given.intent]) = Wish(given) /\ event'.message = given
             ELSE Wish(event'.message) = Wish(cells.intent[given.intent]) /\ cells' = cells]_vars

\* A granted place pins the way that was locked for it, and a settled one pins none. All other places stay. The first place that is
\* settled decides, until none is left.
OutcomeIsNoted ==
  [][event'.step = "Leave" =>
       LET given == event'.given
           before == cells.transaction[given.client]
           after == cells'.transaction[given.client]
           settled == given.kind \in {"Committed", "Aborted"}
           way == IF given.kind = "Granted" THEN given.way ELSE IF settled THEN 0 ELSE before.ways[given.place + 1]
       IN  /\ after.ways = [before.ways EXCEPT ![given.place + 1] = way]
           /\ after.verdict = IF ~ settled THEN before.verdict ELSE IF PlacesIn(after) = {} THEN "Open" ELSE given.kind
           /\ event'.message = given]_vars

(***************************************************************************)
(* The bucket                                                              *)
(***************************************************************************)

\* It is not for the bucket to decide this message. In the sweep, it decides commits and aborts alone.
IsDecided ==
  IF event'.step = "Settled" THEN ~ Settles(event'.given) ELSE AtBucket /\ event'.given.kind \notin Requests \cup Reads

\* Only requests are decided at the bucket. An answer that another section has given stays.
DecidedStaysDecided == [][IsDecided => event'.message = event'.given /\ cells' = cells]_vars

\* The daemon hears the epoch of the bucket, and which key of it is to make room in which way. It hears what version a lock expects.
SeenAsItIs ==
  [][Does({"OnOccRequest"}) /\ event'.message.kind = event'.given.kind /\ event'.given.kind \in Alone =>
       LET msg == event'.message
           bucket == BucketOf(msg.key)
       IN  /\ msg.epoch = bucket.epoch
           /\ msg.way \in 1..Ways
           /\ msg.victim = bucket.keys[msg.way]
           /\ WaysWith(msg.key) # {} => msg.way \in WaysWith(msg.key)
           /\ msg.kind = "Lock" => msg.expected = event'.given.version]_vars

\* If all ways of a bucket are locked, a request that needs one is answered at once.
ShutOutHearsAtOnce ==
  [][Does({"OnOccRequest", "OnGathered"}) /\ event'.given.kind \in {"Lock", "Insert", "Update"} /\ IsShutOut(event'.given.key) =>
       event'.message.kind # event'.given.kind]_vars

\* A lock changes no key. Only one that is granted pins a way, its own one.
LocksChangeNothing ==
  [][AtBucket /\ event'.given.kind = "Lock" =>
       LET slot == event'.given.slot
       IN  /\ \A key \in Keys : Content(key)' = Content(key)
           /\ cells'.bucket[slot].pinned =
                cells.bucket[slot].pinned \cup (IF event'.message.kind = "Granted" THEN {event'.message.way - 1} ELSE {})]_vars

\* A lock of a missing key leaves a tombstone that is as new as any deletion in the bucket. So no older row comes back over it.
TombstonesAreNew ==
  [][AtBucket /\ event'.given.kind = "Lock" /\ event'.message.kind = "Granted" /\ WaysWith(event'.given.key) = {} =>
       LET after == cells'.bucket[event'.given.slot]
           way == event'.message.way
       IN  after.marks[way] = "Gone" => after.entries[way].version >= after.floor]_vars

\* A commit does what was noted with the key of the way that its place pins. An abort does nothing. Both free the way, and change
\* no other key.
SettledAsIntended ==
  [][Does({"OnOccRequest", "OnGathered", "Settled"}) /\ Settles(event'.given) =>
       LET given == event'.given
           bucket == cells.bucket[given.slot]
           commits == given.kind = "Commit"
       IN  /\ event'.message.kind = IF commits THEN "Committed" ELSE "Aborted"
           /\ cells'.bucket[given.slot].pinned = bucket.pinned \ {given.way - 1}
           /\ \A key \in Keys :
                IF key = bucket.keys[given.way] /\ commits
                  THEN /\ Content(key)'.there = ~ given.deletes
                       /\ ~ given.deletes => /\ Content(key)'.value = given.value
                                             /\ Content(key)'.length = given.length
                                             /\ Content(key)'.version = event'.message.version
                  ELSE Content(key)' = Content(key)]_vars

\* A commit over an entry has the next version. Over none it has one that the bucket has not given to any key that was deleted.
CommittedIsNewer ==
  [][Does({"OnOccRequest", "OnGathered", "Settled"}) /\ event'.given.kind = "Commit" =>
       LET given == event'.given
           bucket == cells.bucket[given.slot]
       IN  \A key \in Keys :
             key = bucket.keys[given.way] =>
               IF given.deletes
                 THEN cells'.bucket[given.slot].floor >= Content(key).version
                 ELSE Content(key)'.version = 1 + (IF Content(key).there THEN Content(key).version ELSE bucket.floor)]_vars

\* A key that is missing once its place is settled leaves a tombstone just where its page may have it.
TombstonesForAReason ==
  [][Does({"OnOccRequest", "OnGathered", "Settled"}) /\ Settles(event'.given) =>
       LET given == event'.given
           bucket == cells'.bucket[given.slot]
       IN  \A key \in Keys :
             key = cells.bucket[given.slot].keys[given.way] /\ ~ Content(key)'.there =>
               bucket.marks[given.way] = IF BitOf(key) \in bucket.filter THEN "Gone" ELSE "Empty"]_vars

\* An entry that no page has stays where it is, and so does a tombstone. Only a request for its own key changes it, or it was lifted
\* for another key and has not changed since.
NothingElseGoes ==
  [][AtBucket =>
       LET given == event'.given
           before == cells.bucket[given.slot]
           after == cells'.bucket[given.slot]
           asked == IF Settles(given) THEN {given.way} ELSE {i \in 1..Ways : before.keys[i] = given.key}
       IN  before # after =>
             \A i \in (1..Ways) \ asked :
               before.marks[i] \in {"Dirty", "Gone"}
                 => \/ after.marks[i] = before.marks[i] /\ after.keys[i] = before.keys[i] /\ after.entries[i] = before.entries[i]
                    \/ /\ event'.step = "OnOccCompletion" /\ i = given.way /\ event'.message.moved
                       /\ before.marks[i] = given.lifted /\ before.keys[i] = given.victim /\ before.entries[i] = given.carried]_vars

\* An entry that is brought in from the page may be overwritten without loss, as the page has it as well.
BroughtIsClean ==
  [][event'.step = "OnOccCompletion" /\ event'.given.kind \in {"Lock", "Get"} /\ event'.given.found /\ WaysWith(event'.given.key) = {} =>
       LET bucket == cells'.bucket[event'.given.slot]
       IN  \A i \in 1..Ways : bucket.marks[i] \in {"Dirty", "Gone"} => bucket.keys[i] # event'.given.key]_vars

(***************************************************************************)
(* Several operations in one message                                       *)
(***************************************************************************)

\* An operation comes to what a request for it alone would, if the bucket has an answer to that. Else it stays as it is.
AnsweredAsAlone ==
  [][Does({"OnGathered", "OnFetched"}) =>
       LET given == event'.given
           alone == OnOccRequest(cells.bucket[given.slot], given)
       IN  IF given.kind \in (IF event'.step = "OnFetched" THEN {"Get"} ELSE Alone) /\ alone.msg.kind # given.kind
             THEN event'.message = alone.msg /\ cells'.bucket[given.slot] = alone.cell
             ELSE event'.message = given /\ cells' = cells]_vars

\* What became of each operation is noted in its own place.
OutcomesAreNoted ==
  [][event'.step = "NoteOutcome" =>
       LET given == event'.given
           noted == cells'.noted[given.note]
       IN  /\ given.note \div Operations = given.client
           /\ noted.tag = TagOf(given) /\ noted.version = given.version
           /\ (noted.outcome = "Alone") = (given.kind \in Requests \cup Reads \cup ReadAnswers)]_vars

\* A request that is sent again hears of each operation what was noted, so that the same would be noted again.
HeardAsNoted ==
  [][event'.step = "Recollect" /\ ~ event'.message.overtaken /\ event'.given.kind \in Writes \cup Transacting =>
       LET noted == cells.noted[event'.given.note]
           again == NoteOutcome(noted, event'.message).cell
       IN  again.tag = noted.tag /\ again.outcome = noted.outcome /\ (noted.outcome \in {"Done", "Refused"} => again = noted)]_vars

(***************************************************************************)
(* The daemon, and what TC lifts for it                                    *)
(***************************************************************************)

\* The daemon drops a lock that XDP did not look at, and one whose key or victim is on its way. All others hear what the page has
\* of their keys. A long value is said only to the address that its session was opened from.
LocksHearWhatIsThere ==
  [][Looks /\ event'.given.kind = "Lock" =>
       LET given == event'.given
           msg == event'.message
           own == EntryFor(given, given.key)
           entry == PageFor(given)[own].entry
       IN  /\ (event'.verdict = "Drop") = (given.way = 0 \/ IsOnItsWay(given))
           /\ event'.verdict # "Drop" =>
                IF own # 0 /\ entry.length > SlotSize /\ ~ Validated(given, event'.to[2])
                  THEN msg = [given EXCEPT !.kind = "Uninvited", !.length = 0]
                  ELSE /\ msg.kind = "Lock" /\ msg.spot = 0
                       /\ SaysWhatIsThere(given, msg)
                       /\ own # 0 => msg.length = entry.length /\ msg.value = entry.value]_vars

\* For a lock, another key's entry is lifted just where it is to make room, and is the one that XDP saw there.
LiftedForLocks ==
  [][Does({"Lift"}) /\ event'.given.kind = "Lock" =>
       LET given == event'.given
           msg == event'.message
           bucket == BucketOf(given.key)
       IN  /\ (msg.lifted # "Empty") = /\ given.epoch = bucket.epoch /\ given.evicts /\ WaysWith(given.key) = {}
                                       /\ bucket.marks[given.way] \in {"Dirty", "Gone"} /\ bucket.keys[given.way] = given.victim
           /\ msg.lifted # "Empty" => msg.lifted = bucket.marks[given.way] /\ msg.carried = bucket.entries[given.way]]_vars

(***************************************************************************)
(* Completions                                                             *)
(***************************************************************************)

Completes == Does({"OnOccCompletion"}) /\ event'.given.kind \in Requests \cup Reads

\* A finding of an earlier epoch comes to nothing, unless the bucket has the key by now.
LateComesToNothing ==
  [][Completes /\ WaysWith(event'.given.key) = {} /\ event'.given.epoch # BucketOf(event'.given.key).epoch =>
       event'.message.kind = event'.given.kind /\ cells' = cells]_vars

\* The entries of the page that are to go, and to come.
Going(msg) == IF msg.lifted # "Empty" \/ (msg.kind = "Delete" /\ msg.found) THEN {msg.old} \ {0} ELSE {}
Coming(msg) == IF msg.lifted = "Dirty" THEN {msg.entry} ELSE {}

\* The completion can have its way: it was given one, nobody has locked it, and it is free, or its entry is on its way to the page.
MayHaveItsWay(msg) ==
  LET bucket == BucketOf(msg.key)
  IN  /\ msg.way > 0
      /\ msg.way - 1 \notin bucket.pinned
      /\ IF msg.lifted = "Empty"
           THEN bucket.marks[msg.way] \in {"Empty", "Clean"}
           ELSE /\ msg.stowed \/ Going(msg) \cup Coming(msg) = {}
                /\ bucket.marks[msg.way] = msg.lifted /\ bucket.keys[msg.way] = msg.victim /\ bucket.entries[msg.way] = msg.carried

\* The daemon has found what the completion asks for.
FindsWhatItNeeds(msg) ==
  CASE msg.kind = "Lock" -> msg.expected = (IF msg.found THEN msg.version ELSE 0) /\ (msg.found => msg.length <= SlotSize)
    [] msg.kind = "Insert" -> ~ msg.found
    [] OTHER -> msg.found

\* A completion brings its key into the bucket just where it finds what it needs, and may have its way there.
BringsWhatItFinds ==
  [][Completes /\ WaysWith(event'.given.key) = {} /\ event'.given.kind # "Delete" /\ event'.given.length <= SlotSize =>
       LET given == event'.given
       IN  Has(cells'.bucket[given.slot], given.key) =
             (given.epoch = BucketOf(given.key).epoch /\ FindsWhatItNeeds(given) /\ MayHaveItsWay(given))]_vars

\* A lock that brings its key in is granted, with the version that it expects. So may be one whose key is in the bucket by now.
GrantedWhereItMay ==
  [][Completes /\ event'.given.kind = "Lock" =>
       LET given == event'.given
       IN  /\ event'.message.kind = "Granted" => event'.message.version = given.expected
           /\ IF WaysWith(given.key) = {}
                THEN Has(cells'.bucket[given.slot], given.key) => event'.message.kind = "Granted"
                ELSE event'.message.kind \in {"Granted", "Conflict", "TooLong"}]_vars

\* A lock that cannot have its way waits, as long as what was found holds.
LockWaits ==
  [][Completes /\ event'.given.kind = "Lock" /\ WaysWith(event'.given.key) = {} /\ event'.given.epoch = BucketOf(event'.given.key).epoch =>
       LET given == event'.given
       IN  event'.message.kind =
             CASE (IF given.found THEN given.version ELSE 0) # given.expected -> "Conflict"
               [] given.found /\ given.length > SlotSize -> "TooLong"
               [] Coming(given) = {0} -> "NoRoom"
               [] MayHaveItsWay(given) -> "Granted"
               [] OTHER -> "Lock"]_vars

\* Whatever moves between a bucket and its page is marked there first. The epoch counts each move, and the filter fits the page as it
\* will be. Without a move both stay.
MovesWhatIsStowed ==
  [][Completes =>
       LET given == event'.given
           before == BucketOf(given.key)
           after == cells'.bucket[given.slot]
       IN  IF event'.message.moved
             THEN /\ Going(given) \cup Coming(given) # {} => given.stowed
                  /\ after.epoch = (before.epoch + 1) % EpochModulus
                  /\ after.filter = given.filter \cup (IF Coming(given) = {} THEN {} ELSE {given.victim_bit})
             ELSE after.epoch = before.epoch /\ after.filter = before.filter]_vars

\* A completion moves what it has lifted, or what it deletes, once it has done what was asked for.
MovesWhatWasLifted ==
  [][Completes /\ WaysWith(event'.given.key) = {} /\ event'.given.kind # "Delete" =>
       event'.message.moved = (Has(cells'.bucket[event'.given.slot], event'.given.key) /\ event'.given.lifted # "Empty")]_vars

\* A read is answered as long as what was found holds, though its key may find no way in the bucket.
ReadsAreAnswered ==
  [][Completes /\ event'.given.kind = "Get" /\ event'.given.spot = 0 /\ event'.given.length <= SlotSize =>
       LET given == event'.given
       IN  (IF WaysWith(given.key) = {} THEN given.epoch = BucketOf(given.key).epoch ELSE ~ HasLongValue(given.key))
             => event'.message.kind \in {"Value", "Missing"}]_vars

\* A write that needs no way is answered as long as what was found holds, though all ways may be locked.
WritesAreAnswered ==
  [][Completes /\ event'.given.kind \in {"Insert", "Update"} /\ event'.given.found = (event'.given.kind = "Insert")
       /\ event'.given.epoch = BucketOf(event'.given.key).epoch /\ WaysWith(event'.given.key) = {} =>
       event'.message.kind \in {"Exists", "Absent"}]_vars

\* A write of a key that is in its bucket, and that nobody has locked, is answered. One that is locked is refused.
WritesHear ==
  [][Completes /\ event'.given.kind \in Writes /\ WaysWith(event'.given.key) # {} /\ event'.given.length <= SlotSize =>
       /\ event'.message.kind # event'.given.kind
       /\ (event'.message.kind = "Locked") = IsLocked(event'.given.key)]_vars

(***************************************************************************)
(* The sweep                                                               *)
(***************************************************************************)

Swept == event'.to[2]

\* The sweep settles places of sessions that are over, and of no others. It goes on as the request that their clients owe: it
\* commits where that was decided, and else aborts.
SweepSettlesForTheDead ==
  [][event'.step = "Unsettled" =>
       LET transaction == cells.transaction[Swept]
           msg == event'.message
       IN  /\ (event'.verdict = "Continue") = (Swept \in event'.given.gone /\ PlacesIn(transaction) # {})
           /\ event'.verdict = "Continue" =>
                /\ msg.client = Swept
                /\ msg.place \in PlacesIn(transaction)
                /\ msg.way = transaction.ways[msg.place + 1]
                /\ msg.intent = Swept * Intents + msg.place
                /\ msg.kind = IF transaction.verdict = "Committed" THEN "Commit" ELSE "Abort"]_vars

\* A session may be retired just if it is over and none of its places is left.
RetiresTheSettled ==
  [][event'.step = "IsSettled" =>
       /\ (event'.verdict = "Continue") = (Swept \in event'.given.gone /\ PlacesIn(cells.transaction[Swept]) = {})
       /\ event'.verdict = "Continue" => event'.message.client = Swept]_vars
=================================================================================
