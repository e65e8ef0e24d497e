---------------------------------- MODULE MCKv ----------------------------------
(* Bounds of the store's models: what models.yaml cannot say. *)
EXTENDS KvGuarantees, TLC

(***************************************************************************)
(* Where keys go                                                           *)
(***************************************************************************)

First(number) == 0
ToOne(number) == 1
ToTwo(number) == 2
Own(number) == number
Half(number) == number \div 2
OddOrEven(number) == number % 2
Third(number) == number % 3

Bounds(first, others) == [client \in Clients |-> IF client = 0 THEN first ELSE others]
NeverLong == Bounds({FALSE}, {FALSE})
AlwaysLong == Bounds({TRUE}, {TRUE})
LongOrNot == Bounds(BOOLEAN, BOOLEAN)
FirstLong == Bounds({TRUE}, {FALSE})

NoneOfAny == Bounds(0, 0)
OneOfEach == Bounds(1, 1)
TwoOfEach == Bounds(2, 2)
TwoAndOne == Bounds(2, 1)
TwoAndNone == Bounds(2, 0)
OneAndNone == Bounds(1, 0)
NoneAndOne == Bounds(0, 1)
NoneAndTwo == Bounds(0, 2)
ThreeAndNone == Bounds(3, 0)

(***************************************************************************)
(* Requests of clients *)
(***************************************************************************)

Writing == {"Insert", "Update", "Delete"}

Everything == Clients \X ({"Get"} \cup Writing) \X Keys

\* Client 0 writes anywhere, client 1 to the first key and reads it.
FirstKeyShared == ({0} \X Writing \X Keys) \cup ({1} \X ({"Get"} \cup Writing) \X {0})

\* Client 0 writes anywhere, client 1 reads the first key.
WriterAndReader == ({0} \X Writing \X Keys) \cup ({1} \X {"Get"} \X {0})

\* Each client has a key of its own, which the other's may have to make room for.
OwnKeys == ({0} \X Writing \X {0}) \cup ({1} \X {"Get", "Insert", "Update"} \X {1})

\* One or two requests.
FirstOfBoth == {0, 1} \X {"Get", "Update", "Delete"} \X {0}
TailsAgainstGets == {<<0, "Update", 0>>, <<0, "Delete", 0>>, <<0, "Insert", 1>>, <<1, "Get", 0>>}
GetsEach == {<<0, "Get", 1>>, <<1, "Get", 0>>}
TailReplacedAndRead == {<<0, "Update", 0>>, <<0, "Delete", 0>>, <<1, "Get", 0>>}
UpdatesFirstEach == {<<0, "Update", 0>>, <<1, "Update", 0>>}
UpdatesAgainstGets == {<<0, "Update", 0>>, <<1, "Get", 0>>}
InsertsOther == {<<0, "Insert", 1>>}
InsertsFirst == {<<0, "Insert", 0>>}
DeletesEach == {<<0, "Delete", 0>>, <<1, "Delete", 0>>}
DeletesFirst == {<<0, "Delete", 0>>}
UpdatesFirst == {<<0, "Update", 0>>}
DeletesAndInserts == {<<0, "Delete", 0>>, <<0, "Insert", 0>>}
DeletesAgainstUpdates == {<<0, "Delete", 0>>, <<1, "Update", 0>>}
SpillsAgainstDeletes == {<<0, "Update", 1>>, <<1, "Delete", 2>>}
DeletesAgainstGets == {<<0, "Delete", 0>>, <<1, "Get", 0>>}
SpillsOfBoth == {<<0, "Update", 2>>, <<1, "Insert", 3>>}
UpdatesBoth == {<<0, "Update", 0>>, <<0, "Update", 1>>}
GetsAndUpdates == {<<0, "Get", 1>>, <<0, "Update", 1>>}
SessionWishes == {<<0, "Update", 1>>, <<1, "Delete", 1>>}
DeletesAndGets == {<<0, "Delete", 0>>, <<0, "Get", 0>>}
DeletesAgainstInserts == {<<0, "Delete", 0>>, <<1, "Insert", 1>>}
ChangesAndInserts == {<<0, "Update", 0>>, <<0, "Delete", 0>>, <<0, "Insert", 1>>}
GetsFirst == {<<1, "Get", 0>>}
UpdatesOther == {<<1, "Update", 1>>}
UpdatesEach == {<<0, "Update", 1>>, <<1, "Update", 0>>}
GetsAndUpdatesEach == {<<0, "Get", 1>>, <<1, "Update", 0>>}

\* Client 0 changes two keys at once, or one of them twice, or changes one and gets one.
PairsOf(kinds, keys) == {<<one, other>> : one \in kinds \X keys, other \in kinds \X keys}
GathersPairs == {<<0, pair>> : pair \in {p \in PairsOf({"Get"} \cup Writing, Keys) : \E i \in {1, 2} : p[i][1] # "Get"}}
GathersWrites == {<<0, <<<<"Update", 0>>, <<"Insert", 1>>>>>>, <<0, <<<<"Delete", 0>>, <<"Get", 0>>>>>>}
GathersEither == {<<0, <<<<"Update", 0>>>>>>, <<0, <<<<"Insert", 1>>>>>>}
GathersUpdates == {<<0, <<<<"Update", 0>>, <<"Update", 0>>>>>>}
FetchesBoth == {<<1, <<<<"Get", 0>>, <<"Get", 1>>>>>>}
UpdatesAndFetchesBoth == {<<0, <<<<"Update", 0>>, <<"Update", 1>>>>>>} \cup FetchesBoth

(***************************************************************************)
(* Content of the tables at the start *)
(***************************************************************************)

NothingYet == {Begun(<<<< >>>>, << >>)}

\* One way: nothing at all, a newer entry than in the page, a tombstone.
EmptyFullOrGone == {
  Begun(<<<< >>>>, << >>),
  Begun(<<<<<<"Dirty", 0, 5>>>>>>, <<<<0, 4>>, <<1, 7>>>>),
  Begun(<<<<<<"Gone", 0, 5>>>>>>, <<<<0, 4>>>>)}

\* All that a bucket of one way and its page can be to one another.
OneWay == EmptyFullOrGone \cup {
  Begun(<<<< >>>>, <<<<0, 4>>>>),
  Begun(<<<<<<"Dirty", 0, 5>>>>>>, <<<<1, 7>>>>),
  Begun(<<<<<<"Clean", 0, 4>>>>>>, <<<<0, 4>>, <<1, 7>>>>)}

\* The same, where the first key has a tail.
OneWayLong == {
  Begun(<<<<<<"Dirty", 0, 61>>>>>>, <<<<1, 7>>>>),
  Begun(<<<<<<"Clean", 0, 52>>>>>>, <<<<0, 52>>, <<1, 7>>>>),
  Begun(<<<<<<"Gone", 0, 61>>>>>>, <<<<0, 52>>>>),
  Begun(<<<< >>>>, <<<<0, 52>>, <<1, 7>>>>)}

DirtyOrSpilledLong == {Begun(<<<<<<"Dirty", 0, 61>>>>>>, <<<<1, 7>>>>), Begun(<<<< >>>>, <<<<0, 52>>, <<1, 7>>>>)}
CleanLong == {Begun(<<<<<<"Clean", 0, 52>>>>>>, <<<<0, 52>>, <<1, 7>>>>)}
SpilledLong == {Begun(<<<<<<"Dirty", 1, 5>>>>>>, <<<<0, 52>>>>)}
DirtyLong == {Begun(<<<<<<"Dirty", 0, 61>>>>>>, <<<<1, 7>>>>)}

DirtyAlone == {Begun(<<<<<<"Dirty", 0, 5>>>>>>, << >>)}
DirtyAndOther == {Begun(<<<<<<"Dirty", 0, 5>>>>>>, <<<<1, 7>>>>)}
DirtyAndOlder == {Begun(<<<<<<"Dirty", 0, 5>>>>>>, <<<<0, 4>>>>)}
DirtyAndTwo == {Begun(<<<<<<"Dirty", 0, 5>>>>>>, <<<<1, 7>>, <<2, 8>>>>)}
Tombstone == {Begun(<<<<<<"Gone", 0, 5>>>>>>, <<<<0, 4>>>>)}
Spilled0 == {Begun(<<<< >>>>, <<<<0, 4>>>>)}
Spilled01 == {Begun(<<<< >>>>, <<<<0, 4>>, <<1, 7>>>>)}
DirtyOlderAndOther == {Begun(<<<<<<"Dirty", 0, 5>>>>>>, <<<<0, 4>>, <<1, 7>>>>)}

\* Written through: nothing is Dirty.
ThroughClean == {Begun(<<<<<<"Clean", 0, 4>>>>>>, <<<<0, 4>>>>)}

ThroughBegun == ThroughClean \cup {
  Begun(<<<< >>>>, << >>),
  Begun(<<<< >>>>, <<<<0, 4>>, <<1, 7>>>>)}

\* Two ways: full of what has to be kept, or not quite.
TwoWaysFull == {Begun(<<<<<<"Dirty", 0, 5>>, <<"Gone", 1, 8>>>>>>, <<<<1, 7>>, <<2, 9>>>>)}

TwoWays == TwoWaysFull \cup {
  Begun(<<<<<<"Dirty", 0, 5>>, <<"Dirty", 1, 8>>>>>>, <<<<0, 4>>, <<2, 9>>>>),
  Begun(<<<<<<"Clean", 2, 9>>, <<"Dirty", 1, 8>>>>>>, <<<<2, 9>>>>)}

\* Two buckets, the even keys' and the odd keys', each with one way; with one place left in their page, or all.
OnePlaceLeft == {Begun(<<<<<<"Dirty", 0, 5>>>>, <<<<"Dirty", 1, 6>>>>>>, <<<<2, 4>>, <<1, 3>>>>)}

TwoBuckets == OnePlaceLeft \cup {Begun(<<<<<<"Dirty", 0, 5>>>>, <<<<"Dirty", 1, 6>>>>>>, << >>)}

(***************************************************************************)
(* Forged messages of clients *)
(***************************************************************************)

\* An update of what is spilled, which says itself that it was seen in a later epoch.
ForgedEpoch ==
  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Update", !.client = 1, !.sequence = 1, !.secret = 2, !.length = Length(201),
                                          !.value = 201, !.epoch = 1, !.way = 1, !.found = TRUE]))}

\* A read of a value that has a tail, by client 1, with the address of a host that is not a client.
ForgedAddress ==
  {Packet(7, Arrived([BlankMessage EXCEPT !.kind = "Get", !.client = 1, !.sequence = 9, !.secret = TokenOf(1, 0)]))}

\* A message with an operation that nobody can ask for, one that is too long, and one that is neither.
ForgedGather ==
  LET Operation(kind, length) == [kind |-> kind, key |-> 0, version |-> 0, length |-> length, value |-> 0]
      operations == <<Operation("Value", 0), Operation("Update", ValueMax + 1), Operation("Delete", 0)>>
  IN  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Gather", !.client = 1, !.sequence = 1, !.secret = 2, !.count = 3,
                                              !.operations = operations]))}

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

SomeOperations(kind, Of(_)) == \E packet \in answers : packet.message.kind = kind /\ Of(packet.message.operations)

\* One operation of a message is answered, and another one left to the client to ask for it alone.
AnsweredBeside ==
  SomeOperations("Gathered", LAMBDA all : \E i, j \in DOMAIN all : all[i].kind \in AllAnswers /\ all[j].kind \notin AllAnswers)

\* Two keys are got at once.
BothAreGot == SomeOperations("Fetched", LAMBDA all : \A i \in DOMAIN all : all[i].kind = "Value")

\* A client wrote the value that the key has.
IsWritten(key) == Current(key).there /\ Current(key).value > 100

\* Each client has written its key, and the bucket has made room twice for that.
EachMadeRoom ==
  /\ \A client \in Clients : writes[client].answer \in {"Inserted", "Updated"}
  /\ \E slot \in DOMAIN cells.bucket : cells.bucket[slot].epoch > 1

\* A client's key has made room, and another client needs the daemon for that way.
NeedsWayInTurn ==
  \E packet \in forwarded :
    LET msg == packet.message IN
    /\ msg.kind \in Requests /\ msg.epoch > 0 /\ msg.epoch = BucketOf(msg.key).epoch
    /\ clients[packet.peer].writing.sequence = msg.sequence

\* The daemon has found something for two clients, for whom the same way is to make room.
TwoFoundForOneWay ==
  \E a, b \in completions :
    /\ a.peer # b.peer /\ a.message.key # b.message.key
    /\ a.message.slot = b.message.slot /\ a.message.way = b.message.way /\ a.message.epoch = b.message.epoch

\* A run of TC has lifted an entry to make room, and the entry has been changed since.
LiftedHasChanged ==
  \E r \in DOMAIN runs :
    LET msg == runs[r].message
        bucket == cells.bucket[msg.slot]
    IN  /\ runs[r].hook = "TC" /\ msg.kind \in Requests /\ msg.lifted # "Empty" /\ bucket.epoch = msg.epoch
        /\ bucket.marks[msg.way] # msg.lifted \/ bucket.entries[msg.way].version # msg.carried.version

\* A read is on its way from the daemon, and the key has changed since it was found.
ReadFoundOther ==
  \E packet \in completions :
    LET msg == packet.message
        now == Current(msg.key)
    IN  msg.kind = "Get" /\ msg.spot = 0 /\ (msg.found # now.there \/ (msg.found /\ msg.version # now.version))

\* A tombstone has made room, nobody has its key any more, and the entry in the other way stays.
TombstoneMadeRoom ==
  \E gone, stays \in Keys :
    /\ ~ InItsBucket(gone) /\ Spilled(gone) = {} /\ BucketOf(gone).epoch > 0
    /\ InItsBucket(stays) /\ Spilled(stays) = {} /\ ~ IsWritten(stays) /\ Current(stays).there

\* An entry has gone to the page to make room, and the tombstone in the other way stays.
TombstoneStayed ==
  \E gone, stays \in Keys :
    /\ ~ InItsBucket(gone) /\ Spilled(gone) # {} /\ BucketOf(gone).epoch > 0
    /\ InItsBucket(stays) /\ Spilled(stays) # {} /\ ~ Current(stays).there

\* The daemon has looked for a key that the filter does not have.
LookedForInVain ==
  \E packet \in completions :
    LET msg == packet.message IN
    ~ msg.found /\ msg.bit \notin BucketOf(msg.key).filter

\* One client has deleted its key, and the other has inserted one in the same bucket.
DeletedAndInserted == writes[0].answer = "Deleted" /\ writes[1].answer = "Inserted"

\* A write is on its way from the daemon, and another write has moved something in its bucket since.
WriteFoundOtherEpoch ==
  \E packet \in completions :
    LET msg == packet.message IN
    msg.kind \in Requests /\ msg.epoch # BucketOf(msg.key).epoch

\* One client has inserted a key, after it had changed or deleted another one.
OneAfterOther == IsWritten(1) /\ (IsWritten(0) \/ ~ Current(0).there)

\* The daemon has found the same free place of a page for two buckets.
TwoBucketsForOnePlace ==
  \E a, b \in completions :
    /\ a.message.home = b.message.home /\ a.message.slot # b.message.slot
    /\ a.message.evicts /\ b.message.evicts /\ a.message.entry > 0 /\ a.message.entry = b.message.entry

\* A write is refused because its page is full.
RefusedByFullPage == \E packet \in answers : packet.message.kind = "NoRoom"

\* A run of TC goes on without the entry that it had to lift.
LiftIsSkipped ==
  \E r \in DOMAIN runs :
    LET msg == runs[r].message IN
    /\ runs[r].hook = "TC" /\ SectionOf(runs[r]).step = "Stow" /\ msg.kind \in Requests
    /\ Lift(cells.bucket[msg.slot], msg).msg # msg

\* A run of TC has put an entry into the page that its bucket does not give away.
StowedInVain ==
  \E r \in DOMAIN runs :
    runs[r].hook = "TC" /\ SectionOf(runs[r]).step = "Settle" /\ runs[r].message.stowed /\ ~ runs[r].message.moved

\* A write that its client has given up is on its way from the daemon.
GivenUpIsFound ==
  \E packet \in completions :
    packet.message.kind \in Requests /\ packet.message.sequence < clients[packet.peer].writing.sequence

\* The next write of a client is done, and the one that it gave up before is on its way from the daemon.
GivenUpIsOvertaken ==
  \E packet \in completions : packet.message.kind \in Requests /\ packet.message.sequence < writes[packet.peer].sequence

\* A client is in its second session, and a write of its first one is on its way from the daemon.
WriteOfFirstSession ==
  \E packet \in completions :
    LET k == clients[packet.peer] IN
    k.phase = "In" /\ k.opens > 0 /\ packet.message.kind \in Requests /\ packet.message.secret # k.secret

\* A client has read a value that is longer than a slot.
LongIsRead == \E client \in Clients : reads[client].answer = "Value" /\ IsLong(reads[client].length)

\* A read is on its way with the tail of an entry that no longer exists.
TailIsOfNoEntry ==
  \E packet \in completions :
    LET msg == packet.message IN
    msg.kind = "Get" /\ msg.spot > 0 /\ ~ \E each \in Entries : each.key = msg.key /\ IsTailOf(msg, each.entry)

\* The daemon has put the tails of two writes into one spot, one after the other.
TwoTailsInOneSpot ==
  \E a, b \in completions :
    a.peer # b.peer /\ a.message.shelf = b.message.shelf /\ a.message.spot > 0 /\ a.message.spot = b.message.spot

\* A read of a long value is refused that came from another address than its session's.
RefusedElsewhere == \E packet \in answers : packet.message.kind = "Uninvited" /\ packet.peer # packet.message.client

\* Two runs delete the same entry of a page, and one of them has announced it.
TwoRunsDelete ==
  \E r, s \in DOMAIN runs :
    /\ runs[r].message.client # runs[s].message.client /\ runs[r].message.key = runs[s].message.key
    /\ \A i \in {r, s} : runs[i].hook = "TC" /\ runs[i].message.kind = "Delete" /\ runs[i].message.old > 0
    /\ runs[r].message.stowed /\ SectionOf(runs[s]).step = "Stow"

\* A stranger says for an open session that a key was found, and by now that key is deleted.
StrangerIsWrong ==
  \E packet \in StrangersToDaemon, other \in StrangersToTc :
    \A msg \in {packet.message, other.message} :
      /\ msg.found /\ ~ Current(msg.key).there
      /\ cells.session[msg.client].state = "Idle" /\ cells.credential[msg.client].secret = msg.secret
=================================================================================
