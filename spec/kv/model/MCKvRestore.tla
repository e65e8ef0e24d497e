------------------------------- MODULE MCKvRestore -------------------------------
(***************************************************************************)
(* Rows that were recovered, given to a store that serves nobody, in any   *)
(* order and any number of times: what RestorePass of the layout does with *)
(* each.  The tables may hold something already.                           *)
(***************************************************************************)
EXTENDS MCKv

CONSTANT Rows  \* what may be given: records of a key, a version, and whether it was deleted

VARIABLE last  \* the last row that was given, with its fate

restoring == <<vars, last>>

None == [key |-> 0, version |-> 0, deletes |-> TRUE, fate |-> "None"]

\* Two keys that were spilled or not, one that is new; of the first an older and a newer row.
SomeRows ==
  {[key |-> 0, version |-> version, deletes |-> deletes] : version \in {3, 6}, deletes \in BOOLEAN}
  \cup {[key |-> 1, version |-> 8, deletes |-> FALSE], [key |-> 1, version |-> 9, deletes |-> TRUE],
        [key |-> 2, version |-> 2, deletes |-> FALSE]}

RowOf(row) ==
  [InitialCell("row") EXCEPT !.key = row.key, !.version = row.version, !.deletes = row.deletes, !.length = Length(row.version),
                             !.value = row.version, !.slot = SlotOf(row.key), !.bit = BitOf(row.key), !.home = HomeOf(SlotOf(row.key))]

\* Sections one after the other, as RestorePass has them.
Give(row) ==
  LET taken == Take(RowOf(row), BlankMessage)
      refilled == Refill(cells.bucket[taken.msg.slot], taken.msg)
      overflown == Overflow(cells.page[taken.msg.home], refilled.msg)
      reported == Report(RowOf(row), overflown.msg)
  IN  /\ cells' = [cells EXCEPT !.bucket[taken.msg.slot] = refilled.cell, !.page[taken.msg.home] = overflown.cell]
      /\ last' = [key |-> row.key, version |-> row.version, deletes |-> row.deletes, fate |-> reported.cell.fate]
      /\ UNCHANGED <<runs, sweep, network, model, event>>

RestoreSpec == (Init /\ last = None) /\ [][\E row \in Rows : Give(row)]_restoring

\* What a row says is there when it was restored, nothing is changed by one that was not, and no other key ever is.
RowsAreRestored ==
  [][\A key \in Keys :
       CASE key # last'.key \/ last'.fate \notin {"Restored", "Older"} -> Current(key)' = Current(key)
         [] last'.fate = "Older" -> Current(key)' = Current(key) /\ LastVersion(key) >= last'.version
         [] last'.deletes -> ~ Current(key)'.there
         [] OTHER -> Current(key)' = [there |-> TRUE, version |-> last'.version, length |-> Length(last'.version),
                                      value |-> last'.version]]_restoring

\* An existing entry is not replaced by an older one.
NothingGoesBack ==
  [][\A key \in Keys :
       Current(key).there /\ Current(key)'.there => Current(key)'.version >= Current(key).version]_restoring

\* A key that is inserted after its deletion was restored has a greater version.
VersionsGoOn == last.fate = "Restored" /\ last.deletes => BucketOf(last.key).floor >= last.version

\* Nothing is lost but where no room is left.
NothingIsRefused == last.fate \in {"None", "Restored", "Older"}

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
=================================================================================
