---------------------------------- MODULE MCKv ----------------------------------
(* Bounds of the store's models: what a .cfg cannot say. *)
EXTENDS Kv, TLC

(***************************************************************************)
(* Where keys go                                                           *)
(***************************************************************************)

First(number) == 0
OddAndEven(number) == number % 2
Own(number) == number

Bounds(first, others) == [client \in Clients |-> IF client = 0 THEN first ELSE others]
None == Bounds(0, 0)
One == Bounds(1, 1)
Two == Bounds(2, 2)
Three == Bounds(3, 3)
TwoAndOne == Bounds(2, 1)
ThreeAndOne == Bounds(3, 1)
OneAndNone == Bounds(1, 0)
NoneAndOne == Bounds(0, 1)

Writing == {"Insert", "Update", "Delete"}
Everything == {"Get", "Insert", "Update", "Delete"}

AllOfAll == Clients \X Everything \X Keys

\* Client 0 writes to all keys; the others work on the first one.
WritesAndReads == ({0} \X Writing \X Keys) \cup (({1} \X {"Get"} \X {0}))
WritesAndUpdates == ({0} \X Writing \X {0}) \cup (({1} \X {"Insert", "Update"} \X {1}))

(***************************************************************************)
(* What the tables hold at the beginning                                   *)
(***************************************************************************)

Blank == {InitialCells}

\* One way: what a bucket and its page can be to one another.
OneWay == {
  InitialCells,
  Begun(<< >>, <<<<0, 4>>>>),
  Begun(<<<<"Dirty", 0, 5>>>>, <<<<1, 7>>>>),
  Begun(<<<<"Dirty", 0, 5>>>>, <<<<0, 4>>, <<1, 7>>>>),
  Begun(<<<<"Clean", 0, 4>>>>, <<<<0, 4>>, <<1, 7>>>>),
  Begun(<<<<"Gone", 0, 5>>>>, <<<<0, 4>>>>)}

Second == {Begun(<<<<"Dirty", 0, 5>>>>, <<<<1, 7>>>>)}
=================================================================================
