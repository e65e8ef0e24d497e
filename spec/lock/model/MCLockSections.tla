------------------------------ MODULE MCLockSections ------------------------------
(***************************************************************************)
(* One section alone, on overflow entries and a message that many requests *)
(* at once may have come to, in some order, or that nobody sends.  So a    *)
(* few states show what a section makes of what is not its message's own.  *)
(*                                                                         *)
(* The request is client 1's, for a lock of the second cell.               *)
(***************************************************************************)
EXTENDS MCLock

Message(kind) ==
  [Arrived([BlankMessage EXCEPT !.kind = kind, !.client = 1, !.sequence = 1, !.secret = 2, !.mode = "Shared"])
     EXCEPT !.slot = 1, !.own = 3]

Entry(state, client, slot) == [state |-> state, client |-> client, slot |-> slot]

\* Entries of either client and cell, and one that is vacant.
SomeEntries ==
  {InitialCells.overflow[0]}
  \cup {Entry(state, client, slot) : state \in {"Joining", "Held", "Leaving"}, client \in {0, 1}, slot \in {0, 1}}

With(first, second) == [InitialCells EXCEPT !.overflow[1] = first, !.overflow[2] = second]

\* A run that is about to enter a section.
Case(hook, step, tables, message) ==
  <<tables, <<Before(step, [NewRun(hook, Packet(1, message), 0, 0, 0) EXCEPT !.message = message])>>, NoSweep>>

Claiming ==
  {Case("TC", "Claim", With(first, second), [Message(kind) EXCEPT !.entry = 1]) :
     first \in SomeEntries, second \in {InitialCells.overflow[0], Entry("Held", 1, 1)}, kind \in {"Acquire", "Release", "Rejected"}}

Asking ==
  {Case("User", "OnForwarded", With(first, second), [Message(kind) EXCEPT !.mode = mode, !.entry = 2]) :
     first \in SomeEntries, second \in SomeEntries, kind \in {"Acquire", "Release"}, mode \in {"Shared", "Exclusive"}}

\* The sweep comes to an entry, after one that it gave back.
Reclaiming ==
  {<<With(first, second), << >>,
     [NoSweep EXCEPT !.pass = CHOOSE pass \in DOMAIN Passes : Passes[pass].sections[1].step = "Reclaim", !.index = 1,
                     !.record = [NoMessage EXCEPT !.kind = "Released", !.gone = gone, !.kept = TRUE]]>> :
     first \in SomeEntries, second \in {InitialCells.overflow[0], Entry("Held", 1, 1)}, gone \in SUBSET {0, 1}}

\* In the sweep, an entry is settled whose client the message does not name.
Settling ==
  {Case("TC", "Settle", With(entry, Entry("Held", 1, 1)), [Message(kind) EXCEPT !.entry = 1, !.claimed = claimed, !.kept = kept, !.gone = {0, 1}]) :
     entry \in {Entry("Joining", 1, 1), Entry("Leaving", 1, 1), Entry("Leaving", 0, 1)}, kind \in {"Granted", "Rejected", "Release", "Released"},
     claimed \in BOOLEAN, kept \in BOOLEAN}

SectionsInit ==
  /\ \E case \in Claiming \cup Asking \cup Reclaiming \cup Settling : cells = case[1] /\ runs = case[2] /\ sweep = case[3]
  /\ requests = {} /\ forwarded = {} /\ completions = {} /\ answers = {}
  /\ event = Event("", "", "Init", "", NoMessage, NoMessage)
  /\ clients = [client \in Clients |-> InitialClient(client)]
  /\ issued = Cardinality(Clients)

SectionsNext == event.step = "Init" /\ (RunSection(1) \/ SweepSection(Now)) /\ UNCHANGED <<clients, issued>>

SectionsSpec == SectionsInit /\ [][SectionsNext]_vars

(***************************************************************************)
(* What the sections do                                                    *)
(***************************************************************************)

\* The daemon counts a client's shares in the cell for an upgrade alone, whatever the packet says of them.
SharesAreCounted ==
  [][event'.step = "UserStep" /\ event'.message.kind = "Acquire" =>
       event'.message.own =
         IF event'.given.mode = "Exclusive"
           THEN Cardinality(Entries(event'.given.client, event'.given.slot, {"Held", "Leaving"}))
           ELSE 0]_vars

\* The sweep gives back a share just where its entry is held by a client that is gone. It goes on as that client's release.
GivesBackForTheGone ==
  [][event'.step = "Reclaim" =>
       LET index == event'.to[2]
           entry == cells.overflow[index]
           msg == event'.message
       IN  /\ (event'.verdict = "Continue") = (entry.state = "Held" /\ entry.client \in event'.given.gone)
           /\ event'.verdict = "Continue" =>
                /\ cells'.overflow[index] = [entry EXCEPT !.state = "Leaving"]
                /\ msg.kind = "Release" /\ msg.slot = entry.slot /\ msg.claimed /\ ~ msg.kept
                /\ msg.gone = event'.given.gone
           /\ event'.verdict # "Continue" => cells' = cells]_vars

\* A claimed entry is held if its share is new, or if its release has lost its races: then its client is not gone yet. Else it is
\* vacant. All else stays.
SettlesWhatWasClaimed ==
  [][event'.step = "Settle" /\ event'.from # "sweep" =>
       LET given == event'.given
           entry == cells.overflow[given.entry]
           lost == given.claimed /\ ~ given.kept /\ given.kind = "Release"
       IN  /\ cells'.overflow =
                IF given.claimed
                  THEN [cells.overflow EXCEPT ![given.entry].state = IF given.kept \/ lost THEN "Held" ELSE "Vacant"]
                  ELSE cells.overflow
           /\ event'.message = IF lost THEN [given EXCEPT !.gone = @ \ {entry.client}] ELSE given]_vars

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

\* A release is to give back an entry that another client has by now.
MeetsAnothersEntry ==
  event.step = "Claim" /\ event.given.kind = "Release" /\ cells.overflow[1].state = "Held" /\ cells.overflow[1].client = 0
=================================================================================
