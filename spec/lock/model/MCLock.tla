--------------------------------- MODULE MCLock ---------------------------------
(* Bounds of the lock's models: what models.yaml cannot say. *)
EXTENDS Lock, TLC

OneCell(lock) == 0

\* One of two cells: the first is that of no lock, or of all others.
SecondCell(lock) == 1
ACell == CHOOSE lock \in LockIds : TRUE
TwoInEither(lock) == IF lock \in {ACell, CHOOSE other \in LockIds : other # ACell} THEN 0 ELSE 1
CellOfItsOwn(lock) == IF lock = ACell THEN 1 ELSE 0

\* Locks are called by model values.
NumberOrName == LockIds \cup Nat

\* Requests of client 0, and of every other one.
Asks(first, others) == [client \in Clients |-> IF client = 0 THEN first ELSE others]
Asks1 == Asks(1, 1)
Asks2 == Asks(2, 2)
Asks4 == Asks(4, 4)
Endless == Asks(1000, 1)
EndlessBoth == Asks(1000, 1000)
Asks21 == Asks(2, 1)
Asks31 == Asks(3, 1)
Asks3 == Asks(3, 3)
Asks32 == Asks(3, 2)
Asks6 == Asks(6, 6)
Asks10 == Asks(1, 0)
Asks20 == Asks(2, 0)
Asks40 == Asks(4, 0)
Asks30 == Asks(3, 0)

\* The messages that one client can send for another: with its own secret, or without one.
Forgeries ==
  {Packet(1 - client, Arrived([BlankMessage EXCEPT !.kind = IF client = 0 THEN "Release" ELSE "Close",
                                                   !.client = client, !.sequence = 1, !.secret = 2 - client])) :
     client \in {0, 1}}

\* A client that keeps to no rule: whatever it sends in its own session is about from the start.
WildRequest(kind, mode, lock, sequence) ==
  Packet(1, Arrived([BlankMessage EXCEPT !.kind = kind, !.mode = mode, !.client = 1, !.sequence = sequence, !.secret = 2,
                                         !.lock = lock]))
Wild ==
  {WildRequest("Acquire", mode, ACell, 1) : mode \in {"Free", "Shared"}}
    \cup {WildRequest("Acquire", "Shared", ACell, 2), WildRequest("Acquire", "Exclusive", ACell, 3),
          WildRequest("Release", "Free", ACell, 3)}

AsksForNoMode == {WildRequest("Acquire", "Free", ACell, 1)}

\* It joins the others, or gives back what it does not have.
Joins == {WildRequest("Acquire", "Shared", ACell, 1), WildRequest("Release", "Free", ACell, 1)}

\* It takes a share of one lock, or of each.
TakesOne == {WildRequest("Acquire", "Shared", ACell, 1)}
TakesBoth == {WildRequest("Acquire", "Shared", lock, IF lock = ACell THEN 1 ELSE 2) : lock \in LockIds}

\* Client 0 takes two shares, gives back the one in the cell, and asks to be the only one.
KeepsASpilledShare ==
  LET asked == clients[0].waiting
      script == << <<"Acquire", "Shared">>, <<"Acquire", "Shared">>, <<"Release", "Free">>, <<"Acquire", "Exclusive">> >>
  IN  asked = NoRequest \/ <<asked.kind, asked.mode>> = script[asked.sequence]

\* Client 0 takes four shares, and gives two back.
TakesFour ==
  LET asked == clients[0].waiting IN asked = NoRequest \/ (asked.kind = "Release") = (asked.sequence >= 5)

\* Client 0 takes three shares, and then gives them back, or asks to be the only one.
TakesThree ==
  LET asked == clients[0].waiting
  IN  asked = NoRequest \/ (<<asked.kind, asked.mode>> = <<"Acquire", "Shared">>) = (asked.sequence <= 3)

\* Client 0 takes three shares. After the first, client 1 takes one, and gives it back after the second.
LeavesAHole ==
  \A client \in Clients :
    LET asked == clients[client].waiting
        other == clients[1 - client].done
    IN  \/ asked = NoRequest
        \/ /\ asked.kind = IF client = 1 /\ asked.sequence = 2 THEN "Release" ELSE "Acquire"
           /\ other = IF client = 1 THEN asked.sequence ELSE asked.sequence - 1

\* Client 0 asks when client 1 is in the cell. That has its second share later than client 0 dies.
DiesBeforeTheSecond ==
  /\ clients[0].waiting = NoRequest \/ 1 \in cells.lock[1].holders
  /\ cells.session[1].sequence = 2 => clients[0].phase = "Out"

\* Client 0 asks for several locks at once, and the other one for one at a time.
FirstGathers ==
  \A client \in Clients :
    LET asked == clients[client].waiting IN asked = NoRequest \/ (asked.kind = "Gather") = (client = 0)

Both(kind, mode) == <<<<kind, mode, ACell>>, <<kind, mode, CHOOSE other \in LockIds : other # ACell>>>>

TwoAtOnce == {Both("Acquire", mode) : mode \in Modes}

\* Two locks are taken or given back, or one of each.
TwoOfOneCell ==
  TwoAtOnce \cup {Both("Release", "Free")}
    \cup {<<Both("Release", "Free")[i], Both("Acquire", mode)[3 - i]>> : i \in {1, 2}, mode \in Modes}

(* States that models must reach: `possible` in models.yaml. *)

SomeOperations(Of(_)) == \E packet \in answers : packet.message.kind = "Gathered" /\ Of(packet.message.operations)

\* One operation of a message is granted, and another one is refused, or left to the client to ask for it alone.
GrantedBeside ==
  SomeOperations(LAMBDA all : \E i, j \in DOMAIN all : all[i].kind = "Granted" /\ all[j].kind \in {"Rejected", "Acquire"})

\* A release is left to the client to ask for it alone.
LeftAlone == SomeOperations(LAMBDA all : \E i \in DOMAIN all : all[i].kind = "Release")

\* A client has the last overflow entry, and the one before is vacant.
LastEntryIsOwned ==
  /\ cells.overflow[OverflowCapacity - 1].state = "Held"
  /\ cells.overflow[OverflowCapacity - 2].state = "Vacant"

\* Two shares of a cell are spilled.
TwoSpilled == \E slot \in DOMAIN cells.lock : cells.lock[slot].spilled = 2

\* A client has spilled shares of two cells.
SpilledInEitherCell == \E client \in Clients : \A slot \in DOMAIN cells.lock : Entries(client, slot, {"Held"}) # {}

\* A client has an exclusive lock with two shares.
ExclusiveTwice == \E lock \in LockIds : cells.lock[SlotOf(lock)].mode = "Exclusive" /\ cells.lock[SlotOf(lock)].spilled > 0

\* A shared lock has only spilled shares: a release goes to the daemon.
OnlySpilled == \E slot \in DOMAIN cells.lock : cells.lock[slot].spilled > 0 /\ cells.lock[slot].holders = {}

\* The completion of an acquire finds the cell in the hands of another, who was not there when XDP passed it on.
OvertakenUpgrade ==
  \E r \in DOMAIN runs :
    LET run == runs[r] IN
    /\ run.message.kind = "Acquire" /\ run.message.mode = "Exclusive" /\ run.message.claimed
    /\ cells.lock[run.message.slot].holders # {}
    /\ run.message.client \notin cells.lock[run.message.slot].holders
    /\ cells.lock[run.message.slot].spilled = run.message.own

\* The sweep is about to take back a spilled share.
SpilledOfGone == \E client \in sweep.record.gone, slot \in DOMAIN cells.lock : Entries(client, slot, {"Held"}) # {}

\* One sweep takes back what two clients had.
TwoGone == Cardinality(sweep.record.gone) = 2

\* The names of locks do not matter where all fall into one cell.
Symmetry == Permutations(LockIds)
=================================================================================
