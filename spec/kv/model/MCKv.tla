---------------------------------- MODULE MCKv ----------------------------------
(* Bounds of the store's models: what models.yaml cannot say. *)
EXTENDS Kv, TLC

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
UpdatesEach == {<<0, "Update", 1>>, <<1, "Update", 0>>}
GetsAndUpdatesEach == {<<0, "Get", 1>>, <<1, "Update", 0>>}

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
=================================================================================
