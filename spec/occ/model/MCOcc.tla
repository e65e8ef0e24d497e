---------------------------------- MODULE MCOcc ----------------------------------
(* Bounds of the models of transactions: what models.yaml cannot say. *)
EXTENDS OccGuarantees, TLC

(***************************************************************************)
(* Where keys go                                                           *)
(***************************************************************************)

First(number) == 0
Own(number) == number
OddOrEven(number) == number % 2

\* Key 0 is in the second bucket, and key 1 in the first; bits and pages are others than buckets.
Crossed(number) == (number + 1) % 2
Third(number) == (number + 2) % 3

(***************************************************************************)
(* Programs                                                                *)
(***************************************************************************)

Of(first, others) == [client \in Clients |-> IF client = 0 THEN first ELSE others]

Transaction(reads, writes, validates) ==
  [reads |-> reads, writes |-> writes, validates |-> validates, ends |-> {"Commit"}, plain |-> FALSE,
   gathers |-> FALSE]

\* Asks for all at once.
AtOnce(transaction) == [transaction EXCEPT !.gathers = TRUE]

\* May think better of it.
MayAbort(transaction) == [transaction EXCEPT !.ends = {"Commit", "Abort"}]

Plain(kind, key) ==
  [reads |-> << >>, writes |-> << <<key, kind>> >>, validates |-> << >>, ends |-> {"Commit"}, plain |-> TRUE,
   gathers |-> FALSE]

Gets(key) == Transaction(<<key>>, << >>, << >>)

\* Reads a key and writes it, or deletes it; inserts one.
Increments(key) == Transaction(<<key>>, << <<key, "Put">> >>, << >>)
Removes(key) == Transaction(<<key>>, << <<key, "Delete">> >>, << >>)
Inserts(key) == Transaction(<< >>, << <<key, "Put">> >>, << >>)

\* Both keys.
IncrementsBoth == Transaction(<<0, 1>>, << <<0, "Put">>, <<1, "Put">> >>, << >>)
InsertsBoth == Transaction(<< >>, << <<0, "Put">>, <<1, "Put">> >>, << >>)
Moves == Transaction(<<0>>, << <<0, "Delete">>, <<1, "Put">> >>, << >>)

\* Reads both, as they were at one moment.
Audits == Transaction(<<0, 1>>, << >>, <<0, 1>>)

\* The second key was as it is when it was read, and the first one then as well: one validation is enough.
AuditsLess == Transaction(<<0, 1>>, << >>, <<0>>)

\* One client alone.
IncrementAlone == Of(<<Increments(0)>>, << >>)
InsertAlone == Of(<<Inserts(0)>>, << >>)
InsertBothAlone == Of(<<InsertsBoth>>, << >>)
InsertOrNotAlone == Of(<<MayAbort(Inserts(0))>>, << >>)
IncrementBothAlone == Of(<<IncrementsBoth>>, << >>)

\* The first client is dead from the start.
NobodyAlive == Of(<< >>, << >>)
AuditAlone == Of(<< >>, <<Audits>>)
AuditLessAlone == Of(<< >>, <<AuditsLess>>)
InsertOtherAlone == Of(<< >>, <<Plain("Insert", 1)>>)
GetOtherAlone == Of(<< >>, <<Gets(1)>>)

\* Two that each read what the other writes: what is there, or what is not.
Skews(from, to) == Transaction(<<from, to>>, << <<to, "Put">> >>, <<from>>)
WriteSkew == Of(<<Skews(0, 1)>>, <<Skews(1, 0)>>)
InsertsUnless(from, to) == Transaction(<<from>>, << <<to, "Put">> >>, <<from>>)
InsertSkew == Of(<<InsertsUnless(0, 1)>>, <<InsertsUnless(1, 0)>>)
InsertUnlessInserted == Of(<<InsertsUnless(0, 1)>>, <<Plain("Insert", 0)>>)

\* Two that write one key.
TwoIncrements == Of(<<Increments(0)>>, <<Increments(0)>>)
TwoInserts == Of(<<Inserts(0)>>, <<Inserts(0)>>)

\* Both keys, while the other reads both, or moves one to the other.
InsertBothAndAudit == Of(<<InsertsBoth>>, <<Audits>>)
InsertBothAndGet == Of(<<InsertsBoth>>, <<Gets(1)>>)
IncrementBothAndMove == Of(<<IncrementsBoth>>, <<Moves>>)

\* Each has a key of its own.
IncrementAndInsert == Of(<<Increments(0)>>, <<Inserts(1)>>)

\* Against the store's own requests.
IncrementAndUpdate == Of(<<Increments(0)>>, <<Plain("Update", 0)>>)
InsertAndInsert == Of(<<Inserts(0)>>, <<Plain("Insert", 0)>>)
InsertOrNotAndInsert == Of(<<MayAbort(Inserts(0))>>, <<Plain("Insert", 0)>>)
RemoveAndInsert == Of(<<Removes(0)>>, <<Plain("Insert", 0)>>)
IncrementAndInsertOther == Of(<<Increments(0)>>, <<Plain("Insert", 1)>>)
InsertAndGetOther == Of(<<Inserts(0)>>, <<Gets(1)>>)

\* Both lock both keys, each beginning with another one.
InsertBothEach == Of(<<InsertsBoth>>, <<Transaction(<< >>, << <<1, "Put">>, <<0, "Put">> >>, << >>)>>)

\* Several at once.
IncrementBothAtOnce == Of(<<AtOnce(IncrementsBoth)>>, << >>)
AuditAtOnce == Of(<< >>, <<AtOnce(Audits)>>)
SkewAtOnce == Of(<<AtOnce(Skews(0, 1))>>, <<AtOnce(Skews(1, 0))>>)

\* One transaction after the other.
IncrementThenRemove == Of(<<Increments(0), Removes(0)>>, << >>)

\* Reads a key that does not exist, and another, while both come and go.
ComesAndGoes ==
  Of(<<Transaction(<<0, 1>>, << >>, <<1, 0>>)>>,
     <<Plain("Insert", 0), Plain("Update", 1), Plain("Update", 1), Plain("Delete", 0)>>)

(***************************************************************************)
(* Whims                                                                   *)
(***************************************************************************)

NoWhims == [client \in Clients |-> << >>]

Whim(kind, key, place, version) ==
  [kind |-> kind, key |-> key, place |-> place, version |-> version, deletes |-> FALSE, length |-> 2 + place,
   several |-> << >>]
Ends(kinds, places) == {Whim(kind, 2, place, 0) : kind \in kinds, place \in places}

\* Both keys are locked; then places are taken, settled and locked again in any order, also those that were never granted.
Whimsical ==
  <<{Whim("Lock", 0, 1, 5)},
    {Whim("Lock", 1, 0, 7), Whim("Lock", 1, 1, 7), Whim("Lock", 1, 0, 6), Whim("Lock", 0, 0, 5)},
    Ends({"Commit", "Abort"}, {0, 1}),
    Ends({"Commit", "Abort"}, {0}) \cup {Whim("Lock", 0, 1, 5), Whim("Update", 0, 0, 0)},
    Ends({"Commit", "Abort"}, {0, 1})>>
OneWhimsical == Of(<< >>, Whimsical)

\* Locks in two buckets, also for a deletion, and commits or aborts.
LockInTwoBuckets ==
  Of(<< >>, <<{Whim("Lock", 0, 1, 5)}, {Whim("Lock", 1, 0, 7), [Whim("Lock", 1, 0, 7) EXCEPT !.deletes = TRUE, !.length = 0]},
              Ends({"Commit", "Abort"}, {1})>>)

\* One locks what is spilled, the other changes what has to make room for it.
LockFirstAndUpdate == Of(<<{Whim("Lock", 0, 1, 4)}>>, <<{Whim("Update", 1, 0, 0)}>>)

\* Has locked, and does no more.
Sits == <<{}>>

\* One locks what is spilled, with the right version or a wrong one, or what only the daemon knows not to be there.
LockFirst == Of(<< >>, <<{Whim("Lock", 0, 1, version) : version \in {0, 3, 4}} \cup {Whim("Lock", 3, 1, 3)}, {Whim("Abort", 0, 1, 0)}>>)

\* The other does something to the way, the page or the epoch that this needs.
LockFirstAndMeddle ==
  Of(<<{Whim("Lock", 0, 1, 4)}>>, <<{Whim("Lock", 1, 1, 7), Whim("Lock", 2, 1, 3)}>>)
LockFirstAndGet ==
  Of(<<{Whim("Get", 0, 0, 0), Whim("Insert", 3, 0, 0)}>>, <<{Whim("Lock", 1, 1, 7)}>>)

\* Another key is to be found a place for, while some ways are pinned.
SitsAndSeeks == Of(Sits, <<{Whim("Lock", 4, 0, 0), Whim("Lock", 3, 0, 4), Whim("Insert", 4, 0, 0), Whim("Get", 3, 0, 0)}>>)

\* One locks a version that the other only writes meanwhile.
LockAheadOfUpdate == Of(<<{Whim("Lock", 0, 1, 5)}>>, <<{Whim("Update", 0, 0, 0)}>>)

\* Values that are longer than a slot, to be locked and to be written; and a key that is not there.
Long(kind, key, version) == [Whim(kind, key, 0, version) EXCEPT !.length = SlotSize + 1]
LockLong == Of(<< >>, <<{Whim("Lock", 0, 0, 51), Whim("Lock", 0, 0, 0), Whim("Lock", 1, 0, 3), Long("Lock", 0, 51), Long("Lock", 1, 0)}, {Whim("Commit", 0, 0, 0)}>>)

\* Any two operations at once, one of which may write, on two keys and in two places; then both places are settled at once.
AtOnceOf(kind, all) == [Whim(kind, 0, 0, 0) EXCEPT !.several = all]
Odd == {Whim("Lock", 0, 0, 5), Whim("Lock", 1, 1, 7), Whim("Lock", 1, 0, 6), Whim("Commit", 0, 0, 0), Whim("Abort", 0, 0, 0),
        Whim("Update", 0, 1, 0)}
OddPairs ==
  Of(<< >>, <<{AtOnceOf("Gather", pair) : pair \in {two \in Odd \X Odd : two[1] # two[2] /\ \E i \in {1, 2} : two[i].kind \in {"Lock", "Update"}}},
              {AtOnceOf("Gather", <<Whim("Commit", 1, 1, 0), Whim("Abort", 0, 0, 0)>>)}>>)

\* The second Gather has the place of the first one's note.
OneThenAnother ==
  Of(<< >>, <<{AtOnceOf("Gather", <<Whim("Lock", 0, 0, 5)>>)}, {AtOnceOf("Gather", <<Whim("Lock", 1, 1, 6)>>), AtOnceOf("Gather", <<Whim("Insert", 2, 1, 0)>>)}>>)

(***************************************************************************)
(* Content of the tables at the start *)
(***************************************************************************)

BothDirty == {Begun(<<<<<<"Dirty", 0, 5>>, <<"Dirty", 1, 7>>>>>>, << >>)}
TwoBuckets == {Begun(<<<<<<"Gone", 3, 2>>, <<"Dirty", 1, 7>>>>, <<<<"Clean", 2, 4>>, <<"Dirty", 0, 5>>>>>>, <<<<2, 4>>, <<3, 1>>>>)}
Nothing == {Begun(<<<< >>>>, << >>)}
SecondDirty == {Begun(<<<<<<"Dirty", 1, 7>>>>>>, << >>)}
FirstDirty == {Begun(<<<<<<"Dirty", 0, 5>>>>>>, << >>)}
FirstDirtyOtherSpilled == {Begun(<<<<<<"Dirty", 0, 5>>>>>>, <<<<1, 4>>>>)}

\* The key is in the page, or deleted there.
FirstClean == {Begun(<<<<<<"Clean", 0, 4>>>>>>, <<<<0, 4>>>>)}
FirstSpilled == {Begun(<<<<<<"Dirty", 1, 7>>>>>>, <<<<0, 4>>>>)}
SpilledAlone == {Begun(<<<< >>>>, <<<<0, 4>>>>)}
OtherSpilled == {Begun(<<<< >>>>, <<<<1, 4>>>>)}
CleanAndDirty == {Begun(<<<<<<"Clean", 0, 4>>, <<"Dirty", 2, 7>>>>>>, <<<<0, 4>>>>)}
FirstGone == {Begun(<<<<<<"Gone", 0, 5>>>>>>, <<<<0, 4>>>>)}

\* The first client has locked the first keys, each in the way of that number, and died before or after it decided.
LeftBehind(beginning, verdict, places) ==
  [beginning EXCEPT
    !.bucket[0].pinned = places,
    !.transaction[0] = [verdict |-> verdict, ways |-> [i \in 1..Intents |-> IF i - 1 \in places THEN i ELSE 0]],
    !.intent = [i \in DOMAIN @ |-> IF i \in places
                                     THEN [slot |-> 0, bit |-> BitOf(i), deletes |-> FALSE, length |-> 1, value |-> ValueOf(11, i)]
                                     ELSE @[i]]]

Left(beginnings, verdicts, places) == {LeftBehind(each, verdict, places) : each \in beginnings, verdict \in verdicts}
Either == {"Open", "Committed"}

BothLeft == Left(BothDirty, Either, {0, 1})
BothLeftCommitted == Left(BothDirty, {"Committed"}, {0, 1})
GoneAndSpilled == {Begun(<<<<<<"Gone", 0, 0>>>>>>, <<<<1, 4>>>>)}
GoneLeft == Left(GoneAndSpilled, Either, {0})
GoneLeftOpen == Left(GoneAndSpilled, {"Open"}, {0})
FirstLeft == Left(FirstDirty, Either, {0})

\* Key 0 is spilled. Its bucket's only way has another key, which the page may have as well, or the page is full.
FirstSpilledVictims ==
  {Begun(<<<<<<mark, 1, 7>>>>>>, <<<<0, 4>>, <<2, 3>>>> \o older) : mark \in {"Dirty", "Gone"}, older \in {<< >>, <<<<1, 5>>>>}}
  \cup {Begun(<<<<<<"Clean", 1, 7>>>>>>, <<<<0, 4>>, <<2, 3>>, <<1, 7>>>>)}
  \cup {Begun(<<<<<<"Dirty", 1, 7>>>>>>, <<<<0, 4>>, <<2, 3>>, <<3, 3>>, <<1, 5>>>>)}
FirstOfTwoSpilled == {Begun(<<<<<<"Dirty", 1, 7>>>>>>, <<<<0, 4>>, <<2, 3>>>>)}
OneSpilledVictims == {Begun(<<<<<<mark, 1, 7>>>>>>, <<<<0, 4>>, <<1, IF mark = "Clean" THEN 7 ELSE 5>>>>) : mark \in {"Clean", "Dirty"}}

\* The way of each key has its number. Some are pinned, some were used again.
Ways3(marks, epoch, used) ==
  LET begun == Begun(<<[i \in 1..3 |-> <<marks[i], i - 1, IF marks[i] = "Clean" THEN 4 ELSE 5>>]>>, <<<<0, 4>>, <<1, 4>>, <<2, 4>>, <<3, 4>>>>)
  IN  [begun EXCEPT !.bucket[0].epoch = epoch, !.bucket[0].used = used]
ManyWays ==
  UNION {Left({Ways3(marks, epoch, used)}, {"Open"}, places) :
           marks \in {<<"Dirty", "Dirty", "Gone">>, <<"Clean", "Dirty", "Clean">>, <<"Dirty", "Clean", "Clean">>}, epoch \in {4},
           used \in {{}, {0}, {0, 1, 2}}, places \in {{}, {0}, {1}, {0, 2}, {0, 1, 2}}}
  \cup Left({Ways3(<<"Clean", "Empty", "Dirty">>, 4, {0, 1, 2})}, {"Open"}, {2})

\* A value with a tail, in the bucket or spilled.
Tails == {Begun(<<<<<<"Dirty", 0, 51>>>>>>, << >>), Begun(<<<<<<"Dirty", 1, 7>>>>>>, <<<<0, 51>>>>)}

(***************************************************************************)
(* Forged messages of clients *)
(***************************************************************************)

\* An abort of the first client's transaction, with the second one's secret.
ForgedAbort ==
  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Abort", !.client = 0, !.sequence = 2, !.secret = 2]))}
\* A read of several keys that writes one of them, and locks another.
ForgedFetch ==
  LET Operation(kind, key, version) == [kind |-> kind, place |-> 0, deletes |-> FALSE, locked |-> FALSE, key |-> key, version |-> version,
                                        length |-> 2, value |-> ValueOf(Name(1, 1), 0)]
  IN  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Fetch", !.client = 1, !.sequence = 1, !.secret = 2, !.count = 2,
                                              !.operations = <<Operation("Update", 0, 0), Operation("Lock", 1, 7)>>]))}

\* A lock of client 1, from another address than its session was opened from.
FromElsewhere ==
  {Packet(0, Arrived([BlankMessage EXCEPT !.kind = "Lock", !.client = 1, !.sequence = 1, !.secret = 2, !.key = 0, !.version = 51]))}

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

\* A client that has all its locks is to abort: what it read is another now.
FailsToValidate ==
  \E client \in Clients :
    LET k == clients[client] IN
    k.stage = "Settle" /\ k.failed /\ k.ends = "" /\ Cardinality(k.pins) = Len(ProgramOf(client).writes)

\* One operation of a message is answered, and another one left to the client to ask for it alone.
AnsweredBeside ==
  \E packet \in answers :
    LET done == packet.message.operations
    IN  \E i, j \in DOMAIN done : done[i].kind \in Answers \cup ReadAnswers /\ done[j].kind \notin Answers \cup ReadAnswers

\* Two operations came to this at once.
AtOnceCameTo(kind, other) ==
  \E packet \in answers :
    LET done == packet.message.operations IN Len(done) = 2 /\ done[1].kind = kind /\ done[2].kind = other

\* Both keys were locked at once.
LockedAtOnce == AtOnceCameTo("Granted", "Granted")

\* A key was locked, and the other lock of the message was refused, as it had the same place.
OnePlaceAtOnce == AtOnceCameTo("Granted", "Refused")

\* A key was locked and written at once.
WrittenAtOnce == AtOnceCameTo("Granted", "Committed")

\* A retry is told nothing, as another operation was noted in the place of one of its own.
IsOvertaken == \E r \in DOMAIN runs : runs[r].message.overtaken

\* A client has validated what it read, which changes before the client commits.
ChangedSinceValidated ==
  \E client \in Clients :
    LET k == clients[client] IN
    /\ k.stage = "Settle" /\ ~ k.failed /\ k.pins # {}
    /\ \E each \in k.saw : each[1] # ProgramOf(client).writes[1][1] /\ State(each[1]).there # each[3][3]

\* A client died with two locks, and nothing was decided.
DiedUndecided ==
  \E client \in Clients :
    /\ clients[client].phase = "Out"
    /\ cells.transaction[client].verdict = "Open" /\ Cardinality(PlacesOf(client)) = 2

\* A client died after it had committed one key of two.
DiedHalfCommitted ==
  \E client \in Clients :
    /\ clients[client].phase = "Out"
    /\ cells.transaction[client].verdict = "Committed" /\ Cardinality(PlacesOf(client)) = 1

\* A client has read one key before it changed, and another key after that had changed.
ReadsAcross ==
  \E client \in Clients : \E old, new \in clients[client].saw :
    old[2] # State(old[1]).version /\ new[2] # history[new[1]][1].version

\* A lock is granted that moved another key to the page.
LockMakesRoom == \E r \in DOMAIN runs : runs[r].hook = "TC" /\ runs[r].message.kind = "Granted" /\ runs[r].message.moved

\* A key is locked that the page has as well, and another key has made room for it.
SpilledIsLocked ==
  \E key, other \in Keys :
    IsLocked(key) /\ Spilled(key) # {} /\ WaysWith(other) = {} /\ Spilled(other) # {}

\* A client asks for a lock on a key that has been written since it was read.
LocksWhatHasChanged ==
  \E client \in Clients :
    LET k == clients[client] IN
    k.waiting.kind = "Lock" /\ k.saw # {} /\ k.waiting.version # State(k.waiting.key).version

\* A lock finds no room for its key, neither in the bucket nor in the page.
NoRoomForLock ==
  \E packet \in answers :
    /\ packet.message.kind = "NoRoom"
    /\ Outstanding(packet.peer, packet.message) /\ clients[packet.peer].waiting.kind = "Lock"

\* A lock is on its way from the daemon, and the key has another version by now than was found.
LockOvertaken ==
  \E packet \in completions :
    LET msg == packet.message IN
    msg.kind = "Lock" /\ ~ HasVersion(msg.key, IF msg.found THEN msg.version ELSE 0)

\* The daemon has found that two clients lock a key that does not exist.
TwoLockAbsent ==
  \E a, b \in completions :
    /\ a.peer # b.peer /\ a.message.key = b.message.key
    /\ \A packet \in {a, b} : packet.message.kind = "Lock" /\ ~ packet.message.found

\* A lock is on its way from the daemon, and another client has locked the key since.
LockedSinceFound == \E packet \in completions : packet.message.kind = "Lock" /\ IsLocked(packet.message.key)

\* A plain write is on its way from the daemon, and another client has locked the key since.
WriteOfLockedFound == \E packet \in completions : packet.message.kind \in Writes /\ IsLocked(packet.message.key)

\* A client aborts, and the lock that it has given up is on its way from the daemon.
QuitsBeforeCompletion ==
  \E packet \in completions : packet.message.kind = "Lock" /\ clients[packet.peer].waiting.kind = "Abort"

\* A client aborts a lock that was granted, and that it had given up.
QuitsAfterGrant ==
  \E client \in Quitters :
    LET k == clients[client] IN
    /\ k.waiting.kind = "Abort" /\ k.waiting.place \in PlacesOf(client)
    /\ cells.session[client].sequence < k.waiting.sequence

\* A write is answered that all locked ways of its bucket kept out.
WriteIsShutOut == \E packet \in answers : packet.message.kind = "Locked" /\ IsShutOut(packet.message.key)

\* A spilled key was read, and every way of its bucket is locked.
ReadThoughShutOut == \E packet \in answers : packet.message.kind = "Value" /\ IsShutOut(packet.message.key)

\* A key was deleted, and its page still has it.
DeletedButSpilled == \E key \in Keys : Len(history[key]) > 1 /\ ~ State(key).there /\ Spilled(key) # {}

\* A key was deleted and inserted again.
InsertedAgain ==
  \E key \in Keys :
    State(key).there /\ \E i \in 2..Len(history[key]) : ~ history[key][i].there /\ history[key][i - 1].there

\* The insertion of a deleted key was aborted, and its page still has the key.
AbortedOverSpilled ==
  \E packet \in answers :
    /\ packet.message.kind = "Aborted" /\ ~ State(packet.message.key).there
    /\ WaysWith(packet.message.key) # {} /\ Spilled(packet.message.key) # {}

\* The runs of two clients are both about to lock one key.
TwoAboutToLock ==
  \E r, s \in DOMAIN runs :
    /\ runs[r].message.client # runs[s].message.client /\ runs[r].message.key = runs[s].message.key
    /\ \A i \in {r, s} : runs[i].message.kind = "Lock" /\ SectionOf(runs[i]).step = "OnOccRequest"

\* A forged abort has the next number of a session that has a lock.
ForgedAbortFits ==
  \E packet \in Forged :
    LET session == cells.session[packet.message.client] IN
    /\ session.state = "Idle" /\ packet.message.sequence = NextSequence(session.sequence)
    /\ packet.message.kind = "Abort" /\ packet.message.place \in PlacesOf(packet.message.client)

\* A client has locked a way of every bucket, and none of them is the first way.
LocksInEveryBucket ==
  \E client \in Clients : \A slot \in 0..(Buckets - 1) :
    \E place \in PlacesOf(client) : Pin(client, place)[1] = slot /\ Pin(client, place)[2] # 1

\* A client is refused what no transaction may ask for at that moment.
RuleIsBroken == \E packet \in answers : packet.message.kind = "Refused" /\ Outstanding(packet.peer, packet.message)

WayLockedSince(kinds) ==
  \E packet \in completions :
    LET msg == packet.message IN
    /\ msg.kind \in kinds /\ WaysWith(msg.key) = {}
    /\ msg.way \in 1..Ways /\ msg.way - 1 \in BucketOf(msg.key).pinned

\* A lock is on its way from the daemon, and the way that it was to have is locked by now.
LockFindsWayLocked == WayLockedSince({"Lock"})

\* A read is on its way from the daemon, and the way that it was to have is locked by now.
ReadFindsWayLocked == WayLockedSince({"Get"})

\* A write is on its way from the daemon, and the way that it was to have is locked by now.
WriteFindsWayLocked == WayLockedSince(Writes)

\* A lock is on its way from the daemon, and another key has been moved to or from the page since.
LockFindsOtherEpoch ==
  \E packet \in completions :
    LET msg == packet.message IN
    msg.kind = "Lock" /\ WaysWith(msg.key) = {} /\ msg.epoch # BucketOf(msg.key).epoch

\* The daemon has found an older version than a lock expects, and by now the key has that version.
FoundTooEarly ==
  \E packet \in completions :
    LET msg == packet.message IN
    msg.kind = "Lock" /\ msg.found /\ msg.version < msg.expected /\ HasVersion(msg.key, msg.expected)

\* A way is to be emptied that is neither locked nor was used again, beside ways that are.
IdleWayChosen ==
  \E packet \in forwarded :
    LET bucket == BucketOf(packet.message.key) IN
    /\ packet.message.way - 1 \notin bucket.pinned \cup bucket.used
    /\ bucket.pinned # {} /\ bucket.used \ bucket.pinned # {}

\* A way is to be emptied that was used again, as all others that are not locked were as well.
UsedWayChosen ==
  \E packet \in forwarded :
    LET bucket == BucketOf(packet.message.key)
        free == (0..(Ways - 1)) \ bucket.pinned
    IN  bucket.pinned # {} /\ packet.message.way - 1 \in free /\ Cardinality(free) > 1 /\ free \subseteq bucket.used

\* A way is to be emptied that was used again, though another that is not locked was not.
UsedWayNotSpared ==
  \E packet \in forwarded :
    LET bucket == BucketOf(packet.message.key) IN
    /\ packet.message.evicts /\ packet.message.way - 1 \in bucket.used \ bucket.pinned
    /\ (0..(Ways - 1)) \ (bucket.pinned \cup bucket.used) # {}

\* A way is to be emptied out of turn, as the one whose turn it is, is locked.
OutOfTurn ==
  \E packet \in forwarded :
    LET bucket == BucketOf(packet.message.key) IN
    packet.message.evicts /\ IsPinned(bucket, Oldest(bucket)) /\ ~ IsPinned(bucket, packet.message.way)

\* A lock has lifted the entry that is to make room, which has been changed since.
VictimChangedSince ==
  \E r \in DOMAIN runs :
    LET msg == runs[r].message IN
    /\ runs[r].hook = "TC" /\ msg.kind = "Lock" /\ msg.lifted = "Dirty"
    /\ BucketOf(msg.key).keys[msg.way] = msg.victim /\ BucketOf(msg.key).entries[msg.way].version # msg.carried.version

\* Each client has locked one key, and asks for the other client's.
EachWantsTheOthers ==
  \A client \in Clients :
    LET k == clients[client] IN
    /\ Cardinality(PlacesOf(client)) = 1 /\ k.waiting.kind = "Lock"
    /\ k.waiting.place \notin PlacesOf(client) /\ IsLocked(k.waiting.key)

\* A client has a lock in its second transaction, and the commit of its first one is still about.
CommitOfFirstAbout ==
  \E client \in Clients, packet \in requests :
    /\ clients[client].number = 2 /\ PlacesOf(client) # {}
    /\ packet.peer = client /\ packet.message.kind = "Commit"
    /\ packet.message.sequence < cells.session[client].sequence

\* A key was written and then deleted.
WrittenAndDeleted == \E key \in Keys : Len(history[key]) > 2 /\ history[key][2].there /\ ~ State(key).there

RefusedAsLong(key) == \E packet \in answers : packet.message.kind = "TooLong" /\ packet.message.key = key

\* A lock of a long value in the bucket is refused.
LongInBucketRefused == \E key \in Keys : RefusedAsLong(key) /\ HasLongValue(key) /\ WaysWith(key) # {}

\* A lock of a long value in the page is refused.
LongInPageRefused == \E key \in Keys : RefusedAsLong(key) /\ HasLongValue(key) /\ WaysWith(key) = {}

\* A lock that is to write a long value is refused.
LongToWriteRefused == \E key \in Keys : RefusedAsLong(key) /\ ~ HasLongValue(key)

\* A lock of a long value from another address than the session's is refused.
LongElsewhereRefused == \E packet \in answers : packet.message.kind = "Uninvited" /\ packet.peer # packet.message.client

\* Another process sends what a session waits for, as a way is locked.
StrangerIsAwaited ==
  \E packet \in StrangersToTc :
    LET session == cells.session[packet.message.client] IN
    PinnedWays # {} /\ session.state = "Forwarded" /\ session.sequence = packet.message.sequence
=================================================================================
