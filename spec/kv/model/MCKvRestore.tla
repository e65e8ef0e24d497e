------------------------------- MODULE MCKvRestore -------------------------------
(***************************************************************************)
(* Rows that were recovered, given to a store that serves nobody, in any   *)
(* order and any number of times: what RestorePass of the layout does with *)
(* each.  The tables may hold something already.                           *)
(***************************************************************************)
EXTENDS MCKv

CONSTANT Rows  \* what may be given: records of a key, a version, and whether it was deleted

VARIABLE last  \* the last row that was given, with its fate; or with "Decided", if it had one before

restoring == <<vars, last>>

None == [key |-> 0, version |-> 0, deletes |-> TRUE, long |-> FALSE, fate |-> "None"]

Row(key, version, deletes, long) == [key |-> key, version |-> version, deletes |-> deletes, long |-> long]

\* Two keys that were spilled or not, one that is new; of the first an older and a newer row.
SomeRows ==
  {Row(0, version, deletes, FALSE) : version \in {3, 6}, deletes \in BOOLEAN}
  \cup {Row(1, 8, FALSE, FALSE), Row(1, 9, TRUE, FALSE), Row(2, 2, FALSE, FALSE)}

\* Older, equal and newer rows for keys that may have tails. Some of the rows are long themselves.
RowsOfTails ==
  {Row(0, version, deletes, FALSE) : version \in {52, 62}, deletes \in BOOLEAN}
  \cup {Row(0, 66, FALSE, TRUE), Row(1, 51, FALSE, FALSE), Row(1, 52, TRUE, FALSE), Row(2, 2, FALSE, FALSE)}

RowOf(row) ==
  [InitialCell("row") EXCEPT !.key = row.key, !.version = row.version, !.deletes = row.deletes,
                             !.length = IF row.long THEN LongLength(row.version) ELSE Length(row.version),
                             !.value = row.version, !.slot = SlotOf(row.key), !.bit = BitOf(row.key), !.home = HomeOf(SlotOf(row.key))]

\* A message before it takes a row: blank, or with the fields of another row.
MessagesBefore ==
  {BlankMessage, [BlankMessage EXCEPT !.key = 9, !.version = 99, !.length = 9, !.value = 99, !.spot = 2, !.lives = TRUE,
                                      !.spills = TRUE, !.fate = "Restored"]}

\* A section after another one, unless that has dropped the row.
After(result, cell, Step(_, _)) == IF result.verdict = "Continue" THEN Step(cell, result.msg) ELSE Drop(cell, result.msg)

\* Sections one after the other, as RestorePass has them.
Give(row, before) ==
  LET taken == Take(RowOf(row), before)
      refilled == After(taken, cells.bucket[taken.msg.slot], Refill)
      overflown == After(refilled, cells.page[taken.msg.home], Overflow)
      reported == After(overflown, RowOf(row), Report)
  IN  /\ cells' = [cells EXCEPT !.bucket[taken.msg.slot] = refilled.cell, !.page[taken.msg.home] = overflown.cell]
      /\ last' = [key |-> row.key, version |-> row.version, deletes |-> row.deletes, long |-> row.long,
                  fate |-> reported.cell.fate]
      /\ UNCHANGED <<runs, sweep, network, model, event>>

\* A row that has its fate is not taken again.
GiveDecided(row) ==
  LET decided == [RowOf(row) EXCEPT !.fate = "Older"]
      taken == Take(decided, BlankMessage)
  IN  /\ last' = [key |-> row.key, version |-> row.version, deletes |-> row.deletes, long |-> row.long,
                  fate |-> IF taken.verdict = "Drop" /\ taken.cell = decided THEN "Decided" ELSE "Again"]
      /\ UNCHANGED <<vars>>

RestoreSpec ==
  /\ Init /\ last = None
  /\ [][\E row \in Rows : (\E before \in MessagesBefore : Give(row, before)) \/ GiveDecided(row)]_restoring

\* The state without the last row.
RestoreView == cells

\* A row that was restored is there. One that was not changes nothing, and no row changes another key.
RowsAreRestored ==
  [][\A key \in Keys :
       CASE key # last'.key \/ last'.fate \notin {"Restored", "Older"} -> Current(key)' = Current(key)
         [] last'.fate = "Older" -> Current(key)' = Current(key) /\ LastVersion(key) >= last'.version
         [] last'.deletes -> ~ Current(key)'.there
         [] OTHER -> Current(key)' = [there |-> TRUE, version |-> last'.version, length |-> Length(last'.version),
                                      value |-> last'.version]]_restoring

\* A row is refused only if it is long, if a tail is in its way, or if its page is full. One that has its fate stays as it is.
RowsAreRefusedForAReason ==
  [][LET key == last'.key
     IN  /\ last'.fate \in {"Restored", "Older", "NoRoom", "TooLong", "TailInTheWay", "Decided"}
         /\ last'.fate # "Decided" => (last'.long <=> last'.fate = "TooLong")
         /\ last'.fate = "TailInTheWay" => IsLong(Current(key).length) /\ last'.version > LastVersion(key)
         /\ last'.fate = "NoRoom" =>
              /\ \A j \in 1..PageSize : cells.page[HomeOf(SlotOf(key))].spilled[j].mark # "Vacant"
              /\ Spilled(key) = {}]_restoring

\* A newer entry stays, also a tombstone; and the floor of a bucket is a version that was deleted.
NewerStays ==
  [][last'.fate = "Restored" =>
       /\ Current(last'.key).there => Current(last'.key).version < last'.version
       /\ \A slot \in 0..(Buckets - 1) :
            cells'.bucket[slot].floor # cells.bucket[slot].floor
              => last'.deletes /\ slot = SlotOf(last'.key) /\ cells'.bucket[slot].floor = last'.version]_restoring

\* An existing entry is not replaced by an older one.
NothingGoesBack ==
  [][\A key \in Keys :
       Current(key).there /\ Current(key)'.there => Current(key)'.version >= Current(key).version]_restoring

\* A key that is inserted after its deletion was restored has a greater version.
VersionsGoOn == [][last'.fate = "Restored" /\ last'.deletes => cells'.bucket[SlotOf(last'.key)].floor >= last'.version]_restoring

\* A row goes to the page only where the page may have its key, or where its bucket has no room.
BucketsComeFirst ==
  [][LET bucket == BucketOf(last'.key)
     IN  /\ last'.fate = "Restored" /\ ~ last'.deletes /\ WriteBack
         /\ BitOf(last'.key) \notin bucket.filter /\ HasRoom(bucket)
         => HasKey(cells'.bucket[SlotOf(last'.key)], last'.key)]_restoring

\* A tombstone that a row leaves has the row's version: an older row does not bring the key back.
TombstonesTell ==
  [][last'.fate = "Restored" /\ last'.deletes =>
       LET bucket == cells'.bucket[SlotOf(last'.key)]
       IN  \A i \in 1..Ways : bucket.marks[i] = "Gone" /\ bucket.keys[i] = last'.key
                               => bucket.entries[i].version = last'.version]_restoring

\* Nothing is lost but where no room is left.
NothingIsRefused == [][last'.fate \in {"Restored", "Older", "Decided"}]_restoring

\* Bucket 2 of three: the first key with a tail in each place, and without. A free place may be left from one with a tail.
TailsInBucket2 ==
  LET Bucket2(ways, spilled) == Begun(<<<< >>, << >>, ways>>, spilled)
      full == <<<<"Dirty", 1, 50>>, <<"Dirty", 2, 1>>>>
  IN  {Bucket2(<<<<"Dirty", 0, 61>>, <<"Dirty", 1, 50>>>>, << >>),
       Bucket2(full, <<<<0, 52>>>>),
       [Bucket2(full, << >>) EXCEPT !.page[1].spilled[1] = [Held(0, 52) EXCEPT !.mark = "Vacant"]],
       Bucket2(<<<<"Empty", 1, 0>>, <<"Clean", 0, 52>>>>, <<<<1, 50>>, <<0, 52>>>>),
       Bucket2(<<<<"Clean", 1, 50>>, <<"Gone", 0, 61>>>>, <<<<1, 50>>, <<0, 52>>>>),
       Bucket2(<<<<"Gone", 1, 50>>, <<"Dirty", 2, 1>>>>, <<<<1, 9>>, <<0, 52>>>>)}

\* Written through: a place in the page, or two buckets that share it.
TailsThrough ==
  {Begun(<<<< >>, << >>, <<<<"Empty", 0, 0>>, <<"Clean", 0, 52>>>>>>, <<<<0, 52>>>>),
   Begun(<<<< >>, << >>, <<<<"Clean", 1, 50>>, <<"Empty", 0, 0>>>>>>, <<<<1, 50>>>>),
   Begun(<<<< >>, << >>, << >>>>, << >>)}

(***************************************************************************)
(* Rules that are wrong                                                    *)
(***************************************************************************)

\* The last row wins, whatever its version is.
NeverOlder(entry, msg) == FALSE

\* A row goes to the page, and the filter does not know.
ToPageUnseen(bucket, msg) == Continue(bucket, [msg EXCEPT !.spills = TRUE])

\* Room is taken though the page may have the key.
NotLookedFor(bucket, msg) == FALSE

\* A deleted key leaves nothing behind.
FloorForgotten(bucket, version) == bucket

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

\* The entry is as a row says that is to be restored.
IsRestored(key, entry) ==
  \E row \in Rows :
    /\ row.key = key /\ ~ row.deletes /\ ~ row.long
    /\ row.version = entry.version /\ entry.value = row.version /\ entry.spot = 0 /\ ~ IsLong(entry.length)

\* A row was restored into its bucket.
RowInBucket ==
  \E key \in Keys : LET way == WayOf(BucketOf(key), key) IN
    way > 0 /\ IsLive(BucketOf(key), way) /\ IsRestored(key, BucketOf(key).entries[way])

\* A row was restored into its page.
RowInPage == \E key \in Keys : \E j \in Spilled(key) : IsRestored(key, SpilledEntry(key, j))

\* A deletion was restored as a tombstone, over an older entry of the page.
RowIsTombstone ==
  \E row \in Rows :
    LET way == WayOf(BucketOf(row.key), row.key) IN
    /\ row.deletes /\ way > 0 /\ ~ IsLive(BucketOf(row.key), way)
    /\ BucketOf(row.key).floor = row.version /\ Spilled(row.key) # {}

\* A deletion was restored for a key that is nowhere.
RowIsFloor ==
  \E row \in Rows :
    LET bucket == BucketOf(row.key) IN
    row.deletes /\ bucket.floor = row.version /\ ~ Current(row.key).there /\ WayOf(bucket, row.key) = 0

\* A deletion was restored beside another key's tail.
FloorBesideTail == RowIsFloor /\ \E spotted \in Spotted : spotted[2] > 0

\* A row was restored into a bucket or a page where another key has a tail.
RowBesideTail == (RowInBucket \/ RowInPage) /\ \E spotted \in Spotted : spotted[2] > 0
=================================================================================
