------------------------------ MODULE MCOccSections ------------------------------
(***************************************************************************)
(* One section alone, on cells and a message that many requests at once    *)
(* may have come to, in some order.  So a few states show what a section   *)
(* makes of what others have changed since the one before.                 *)
(*                                                                         *)
(* A run, or the sweep, is about to enter the section: it goes on for one  *)
(* step.  The request is client 1's, for key 3; 4 is the key that is to    *)
(* make room for it, and 5 is another.  6 has the same bit as 3.           *)
(***************************************************************************)
EXTENDS MCOcc

CONSTANT Cases  \* what may be the case before the step: <<cells, runs, sweep>>

(***************************************************************************)
(* Cells and messages                                                      *)
(***************************************************************************)

NoWay == <<"Empty", 0, 0>>

\* A bucket with these ways, and a page with these entries.
With(ways, spilled) ==
  LET begun == Begun(<<ways>>, spilled)
  IN  [begun EXCEPT !.bucket[0].epoch = 5, !.bucket[0].floor = 40]

WithLocks(tables, pinned) == [tables EXCEPT !.bucket[0].pinned = pinned]

\* Ways that somebody may have locked: they are not empty.
Lockable(ways) == SUBSET {i - 1 : i \in {j \in DOMAIN ways : ways[j][1] # "Empty"}}

WithTransaction(tables, verdict, ways) == [tables EXCEPT !.transaction[1] = [verdict |-> verdict, ways |-> ways]]

\* A request of client 1 for key 3, as the sections before leave it.
Request(kind) ==
  [Arrived([BlankMessage EXCEPT !.kind = kind, !.client = 1, !.sequence = 1, !.secret = 2, !.key = 3,
                                !.length = IF kind \in {"Get", "Delete"} THEN 0 ELSE 5,
                                !.value = IF kind \in {"Get", "Delete"} THEN 0 ELSE 500, !.locked = TRUE])
     EXCEPT !.intent = Intents]

(***************************************************************************)
(* One step                                                                *)
(***************************************************************************)

\* A run that is about to enter a section.
Case(hook, step, tables, message) ==
  <<[tables EXCEPT !.session[1].state = "Busy"],
    <<Before(step, [NewRun(hook, Packet(1, message), 0, 0, 0) EXCEPT !.message = message])>>,
    NoSweep>>

\* The sweep is about to do so, in a pass over transactions.
Sweeps(pass, at, index, tables, record) ==
  <<[tables EXCEPT !.session[1].state = "Closing"], << >>,
    [NoSweep EXCEPT !.pass = pass, !.index = index, !.at = at, !.record = record]>>

SectionsInit ==
  /\ \E case \in Cases : cells = case[1] /\ runs = case[2] /\ sweep = case[3]
  /\ requests = {} /\ forwarded = {} /\ completions = {} /\ answers = {}
  /\ event = Event("", "", "Init", "", NoMessage, NoMessage)
  /\ clients = [client \in Clients |-> InitialClient(client)]
  /\ history = [key \in Keys |-> << >>]
  /\ claims = << >>
  /\ told = {}

SectionsNext == event.step = "Init" /\ (RunSection(1) \/ SweepSection(Now)) /\ UNCHANGED model

SectionsSpec == SectionsInit /\ [][SectionsNext]_vars

(***************************************************************************)
(* A session's transaction and its intents                                 *)
(***************************************************************************)

Verdicts == {"Open", "Committed", "Aborted"}
Pins == {<<0, 0>>, <<2, 0>>, <<0, 1>>, <<3, 2>>}

Entering ==
  {Case("XDP", "Enter", WithTransaction(InitialCells, verdict, pins), [Request(kind) EXCEPT !.place = place, !.length = length, !.version = 23]) :
     verdict \in Verdicts, pins \in Pins, kind \in {"Lock", "Commit", "Abort", "Get", "Insert"}, place \in {0, 1},
     length \in {5, SlotSize, SlotSize + 1}}

\* Another bucket and bit, length and value than those of the intent that was noted.
Noting ==
  {Case("XDP", "Note",
        [InitialCells EXCEPT !.intent[3] = [slot |-> 0, bit |-> 1, deletes |-> deletes, length |-> 7, value |-> 700]],
        [Request(kind) EXCEPT !.place = 1, !.intent = 3, !.slot = 5, !.bit = 2, !.deletes = ~ deletes, !.locked = deletes, !.version = 23]) :
     deletes \in BOOLEAN, kind \in {"Lock", "Commit", "Abort", "Get", "Insert", "Granted", "Committed", "Refused"}}

\* Outcomes that may come of the transaction.
Outcomes ==
  {Case("XDP", "Leave", WithTransaction(InitialCells, one[1], one[2]),
        [Request(one[3]) EXCEPT !.place = one[4], !.way = 3, !.epoch = 7]) :
     one \in {each \in Verdicts \X Pins \X {"Granted", "Committed", "Aborted", "Refused", "Conflict", "Lock", "Value"} \X {0, 1} :
                CASE each[3] = "Granted" -> each[1] = "Open" /\ each[2][each[4] + 1] = 0
                  [] each[3] = "Committed" -> each[1] # "Aborted" /\ each[2][each[4] + 1] # 0
                  [] each[3] = "Aborted" -> IF each[2][each[4] + 1] # 0 THEN each[1] # "Committed" ELSE each[1] = "Open"
                  [] OTHER -> TRUE}}

(***************************************************************************)
(* A request at its bucket                                                 *)
(***************************************************************************)

\* Three ways that are free, full, or have the key.
SomeWays == {
  <<NoWay, <<"Dirty", 4, 24>>, <<"Dirty", 5, 25>>>>,
  <<<<"Dirty", 4, 24>>, <<"Clean", 5, 25>>, <<"Dirty", 3, 23>>>>,
  <<<<"Clean", 4, 24>>, <<"Gone", 3, 23>>, NoWay>>,
  <<<<"Dirty", 3, 91>>, <<"Dirty", 4, 24>>, <<"Gone", 5, 25>>>>,
  <<<<"Dirty", 4, 24>>, <<"Gone", 5, 25>>, <<"Dirty", 6, 26>>>>,
  <<<<"Clean", 3, 23>>, NoWay, NoWay>>}

\* The page has what is clean.
CleanOnes(ways) ==
  LET Clean(i) == IF ways[i][1] = "Clean" THEN <<<<ways[i][2], ways[i][3]>>>> ELSE << >>
  IN  Clean(1) \o Clean(2) \o Clean(3)

HasWay(ways, key) == \E i \in DOMAIN ways : ways[i][2] = key

\* Requests of each kind, with a version that is right, wrong or 0, and answers.
SomeRequests ==
  {[Request("Lock") EXCEPT !.version = version] : version \in {0, 23, 22}}
  \cup {Request("Get"), Request("Insert"), Request("Delete"), [Request("Update") EXCEPT !.length = SlotSize + 1]}
  \cup {Request("Update"), [Request("Aborted") EXCEPT !.version = 23], Request("Refused")}

\* The page also has another key with the same bit, or key 3 itself, or neither.
Seeing ==
  {Case("XDP", "OnOccRequest", WithLocks(With(case[1], CleanOnes(case[1]) \o case[2]), case[3]), message) :
     case \in {each \in SomeWays \X {<< >>, <<<<6, 16>>>>, <<<<3, 13>>>>} \X (SUBSET {0, 1, 2}) :
                 /\ each[3] \in Lockable(each[1]) \ {{0, 2}, {1, 2}}
                 /\ each[2] = <<<<6, 16>>>> => ~ HasWay(each[1], 6)
                 /\ each[2] = <<<<3, 13>>>> => \A i \in 1..Ways : each[1][i] # <<"Clean", 3, 23>>},
     message \in SomeRequests}

\* Full buckets, or those with room that some have used, for a key that the page may have.
Choosing ==
  {Case("XDP", "OnOccRequest",
        [WithLocks(With(one[1], CleanOnes(one[1]) \o <<<<6, 16>>>>), one[2]) EXCEPT !.bucket[0].epoch = one[3], !.bucket[0].used = one[4]], one[5]) :
     one \in {each \in {<<<<"Dirty", 4, 24>>, <<"Gone", 5, 25>>, <<"Dirty", 7, 27>>>>, <<<<"Dirty", 7, 27>>, <<"Clean", 4, 24>>, <<"Clean", 5, 25>>>>,
                        <<<<"Clean", 4, 24>>, <<"Dirty", 7, 27>>, <<"Gone", 5, 25>>>>, <<<<"Clean", 4, 24>>, NoWay, <<"Dirty", 7, 27>>>>}
                       \X (SUBSET {0, 1, 2}) \X (2..4) \X (IF SparesUsed THEN {{}, {1}, {1, 2}, {0, 1, 2}} ELSE {{}})
                       \X {Request("Lock"), Request("Get")} :
                each[2] \in Lockable(each[1]) \ {{0, 2}} /\ (each[1][1][1] = "Clean" => each[3] = 2)}}

(***************************************************************************)
(* Commits and aborts                                                      *)
(***************************************************************************)

\* The place of client 1 pins a way with key 3, and perhaps another session's place pins the other one.
Settlements ==
  LET Ways2(way, own) == IF way = 1 THEN <<own, <<"Dirty", 4, 24>>, NoWay>> ELSE <<<<"Dirty", 4, 24>>, NoWay, own>>
      Tables(way, own, spilled, others) ==
        WithTransaction([WithLocks(With(Ways2(way, own), spilled), {way - 1} \cup others) EXCEPT !.bucket[0].used = {1}],
                        "Open", IF way = 1 THEN <<0, 1>> ELSE <<3, 0>>)
      Settlement(kind, way, deletes, key) ==
        [Request(kind) EXCEPT !.place = IF way = 1 THEN 1 ELSE 0, !.intent = IF way = 1 THEN 3 ELSE 2, !.way = way, !.deletes = deletes,
                              !.locked = ~ deletes, !.key = key, !.epoch = 6, !.length = 7, !.value = 700]
  IN  UNION {
        {Case("XDP", "OnOccRequest", Tables(case[1], case[2], case[3], case[4]), Settlement(case[5], case[1], case[6], case[7])),
         Sweeps(2, 3, 1, Tables(case[1], case[2], case[3], case[4]), Settlement(case[5], case[1], case[6], case[7]))} :
           case \in {each \in {1, 3} \X {<<"Dirty", 3, 23>>, <<"Gone", 3, 23>>, <<"Clean", 3, 13>>} \X {<< >>, <<<<6, 16>>>>, <<<<3, 13>>>>}
                              \X {{}, {1}} \X {"Commit", "Abort"} \X BOOLEAN \X {3, 4} :
                      /\ each[2][1] = "Clean" => each[3] = <<<<3, 13>>>>
                      /\ each[4] = {1} => each[1] = 1}}
      \cup {Sweeps(2, 3, 1, Tables(1, <<"Dirty", 3, 23>>, << >>, {}), Settlement(kind, 1, FALSE, 3)) : kind \in {"Aborted", "Get"}}

(***************************************************************************)
(* The sweep                                                               *)
(***************************************************************************)

\* The sweep comes to each session, over or not.
Overs ==
  {Sweeps(one[1], 1, one[2], WithTransaction(InitialCells, one[3], one[4]), [NoMessage EXCEPT !.gone = one[5], !.way = 9]) :
     one \in {2, 3} \X {0, 1} \X Verdicts \X Pins \X {{}, {0}, {1}, {0, 1}}}

(***************************************************************************)
(* Operations of a message                                                 *)
(***************************************************************************)

\* A run that is about to enter the section with the one operation of its message.
Grouped(case, step) ==
  LET run == case[2][1]
      several == [run.message EXCEPT !.count = 1, !.operations = <<OperationOf(run.message)>>]
  IN  <<case[1], <<Before(step, [run EXCEPT !.message = several, !.packet = several, !.head = several, !.operation = 1])>>, case[3]>>

\* A read, and a lock that a read of several keys must not do, where a way is locked or none.
Fetching ==
  {Grouped(Case("XDP", "OnFetched", WithLocks(With(one[1], CleanOnes(one[1])), one[2]), Request(one[3])), "OnFetched") :
     one \in {each \in SomeWays \X {{}, {1}, {2}} \X {"Get", "Lock", "Update", "Value"} : each[2] \in Lockable(each[1])}}

Kinds == {"Get", "Insert", "Update", "Delete", "Lock", "Commit", "Abort"}

\* An operation of this kind may have come to that.
MayComeTo(kind, outcome) ==
  CASE outcome = "Alone" -> TRUE
    [] outcome \in {"Done", "Barred"} -> kind # "Get"
    [] outcome = "Refused" -> kind \in Writes \cup {"Lock"}
    [] OTHER -> kind \in {"Insert", "Update", "Lock"}

NoteWith(tables, tag, outcome) == [tables EXCEPT !.noted[3] = [tag |-> tag, version |-> 77, outcome |-> outcome]]

\* What an operation came to is noted, and a retry hears of it, or finds that a later one was noted.
Retelling ==
  {Grouped(Case("XDP", "NoteOutcome", NoteWith(InitialCells, 5, "Done"), [Request(kind) EXCEPT !.note = 3, !.version = 23]), "NoteOutcome") :
     kind \in Kinds \cup (Answers \ {"NoRoom", "Gathered"}) \cup ReadAnswers}
  \cup {Grouped(Case("XDP", "Recollect", NoteWith(InitialCells, one[1], one[2]),
                     [Request(one[3]) EXCEPT !.note = 3, !.version = 23, !.overtaken = one[4]]), "Recollect") :
           one \in {each \in {1, 2} \X {"Alone", "Done", "Refused", "TooLong", "Barred"} \X Kinds \X BOOLEAN :
                      MayComeTo(each[3], each[2])}}

GatheredCases ==
  {Grouped(case, "OnGathered") : case \in {each \in Seeing \cup Settlements : each[2] # << >>}} \cup Fetching \cup Retelling

RequestCases == Entering \cup Noting \cup Outcomes \cup Seeing \cup Choosing \cup Settlements \cup Overs

(***************************************************************************)
(* Completions                                                             *)
(***************************************************************************)

\* An entry of another bucket.
Strange == [mark |-> "Held", slot |-> 1, key |-> 9, bit |-> 0, entry |-> EntryOf(29)]
Vacant == InitialCells.page[0].spilled[1]

Entry(mark, key, version) == [Held(key, version) EXCEPT !.mark = mark]

\* A run has lifted this, and is to move it: <<lifted, old, entry, stowed>>.
Lifts ==
  {<<"Empty", 0, 0, FALSE>>, <<"Empty", 1, 2, FALSE>>, <<"Gone", 0, 2, FALSE>>, <<"Gone", 1, 2, FALSE>>, <<"Gone", 1, 0, TRUE>>,
   <<"Dirty", 0, 0, FALSE>>, <<"Dirty", 0, 2, FALSE>>, <<"Dirty", 1, 2, FALSE>>, <<"Dirty", 0, 2, TRUE>>, <<"Dirty", 1, 2, TRUE>>}

\* The page has an older entry of key 4, or the one that is clean; an entry that is free or joins it; and what was found of key 3.
PageOf(first, lift, found) ==
  [j \in 1..PageSize |->
     CASE j = 1 -> IF first[1] = "Clean" THEN Entry("Held", first[2], first[3])
                   ELSE IF lift[2] = 1 THEN Entry(IF lift[4] THEN "Leaving" ELSE "Held", 4, 14) ELSE Strange
       [] j = 2 -> IF lift[3] # 2 THEN Strange ELSE IF lift[4] /\ lift[1] = "Dirty" THEN Entry("Joining", 4, 24) ELSE Vacant
       [] OTHER -> IF found = 0 THEN Strange ELSE Entry("Held", 3, found)]

\* The daemon has found this version of key 3, 0: none. The first way was to make room, and is by now as `first` says.
Found(kind, ways, lift, found, pinned) ==
  Case("TC", "OnOccCompletion",
       [WithLocks(With(ways, << >>), pinned) EXCEPT !.page[0].spilled = PageOf(ways[1], lift, found), !.bucket[0].filter = {1, 2}],
       [Request(kind) EXCEPT !.found = found # 0, !.version = found, !.victim = 4, !.victim_bit = 0, !.way = 1, !.evicts = lift[1] # "Empty",
                             !.epoch = 5, !.lifted = lift[1], !.old = lift[2], !.entry = lift[3], !.stowed = lift[4],
                             !.carried = IF lift[1] = "Empty" THEN @ ELSE EntryOf(24), !.filter = {2},
                             !.length = IF found # 0 /\ kind \in {"Get", "Lock"} THEN EntryOf(found).length ELSE @,
                             !.value = IF found # 0 /\ kind \in {"Get", "Lock"} THEN EntryOf(found).value ELSE @])

\* A message of such a case, changed.
But(case, Change(_)) == <<case[1], <<[case[2][1] EXCEPT !.message = Change(@)]>>, case[3]>>

FirstWays == {NoWay, <<"Clean", 4, 24>>, <<"Clean", 5, 25>>, <<"Dirty", 4, 24>>, <<"Gone", 4, 24>>, <<"Dirty", 4, 25>>, <<"Dirty", 5, 24>>}


\* The page had no room only where the way is still full.
Fits(first, lift) == lift[1] = "Dirty" /\ lift[3] = 0 => first[1] \in {"Dirty", "Gone"}

Full(first) == <<first, <<"Dirty", 6, 26>>, IF first[2] = 5 THEN <<"Gone", 7, 27>> ELSE <<"Dirty", 5, 35>>>>

\* The first way is free, or its entry was lifted, and is on its way to the page.
Few == {<<"Empty", 0, 0, FALSE>>, <<"Gone", 1, 2, FALSE>>, <<"Dirty", 0, 2, TRUE>>}

\* The key is not in the bucket.
Bringing(kind, firsts, lifts, versions, pins) ==
  {Found(kind, Full(one[1]), one[2], one[3], one[4]) :
     one \in {each \in firsts \X lifts \X versions \X pins : each[4] \in Lockable(Full(each[1])) /\ Fits(each[1], each[2])}}

\* Where nothing was found, the message still says the version that its client expects.
LocksOnly ==
  {But(case, LAMBDA msg : LET expected == IF wrong THEN 22 ELSE IF msg.found THEN msg.version ELSE 0
                          IN  [msg EXCEPT !.expected = expected, !.version = IF msg.found THEN @ ELSE expected]) :
     case \in Bringing("Lock", FirstWays, Lifts, {0, 23, 91}, {{}, {0}, {0, 1, 2}}), wrong \in BOOLEAN}

\* Where nothing was found, what the message says of the entry counts for nothing.
OfNothing ==
  {But(case, LAMBDA msg : [msg EXCEPT !.version = 91, !.length = SlotSize + 1]) :
     case \in Bringing("Lock", {NoWay}, {<<"Empty", 0, 0, FALSE>>}, {0}, {{}})}

\* The store's own requests.
OtherKinds == UNION {Bringing(kind, FirstWays, Few, {0, 23}, {{}, {0}}) : kind \in {"Get", "Insert", "Update"}}

\* The last way was to make room.
Last ==
  {But(Found(one[1], <<<<"Dirty", 6, 26>>, <<"Dirty", 5, 35>>, <<"Dirty", 4, 24>>>>, <<"Dirty", 0, 2, TRUE>>, one[2], one[3]),
       LAMBDA msg : [msg EXCEPT !.way = 3, !.expected = one[2]]) :
     one \in {"Get", "Insert", "Update", "Lock"} \X {0, 23} \X {{}, {2}}}

\* The bucket has another epoch by now.
Late ==
  {But(case, LAMBDA msg : [msg EXCEPT !.epoch = 1, !.expected = IF msg.found THEN msg.version ELSE 0]) :
     case \in UNION {Bringing(kind, {NoWay, <<"Dirty", 4, 24>>}, Few, {0, 23}, {{}, {0}}) : kind \in {"Get", "Insert", "Update", "Lock"}}}

\* A key that is to be deleted from its page.
Deleting ==
  {<<[case[1] EXCEPT !.page[0].spilled[3].mark = "Leaving"], <<[case[2][1] EXCEPT !.message.old = 3, !.message.stowed = TRUE]>>, case[3]>> :
     case \in Bringing("Delete", {<<"Dirty", 4, 24>>}, {<<"Empty", 0, 0, FALSE>>}, {23}, {{}, {0}})}
  \cup Bringing("Delete", {<<"Dirty", 4, 24>>}, {<<"Empty", 0, 0, FALSE>>}, {0}, {{}, {0}})

\* The key is in the bucket by now.
Meeting ==
  {But(Found(one[1], <<<<"Dirty", 4, 24>>, one[2], <<"Dirty", 6, 26>>>>, one[3], one[4], one[5]), LAMBDA msg : [msg EXCEPT !.expected = one[6]]) :
     one \in {each \in {"Get", "Insert", "Update", "Delete", "Lock"} \X {<<"Clean", 3, 23>>, <<"Dirty", 3, 25>>, <<"Gone", 3, 25>>, <<"Dirty", 3, 91>>}
                       \X Few \X {0, 23} \X {{}, {0}, {1}} \X {0, 23, 25, 91} :
                /\ each[1] # "Lock" => each[6] = 0
                /\ each[2][1] = "Clean" => each[4] = 23
                /\ each[1] = "Delete" => each[3][1] = "Empty"}}
  \cup {But(Found(kind, <<<<mark, 3, 25>>, NoWay, <<"Dirty", 6, 26>>>>, <<"Empty", 0, 2, FALSE>>, 0, pinned), LAMBDA msg : [msg EXCEPT !.expected = 25]) :
          kind \in {"Get", "Insert", "Update", "Delete", "Lock"}, mark \in {"Dirty", "Gone"}, pinned \in {{}, {0}}}

\* A get came by while all ways were locked, so it was given none.
Wayless ==
  {But(Found("Get", Full(<<"Clean", 4, 24>>), <<"Empty", 0, 0, FALSE>>, one[1], one[2]), LAMBDA msg : [msg EXCEPT !.way = 0, !.victim = 0]) :
     one \in {0, 23} \X {{}, {0}, {0, 1, 2}}}

\* A session that is opened, or an answer, goes by the bucket as well.
Opened == {Case("TC", "OnOccCompletion", With(<<<<"Dirty", 3, 23>>, NoWay, NoWay>>, << >>), Request(kind)) : kind \in {"Opened", "Conflict"}}

FoundCases == LocksOnly \cup OfNothing \cup OtherKinds \cup Last \cup Late \cup Deleting \cup Meeting \cup Wayless \cup Opened

(***************************************************************************)
(* The daemon looks for the key of a lock; TC lifts what is to make room.  *)
(***************************************************************************)

\* Entries of the page: of keys 3 and 4, held or on their way, of another key with the same bit, of another bucket, or none.
SomeEntries ==
  {Vacant, Strange, [Held(3, 23) EXCEPT !.slot = 1], Held(6, 16), Held(3, 51)}
  \cup {Entry(mark, key, 20 + key) : mark \in {"Held", "Joining", "Leaving"}, key \in {3, 4}}

\* No key is there twice.
SomePages ==
  {page \in [1..PageSize -> SomeEntries] :
     \A i, j \in 1..PageSize : i < j /\ page[i].mark # "Vacant" => <<page[i].slot, page[i].key>> # <<page[j].slot, page[j].key>>}

Looking ==
  {Case("User", "Find", [InitialCells EXCEPT !.page[0].spilled = one[1]],
        [Request("Lock") EXCEPT !.victim = 4, !.way = one[2], !.evicts = one[3], !.secret = one[4], !.spot = 1, !.version = 22]) :
     one \in {each \in SomePages \X {0, 2} \X BOOLEAN \X {2, 3} : each[2] = 0 => each[3] /\ each[4] = 2}}

Lifting ==
  {Case("TC", "Lift", With(<<one[1], one[2], <<"Dirty", 6, 26>>>>, << >>),
        [Request("Lock") EXCEPT !.victim = 4, !.way = 1, !.evicts = one[3], !.found = one[4], !.epoch = one[5]]) :
     one \in FirstWays \X {NoWay, <<"Dirty", 3, 23>>, <<"Gone", 3, 23>>} \X BOOLEAN \X BOOLEAN \X {4, 5}}

AskedCases == Looking \cup Lifting

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

\* A way is to be emptied, and others of its bucket are locked.
ChoosesBesideLocks ==
  event.step = "OnOccRequest" /\ event.message.kind = event.given.kind /\ event.message.evicts /\ cells.bucket[0].pinned # {}

\* A completion has let be what others have locked.
MeetsALock ==
  event.step = "OnOccCompletion" /\ event.given.kind = event.message.kind /\ event.given.way - 1 \in cells.bucket[0].pinned

\* A place is settled over a page that has the key, and another place pins a way of the bucket.
SettlesBesideAnother == event.message.kind = "Committed" /\ cells.bucket[0].pinned # {} /\ Spilled(3) # {}

\* A lock from elsewhere finds a long value.
HearsOfALongValue == event.given.kind = "Lock" /\ event.message.kind = "Uninvited"
=================================================================================
