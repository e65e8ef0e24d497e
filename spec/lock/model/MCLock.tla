--------------------------------- MODULE MCLock ---------------------------------
(* Bounds of the lock's models: what models.yaml cannot say. *)
EXTENDS Lock, TLC

OneCell(lock) == 0

\* One of two cells: the first is that of no lock, or of all others.
SecondCell(lock) == 1
ACell == CHOOSE lock \in LockIds : TRUE
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
Asks10 == Asks(1, 0)
Asks30 == Asks(3, 0)

\* The messages that one client can send for another: with its own secret, or without one.
Forgeries ==
  {Packet(1 - client, Arrived([BlankMessage EXCEPT !.kind = IF client = 0 THEN "Release" ELSE "Close",
                                                   !.client = client, !.sequence = 1, !.secret = 2 - client])) :
     client \in {0, 1}}

\* A client that keeps to no rule: whatever it sends in its own session is about from the start.
WildRequest(kind, mode, sequence) ==
  Packet(1, Arrived([BlankMessage EXCEPT !.kind = kind, !.mode = mode, !.client = 1, !.sequence = sequence, !.secret = 2,
                                         !.lock = ACell]))
Wild ==
  {WildRequest("Acquire", mode, 1) : mode \in {"Free", "Shared"}}
    \cup {WildRequest("Acquire", "Shared", 2), WildRequest("Acquire", "Exclusive", 3), WildRequest("Release", "Free", 3)}

\* The names of locks do not matter where all fall into one cell.
Symmetry == Permutations(LockIds)
=================================================================================
