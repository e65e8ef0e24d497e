------------------------------- MODULE MCKvSections -------------------------------
(***************************************************************************)
(* One section alone, on cells and a message that many requests at once    *)
(* may have come to, in some order.  So a few states show what a section   *)
(* makes of what others have changed since the one before.                 *)
(*                                                                         *)
(* A run is about to enter the section: it goes on for one step.  The key  *)
(* is 3, and 4 is the one that is to make room for it.  5 is another one.  *)
(***************************************************************************)
EXTENDS MCKv

(***************************************************************************)
(* Cells and messages                                                      *)
(***************************************************************************)

Kinds == {"Get"} \cup Writing

NoWay == <<"Empty", 0, 0>>

\* Values with a spot have a version of which that is the last digit.
Of(key, spot) == IF spot > 0 THEN 60 + 10 * key + spot ELSE 20 + key

\* Where all is written through, the page has each entry, and there are no tombstones.
MarkOf(mark) == CASE WriteBack -> mark [] mark = "Dirty" -> "Clean" [] mark = "Gone" -> "Empty" [] OTHER -> mark

Lifts == IF WriteBack THEN {"Empty", "Dirty", "Gone"} ELSE {"Empty", "Dirty"}

BucketWith(ways, filter) ==
  [InitialCells.bucket[0] EXCEPT !.marks = [i \in 1..Ways |-> MarkOf(ways[i][1])],
                                 !.keys = [i \in 1..Ways |-> ways[i][2]],
                                 !.entries = [i \in 1..Ways |-> EntryOf(ways[i][3])],
                                 !.floor = 40,
                                 !.filter = filter]

With(bucket) == [InitialCells EXCEPT !.bucket[0] = bucket]

Place(mark, key, spot) == [mark |-> mark, slot |-> 0, key |-> key, bit |-> BitOf(key), entry |-> EntryOf(Of(key, spot))]

NoPlace == InitialCells.page[0].spilled[1]

WithPage(first, second) == [InitialCells EXCEPT !.page[0].spilled = [j \in 1..PageSize |-> IF j = 1 THEN first ELSE second]]

WithShelf(taken, generation) == [InitialCells EXCEPT !.shelf[0] = [taken |-> taken, generation |-> generation]]

\* A message of client 1 for key 3, for which key 4 is to make room.
Message(kind) ==
  [Arrived([BlankMessage EXCEPT !.kind = kind, !.client = 1, !.sequence = 1, !.secret = 2, !.key = 3, !.victim = 4, !.way = 1,
                                !.length = IF kind \in {"Insert", "Update"} THEN 5 ELSE 0,
                                !.value = IF kind \in {"Insert", "Update"} THEN 500 ELSE 0])
     EXCEPT !.tail = 0]

\* Such a message has a value that is longer than a slot.
LongMessage(kind) == [Message(kind) EXCEPT !.length = ValueMax, !.value = 0, !.tail = 500]

\* The message has a spot as well. A get finds a long value there.
AtSpot(message, spot) ==
  [message EXCEPT !.spot = spot, !.length = IF message.kind = "Get" /\ spot > 0 THEN ValueMax ELSE @]

\* A run that is about to enter a section.
Case(hook, step, tables, message) == <<tables, Before(step, [NewRun(hook, Packet(1, message), 0, 0, 0) EXCEPT !.message = message])>>

(***************************************************************************)
(* XDP                                                                     *)
(***************************************************************************)

\* Two ways that are free, full, or have the key.
SomeBuckets == {
  <<NoWay, <<"Dirty", 4, 24>>>>, <<<<"Dirty", 4, 24>>, <<"Clean", 5, 25>>>>, <<<<"Clean", 4, 24>>, <<"Dirty", 5, 25>>>>,
  <<<<"Dirty", 4, 24>>, <<"Gone", 5, 25>>>>, <<<<"Dirty", 4, 24>>, <<"Dirty", 3, 23>>>>, <<<<"Dirty", 3, 91>>, <<"Dirty", 4, 24>>>>,
  <<<<"Gone", 3, 23>>, <<"Dirty", 4, 24>>>>, <<<<"Clean", 5, 25>>, <<"Clean", 4, 24>>>>}

Seeing ==
  {Case("XDP", "OnRequest", With([BucketWith(ways, moved[1]) EXCEPT !.epoch = moved[2], !.used = used]),
        [message EXCEPT !.way = 0, !.victim = 0]) :
     ways \in SomeBuckets, moved \in {<<{0}, 1>>, <<{0}, 2>>, <<{}, 2>>}, used \in IF SparesUsed THEN SUBSET {0, 1} ELSE {{}},
     message \in {Message("Get"), Message("Delete"), Message("Insert"), LongMessage("Update")}}

\* A write is noted with its answer; of the answer that is noted a retry hears.
Noting ==
  {Case("XDP", step, [InitialCells EXCEPT !.answer[1] = [sequence |-> 2, version |-> 9], !.session[1].sequence = 2],
        [Message(kind) EXCEPT !.sequence = sequence, !.version = 8]) :
     step \in {"RecallOne", "Remember"}, kind \in {"Get", "Value", "Update", "Updated"}, sequence \in {1, 2}}

(***************************************************************************)
(* The daemon                                                              *)
(***************************************************************************)

SomePlaces ==
  {NoPlace, [Place("Held", 5, 0) EXCEPT !.slot = 1], Place("Held", 3, 2), Place("Held", 4, 0)}
  \cup {Place(mark, key, 0) : mark \in {"Joining", "Leaving"}, key \in {3, 4}}

\* Two places of a page that the daemon may see. The entry of key 5 is another bucket's.
Pages2 == {two \in SomePlaces \X SomePlaces : two[1].mark = "Vacant" \/ two[1].key # two[2].key}

\* A packet that says what only the daemon can know.
Knowing(message) == [message EXCEPT !.found = TRUE, !.former = 2, !.old = 2, !.entry = 1, !.filter = {2}]

Looking ==
  {Case("User", "Find", WithPage(two[1], two[2]), [Knowing(Message(kind)) EXCEPT !.evicts = evicts, !.spot = IF kind = "Get" THEN 0 ELSE 1]) :
     two \in Pages2, kind \in Kinds, evicts \in BOOLEAN}
  \cup {Case("User", "Find", WithPage(NoPlace, Place("Held", 3, 2)), [Message(kind) EXCEPT !.way = way, !.secret = secret]) :
          kind \in Kinds \cup {"Open", "Ask"}, way \in {0, 1}, secret \in {2, 3}}
  \cup {Case("User", "Find", WithPage(first, Place("Held", 4, 0)), AtSpot(Knowing(Message("Get")), 1)) :
          first \in {NoPlace, Place("Held", 3, 2), Place("Leaving", 3, 0)}}

Reserving ==
  {Case("User", "Reserve", WithShelf(taken, generation), message) :
     taken \in SUBSET (0..(Spots - 1)), generation \in {0, 5},
     message \in {Message("Update"), LongMessage("Update"), [LongMessage("Insert") EXCEPT !.spot = 1], [Message("Get") EXCEPT !.spot = 1]}}

(***************************************************************************)
(* TC                                                                      *)
(***************************************************************************)

Claiming ==
  {Case("TC", "Claim", WithShelf(taken, generation), [message EXCEPT !.spot = spot, !.generation = given]) :
     taken \in SUBSET (0..(Spots - 1)), generation \in {0, 5}, spot \in 0..Spots, given \in {0, 5},
     message \in {Message("Update"), LongMessage("Update"), Message("Get")}}

\* The key is in the first way by now, and the second is the one that was to be emptied.
OwnIsFirst ==
  {Case("TC", step, With(BucketWith(<<<<"Clean", 3, 23>>, <<mark, 4, 24>>>>, {})),
        [Message(kind) EXCEPT !.found = TRUE, !.version = 23, !.way = 2, !.evicts = TRUE, !.entry = 2, !.stowed = step # "Lift",
                              !.lifted = IF step = "Lift" THEN "Empty" ELSE "Dirty", !.carried = EntryOf(24)]) :
     step \in {"Lift", "OnCompletion"}, mark \in {"Empty", "Dirty"}, kind \in {"Get", "Update"}}

\* The way that is to be emptied, and another.
Lifting ==
  {Case("TC", "Lift", With(BucketWith(<<first, second>>, {})),
        [Message(kind) EXCEPT !.found = found, !.evicts = evicts, !.epoch = epoch]) :
     first \in {NoWay, <<"Clean", 4, 24>>, <<"Dirty", 4, 24>>, <<"Gone", 4, 24>>, <<"Dirty", 5, 25>>},
     second \in {<<"Dirty", 3, 23>>, <<"Dirty", 6, 26>>},
     kind \in Kinds, found \in BOOLEAN, evicts \in BOOLEAN, epoch \in {0, 1}}

\* Nothing is lifted for a deletion.
Asked == {<<"Delete", "Empty">>} \cup ((Kinds \ {"Delete"}) \X Lifts)

Stowing ==
  {Case("TC", "Stow", WithPage(first, second),
        [Message(asked[1]) EXCEPT !.found = TRUE, !.lifted = asked[2], !.old = old, !.entry = entry, !.carried = EntryOf(34)]) :
     first \in {NoPlace, Place("Held", 3, 0), Place("Held", 4, 0), Place("Leaving", 4, 0), Place("Leaving", 3, 0),
                [Place("Held", 4, 0) EXCEPT !.slot = 1]},
     second \in {NoPlace, Place("Held", 4, 0), Place("Held", 5, 0), Place("Joining", 5, 0)},
     asked \in {one \in Asked : one[1] \in {"Get", "Delete"}}, old \in {0, 1}, entry \in {0, 2}}

Settles ==
  {Case("TC", "Settle", WithPage(Place(first, 4, 0), Place(second, 4, 1)),
        [Message("Value") EXCEPT !.found = TRUE, !.stowed = stowed, !.moved = moved, !.lifted = lifted, !.old = old,
                                 !.entry = entry]) :
     first \in {"Held", "Leaving"}, second \in {"Joining", "Held", "Vacant"}, stowed \in BOOLEAN, moved \in BOOLEAN,
     lifted \in Lifts, old \in {0, 1}, entry \in {0, 2}}

Shelving ==
  {Case("TC", "Shelve", WithShelf(taken, 5),
        [Message("Updated") EXCEPT !.done = done, !.claimed = claimed, !.former = former, !.spot = spot]) :
     taken \in {{0}, {0, 1}}, done \in BOOLEAN, claimed \in BOOLEAN, former \in 0..Spots, spot \in 1..Spots}

\* A way as it was when it was lifted, or not, by now.
LiftedWays == {NoWay, <<"Clean", 4, 24>>, <<"Dirty", 4, 24>>, <<"Gone", 4, 24>>, <<"Dirty", 4, 25>>, <<"Dirty", 5, 24>>}

\* The key is not in the bucket.
Entering ==
  {Case("TC", "OnCompletion", With(BucketWith(<<way, <<"Dirty", 6, 26>>>>, {})),
        [Message(asked[1]) EXCEPT !.found = found, !.version = IF found THEN 30 ELSE 0, !.evicts = TRUE, !.lifted = asked[2],
                                  !.carried = EntryOf(24), !.stowed = stowed, !.old = old, !.entry = 2, !.filter = {2}]) :
     way \in LiftedWays, asked \in Asked, found \in BOOLEAN, stowed \in BOOLEAN, old \in {0, 1}}

\* A session that is opened goes by the bucket as well.
Opened == {Case("TC", "OnCompletion", InitialCells, Message("Opened"))}

\* Completions of another epoch, or without a place, or with a tail.
EnteringInVain ==
  {Case("TC", "OnCompletion", With(BucketWith(<<<<"Dirty", 4, 24>>, <<"Dirty", 6, 26>>>>, {})),
        [AtSpot(message, spot) EXCEPT !.found = found, !.evicts = TRUE, !.lifted = lifted, !.carried = EntryOf(24),
                                     !.stowed = FALSE, !.epoch = epoch, !.generation = generation]) :
     message \in {Message("Get"), Message("Delete"), Message("Update"), LongMessage("Insert"), LongMessage("Update")},
     found \in BOOLEAN, lifted \in {"Empty", "Dirty"}, epoch \in {0, 1}, spot \in 0..1, generation \in {0, 5}}

\* The key is in the bucket by now, in another way than the one that is to be emptied.
Meeting ==
  {Case("TC", "OnCompletion", With(BucketWith(<<<<"Dirty", 4, 24>>, <<mark, 3, version>>>>, {0})),
        [AtSpot(message, spot) EXCEPT !.found = TRUE, !.version = found, !.claimed = claimed, !.generation = 5,
                        !.lifted = IF stowed /\ message.kind # "Delete" THEN "Dirty" ELSE "Empty", !.stowed = stowed, !.entry = 2]) :
     mark \in {"Clean", "Dirty", "Gone"}, version \in {23, 91}, found \in {23, 91},
     message \in {Message("Get"), Message("Delete"), LongMessage("Insert"), LongMessage("Update")},
     spot \in 0..2, claimed \in BOOLEAN, stowed \in BOOLEAN}

AllCases ==
  Seeing \cup Noting \cup Looking \cup Reserving \cup Claiming \cup OwnIsFirst \cup Lifting
  \cup Stowing \cup Settles \cup Shelving
  \cup Entering \cup Opened \cup EnteringInVain \cup Meeting

(***************************************************************************)
(* One step                                                                *)
(***************************************************************************)

SectionsInit ==
  /\ \E case \in AllCases : cells = case[1] /\ runs = <<case[2]>>
  /\ sweep = NoSweep
  /\ requests = {} /\ forwarded = {} /\ completions = {} /\ answers = {}
  /\ event = Event("", "", "Init", "", NoMessage, NoMessage)
  /\ clients = [client \in Clients |-> InitialClient(client)]
  /\ issued = 0
  /\ writes = [client \in Clients |-> Nothing]
  /\ reads = [client \in Clients |-> Nothing]
  /\ versions = [key \in Keys |-> 0]

SectionsNext == event.step = "Init" /\ RunSection(1) /\ UNCHANGED model

SectionsSpec == SectionsInit /\ [][SectionsNext]_vars

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

\* A run of TC that has lifted an entry finds another in its way.
FindsAnotherInItsWay ==
  \E r \in DOMAIN runs :
    LET msg == runs[r].message IN
    SectionOf(runs[r]).step = "OnCompletion" /\ msg.lifted # "Empty" /\ cells.bucket[0].keys[msg.way] # msg.victim

\* A section of TC has let be what others have changed: the key has its own way by now.
MeetsItsKey == event.step = "OnCompletion" /\ event.given.stowed /\ ~ event.message.moved /\ InItsBucket(event.given.key)
=================================================================================
