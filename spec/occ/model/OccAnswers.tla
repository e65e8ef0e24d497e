------------------------------- MODULE OccAnswers -------------------------------
(***************************************************************************)
(* What an answer tells its client, and what becomes of a transaction:     *)
(* promises about single steps, whoever sent the request.  So they also    *)
(* hold for clients that keep to no rule.                                  *)
(***************************************************************************)
EXTENDS Occ

(***************************************************************************)
(* A key, as the tables have it                                            *)
(***************************************************************************)

\* The ways of its bucket that have the key.
WaysWith(key) == {i \in 1..Ways : BucketOf(key).marks[i] # "Empty" /\ BucketOf(key).keys[i] = key}

IsLocked(key) == \E i \in WaysWith(key) : i - 1 \in BucketOf(key).pinned

\* All ways of the key's bucket are locked, and none has the key.
IsShutOut(key) == WaysWith(key) = {} /\ \A i \in 1..Ways : i - 1 \in BucketOf(key).pinned

\* The key's bucket can only make room in its page.
IsFull(key) == \A i \in 1..Ways : i - 1 \in BucketOf(key).pinned \/ BucketOf(key).marks[i] \in {"Dirty", "Gone"}

\* The key has this version; 0: it does not exist.
HasVersion(key, version) == IF version = 0 THEN ~ State(key).there ELSE State(key).there /\ State(key).version = version

\* The key's value is longer than a slot.
HasLongValue(key) ==
  LET standing == Standing(key, 0)
  IN  standing.there /\ standing.length > SlotSize

(***************************************************************************)
(* Steps at the bucket                                                     *)
(***************************************************************************)

\* Requests for one key.
Alone == {"Get"} \cup Writes \cup Transacting

\* A request is decided there, in XDP or as a completion in TC.
AtBucket == event'.step \in {"OnOccRequest", "OnGathered", "OnFetched", "OnOccCompletion"}

Decides(kind) == AtBucket /\ event'.given.kind = kind /\ event'.message.kind # kind

\* The version that a lock is to find.
ExpectedVersion == IF event'.step = "OnOccCompletion" THEN event'.given.expected ELSE event'.given.version

\* An answer says who asked, and answers what was asked. Until then a request stays what it is.
AnswersFit ==
  [][event'.from \in {"XDP", "TC"} \X Clients =>
       LET given == event'.given
           kind == event'.message.kind
       IN  /\ event'.message.client = given.client
           /\ event'.message.sequence = given.sequence
           /\ event'.message.place = given.place
           /\ given.kind \in {"Lock", "Commit", "Abort", "Insert", "Update", "Delete", "Get"} /\ kind # given.kind
                /\ event'.step # "Begin"
                => kind \in CASE given.kind = "Lock" -> {"Granted", "Conflict", "TooLong", "NoRoom", "Refused"}
                              [] given.kind = "Commit" -> {"Committed", "Refused"}
                              [] given.kind = "Abort" -> {"Aborted", "Refused"}
                              [] given.kind = "Insert" -> {"Inserted", "Exists", "NoRoom", "TooLong", "Locked"}
                              [] given.kind = "Update" -> {"Updated", "Absent", "NoRoom", "TooLong", "Locked"}
                              [] given.kind = "Delete" -> {"Deleted", "Absent", "Locked"}
                              [] OTHER -> {"Value", "Missing"}]_vars

\* A lock is granted where the key has the version that its client expects, and nobody has locked it. From then on a way
\* with that key is pinned.
GrantedAsExpected ==
  [][Decides("Lock") /\ event'.message.kind = "Granted" =>
       LET key == event'.given.key
           way == event'.message.way
           after == cells'.bucket[SlotOf(key)]
       IN  /\ ~ IsLocked(key)
           /\ HasVersion(key, ExpectedVersion)
           /\ event'.message.version = ExpectedVersion
           /\ after.marks[way] # "Empty" /\ after.keys[way] = key /\ way - 1 \in after.pinned]_vars

\* A lock conflicts only with another lock, or another version. Its answer says the version that the key has; only where all
\* ways of the bucket are locked, the one that was expected.
ConflictForAReason ==
  [][Decides("Lock") /\ event'.message.kind = "Conflict" =>
       LET key == event'.given.key
       IN  IF IsShutOut(key) /\ event'.message.version = ExpectedVersion
             THEN TRUE
             ELSE /\ IsLocked(key) \/ ~ HasVersion(key, ExpectedVersion)
                  /\ HasVersion(key, event'.message.version)]_vars

\* Only a long value is too long to lock, or to be what a lock writes.
TooLongForAReason ==
  [][event'.given.kind = "Lock" /\ event'.message.kind = "TooLong" /\ (AtBucket \/ event'.step = "Enter") =>
       IF AtBucket THEN HasLongValue(event'.given.key) ELSE event'.given.length > SlotSize]_vars

\* A granted lock has none.
GrantedIsShort ==
  [][event'.message.kind = "Granted" /\ AtBucket => ~ HasLongValue(event'.given.key)]_vars

\* NoRoom is answered only where neither the bucket nor its page has room.
NoRoomForAReason ==
  [][AtBucket /\ event'.message.kind = "NoRoom" =>
       LET key == event'.given.key
       IN  /\ IsFull(key)
           /\ \A j \in 1..PageSize : cells.page[HomeOf(SlotOf(key))].spilled[j].mark # "Vacant"]_vars

\* A write is answered Locked only while its key is, or while no way is left for it.
LockedForAReason ==
  [][AtBucket /\ event'.message.kind = "Locked" =>
       /\ IsLocked(event'.given.key) \/ IsShutOut(event'.given.key)
       /\ cells' = cells]_vars

\* A reader gets what is there at that moment, and hears whether it is locked.
ReadersHear ==
  [][AtBucket /\ event'.given.kind = "Get" /\ event'.message.kind \in {"Value", "Missing"} =>
       LET key == event'.given.key
       IN  /\ State(key).there = (event'.message.kind = "Value")
           /\ State(key).there => /\ event'.message.version = State(key).version
                                  /\ event'.message.length = Standing(key, 0).length
           /\ event'.message.locked = IsLocked(key)]_vars

\* The daemon is needed for a key that is not in its bucket and that the page may have, or for which the bucket has no room, and for
\* long values. All else is answered at once. (A section that lost its races did nothing.)
FewNeedTheDaemon ==
  [][event'.step \in {"OnOccRequest", "OnGathered", "OnFetched"} /\ event'.message.kind = event'.given.kind /\ event'.verdict # "Skip"
       /\ event'.given.kind \in (IF event'.step = "OnFetched" THEN {"Get"} ELSE Alone) =>
       LET key == event'.given.key
       IN  /\ event'.given.kind \notin {"Commit", "Abort"}
           /\ IF WaysWith(key) # {}
                THEN event'.given.kind # "Lock" /\ (HasLongValue(key) \/ event'.given.length > SlotSize)
                ELSE \/ BitOf(key) \in BucketOf(key).filter
                     \/ IsFull(key) /\ event'.given.kind \in {"Lock", "Insert"}]_vars

\* A way is emptied for another key only where the bucket has no other room. A locked way is never emptied. One that was
\* used again is emptied only where all others that may go were as well. Else they take turns.
VictimsAreSpare ==
  [][event'.step = "OnOccRequest" /\ event'.message.kind = event'.given.kind /\ event'.message.way # event'.given.way
       /\ WaysWith(event'.given.key) = {} =>
       LET bucket == BucketOf(event'.given.key)
           free == {i \in 1..Ways : i - 1 \notin bucket.pinned}
           room == {i \in free : bucket.marks[i] \in {"Empty", "Clean"}}
           turn == 1 + (bucket.epoch % Ways)
           Spare(ways) == {i \in ways : SparesUsed /\ (bucket.marks[i] = "Empty" \/ i - 1 \notin bucket.used)}
           Best(ways) == IF Spare(ways) # {} THEN Spare(ways) ELSE IF room = {} /\ turn \in ways THEN {turn} ELSE ways
       IN  /\ event'.message.evicts = (room = {})
           /\ free # {} => event'.message.way \in Best(IF room = {} THEN free ELSE room)]_vars

(***************************************************************************)
(* Transactions                                                            *)
(***************************************************************************)

PlacesIn(transaction) == {place \in 0..(Intents - 1) : transaction.ways[place + 1] # 0}

\* A lock is refused only where its place is taken, or while its transaction is being settled. A commit is refused only where
\* nothing was granted, or where its transaction is aborted. An abort is refused where its transaction is committed.
RefusedForAReason ==
  [][event'.message.kind = "Refused" /\ event'.given.kind \in {"Lock", "Commit", "Abort"} /\ event'.from \in {"XDP", "TC"} \X Clients
       /\ event'.step = "Enter" =>
       LET transaction == cells.transaction[event'.given.client]
           taken == event'.given.place \in PlacesIn(transaction)
       IN  CASE event'.given.kind = "Lock" -> taken \/ transaction.verdict # "Open"
             [] event'.given.kind = "Commit" -> ~ taken \/ transaction.verdict = "Aborted"
             [] OTHER -> transaction.verdict = "Committed"]_vars

\* The first place that is settled decides for all places of a transaction: they end as it did. When the last one has ended, the
\* next transaction begins.
SettledAlike ==
  [][\A client \in Clients :
       LET before == cells.transaction[client]
           after == cells'.transaction[client]
           ended == PlacesIn(before) \ PlacesIn(after)
       IN  before # after =>
             /\ event'.message.client = client
             /\ \/ ended = {} /\ PlacesIn(after) \ PlacesIn(before) = {event'.message.place} /\ before.verdict = "Open"
                   /\ event'.message.kind = "Granted"
                   /\ after = [before EXCEPT !.ways[event'.message.place + 1] = event'.message.way]
                \/ ended = {event'.message.place} /\ PlacesIn(after) \subseteq PlacesIn(before)
                   /\ event'.message.kind \in {"Committed", "Aborted"}
                   /\ before.verdict \in {"Open", event'.message.kind}
                   /\ after.verdict = IF PlacesIn(after) = {} THEN "Open" ELSE event'.message.kind
                \* A place that was never granted is aborted with all others.
                \/ ended = {} /\ PlacesIn(after) = PlacesIn(before) /\ after.verdict = event'.message.kind
                   /\ before.verdict = "Open" /\ event'.message.kind = "Aborted"]_vars

(***************************************************************************)
(* Writes                                                                  *)
(***************************************************************************)

\* The wishes of the write with this name and place: records of [key, deletes, length].
Asked(name, place) ==
  LET client == ClientOf(name)
      number == NumberOf(name)
      Of(key, deletes, length) == [key |-> key, deletes |-> deletes, length |-> length]
  IN  IF AllWhims[client] # << >>
        THEN LET whims == AllWhims[client][number]
                 all == whims \cup UNION {{whim.several[i] : i \in DOMAIN whim.several} : whim \in whims}
             IN  {Of(whim.key, whim.deletes \/ whim.kind = "Delete", whim.length) :
                    whim \in {each \in all : each.kind \in {"Lock"} \cup Writes /\ each.place = place}}
        ELSE LET write == All[client][number].writes[place + 1]
             IN  {Of(write[1], write[2] = "Delete", Length(ValueOf(name, place)))}

\* A client of the model wrote it. Others have left something behind before it begins.
IsAsked(name) == AllWhims[ClientOf(name)] # << >> \/ NumberOf(name) \in DOMAIN All[ClientOf(name)]

\* A client's write does as it asked: it writes that key with that value in full length, or deletes it.
WrittenAsAsked ==
  \A key \in Keys :
    LET standing == Standing(key, 0)
        last == history[key][Len(history[key])]
    IN  /\ standing.there /\ standing.value >= 100 /\ IsAsked(WhoseIs(standing.value)) =>
             \E write \in Asked(WhoseIs(standing.value), standing.value % 10) :
               write.key = key /\ ~ write.deletes /\ write.length = standing.length
        /\ ~ last.there /\ last.by # 0 /\ IsAsked(last.by) => \E place \in 0..(Intents - 1) : \E write \in Asked(last.by, place) : write.key = key /\ write.deletes

\* The answer to a commit says the version that the key has from then on, or had until it was deleted.
CommittedSaysVersion ==
  [][AtBucket /\ event'.given.kind = "Commit" /\ event'.message.kind = "Committed" =>
       \A key \in Keys : State(key)' # State(key) => ~ State(key)'.there \/ State(key)'.version = event'.message.version]_vars

\* An intent stays as long as its place pins a way.
IntentsStay ==
  [][\A client \in Clients : \A place \in PlacesIn(cells.transaction[client]) \cap PlacesIn(cells'.transaction[client]) :
       cells'.intent[client * Intents + place] = cells.intent[client * Intents + place]]_vars

\* When nothing is in flight, the way that a place pins has a key of the bucket and the bit that its intent says.
IntentsFit ==
  NobodyInFlight =>
    \A each \in HeldPlaces :
      LET intent == cells.intent[each[1] * Intents + each[2]]
          key == cells.bucket[intent.slot].keys[Pin(each[1], each[2])[2]]
      IN  SlotOf(key) = intent.slot /\ BitOf(key) = intent.bit
=================================================================================
