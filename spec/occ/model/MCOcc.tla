---------------------------------- MODULE MCOcc ----------------------------------
(* Bounds of the models of transactions: what models.yaml cannot say. *)
EXTENDS Occ, TLC

(***************************************************************************)
(* Where keys go                                                           *)
(***************************************************************************)

First(number) == 0
Own(number) == number
OddOrEven(number) == number % 2

(***************************************************************************)
(* Programs                                                                *)
(***************************************************************************)

Of(first, others) == [client \in Clients |-> IF client = 0 THEN first ELSE others]

Transaction(reads, writes, validates) ==
  [reads |-> reads, writes |-> writes, validates |-> validates, ends |-> {"Commit"}, plain |-> FALSE]

\* May think better of it.
MayAbort(transaction) == [transaction EXCEPT !.ends = {"Commit", "Abort"}]

Plain(kind, key) ==
  [reads |-> << >>, writes |-> << <<key, kind>> >>, validates |-> << >>, ends |-> {"Commit"}, plain |-> TRUE]

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

\* Reads a key that does not exist, and another, while both come and go.
ComesAndGoes ==
  Of(<<Transaction(<<0, 1>>, << >>, <<1, 0>>)>>,
     <<Plain("Insert", 0), Plain("Update", 1), Plain("Update", 1), Plain("Delete", 0)>>)

(***************************************************************************)
(* Content of the tables at the start *)
(***************************************************************************)

BothDirty == {Begun(<<<<<<"Dirty", 0, 5>>, <<"Dirty", 1, 7>>>>>>, << >>)}
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

(***************************************************************************)
(* Forged messages of clients *)
(***************************************************************************)

\* An abort of the first client's transaction, with the second one's secret.
ForgedAbort ==
  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Abort", !.client = 0, !.sequence = 2, !.secret = 2]))}
=================================================================================
