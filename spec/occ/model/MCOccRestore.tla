------------------------------ MODULE MCOccRestore ------------------------------
(***************************************************************************)
(* Rows that were recovered, given to a store that serves nobody: what the *)
(* layout's restore does with each.  A way may still be pinned.            *)
(***************************************************************************)
EXTENDS MCOcc

VARIABLE last  \* the last row that was given, with its fate

restoring == <<vars, last>>

\* Key 0 has an older row, a newer row and one that is too long. Key 1 has a newer row and a deletion.
Rows ==
  {[key |-> 0, version |-> version, deletes |-> FALSE] : version \in {3, 6, 60}}
  \cup {[key |-> 1, version |-> 8, deletes |-> FALSE], [key |-> 1, version |-> 9, deletes |-> TRUE]}

RowOf(row) ==
  [InitialCell("row") EXCEPT !.key = row.key, !.version = row.version, !.deletes = row.deletes,
                             !.length = IF BeginsLong(row.version) THEN LongLength(row.version) ELSE Length(row.version),
                             !.value = row.version, !.slot = SlotOf(row.key), !.bit = BitOf(row.key), !.home = HomeOf(SlotOf(row.key))]

\* Sections one after the other, as the layout has them.
Give(row) ==
  LET taken == Take(RowOf(row), BlankMessage)
      refilled == OccRefill(cells.bucket[taken.msg.slot], taken.msg)
      overflown == Overflow(cells.page[taken.msg.home], refilled.msg)
      reported == Report(RowOf(row), overflown.msg)
  IN  /\ cells' = [cells EXCEPT !.bucket[taken.msg.slot] = refilled.cell, !.page[taken.msg.home] = overflown.cell]
      /\ last' = [key |-> row.key, version |-> row.version, deletes |-> row.deletes,
                  fate |-> IF {refilled.verdict, overflown.verdict} = {"Continue"} THEN reported.cell.fate ELSE "Pending"]
      /\ UNCHANGED <<runs, sweep, network, model, event>>

\* The second bucket has a way pinned, or one that was used.
Restored ==
  {[each EXCEPT !.bucket[1].pinned = pinned, !.bucket[1].used = {0, 1} \ pinned] : each \in TwoBuckets, pinned \in {{}, {1}}}

RestoreSpec ==
  (Init /\ last = [key |-> 0, version |-> 0, deletes |-> TRUE, fate |-> "None"]) /\ [][\E row \in Rows : Give(row)]_restoring

\* A row that was restored is there. One that was not changes nothing, and no row changes another key.
RowsAreRestored ==
  [][\A key \in Keys :
       LET before == State(key)
           after == State(key)'
       IN  CASE key # last'.key \/ last'.fate # "Restored" -> after = before
             [] last'.deletes -> ~ after.there
             [] OTHER -> after.there /\ after.version = last'.version /\ Standing(key, 0)'.value = last'.version]_restoring

\* A row stays away from a bucket in which a way is locked, and from no other bucket. There it is restored, unless the key
\* has a newer state.
OnlyLocksAreInTheWay ==
  [][CASE BeginsLong(last'.version) -> last'.fate = "TooLong" /\ cells' = cells
       [] cells.bucket[SlotOf(last'.key)].pinned # {} -> last'.fate = "LockInTheWay" /\ cells' = cells
       [] State(last'.key).there /\ State(last'.key).version >= last'.version -> last'.fate = "Older"
       [] OTHER -> last'.fate \in {"Restored", "Older"}]_restoring

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

\* A row stays away from its bucket, in which a way is locked.
RowMeetsLock == last.fate = "LockInTheWay"

\* A row is restored beside another bucket in which a way is locked.
RestoredBesideLock == last.fate = "Restored" /\ \E slot \in 0..(Buckets - 1) : cells.bucket[slot].pinned # {}
=================================================================================
