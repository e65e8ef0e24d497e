--------------------------------- MODULE MCLock ---------------------------------
(* Bounds of the lock's models: what a .cfg cannot say. *)
EXTENDS Lock, TLC

OneCell(lock) == 0

Asks1 == [client \in Clients |-> 1]
Asks2 == [client \in Clients |-> 2]
Asks3 == [client \in Clients |-> 3]
Asks41 == [client \in Clients |-> IF client = 0 THEN 4 ELSE 1]
Asks22 == [client \in Clients |-> 2]
Asks21 == [client \in Clients |-> IF client = 0 THEN 2 ELSE 1]
Asks31 == [client \in Clients |-> IF client = 0 THEN 3 ELSE 1]
Asks32 == [client \in Clients |-> IF client = 0 THEN 3 ELSE 2]

\* What one client can send for another: with its own secret, or with none.
Forgeries ==
  {Packet(1 - client, Arrived([BlankMessage EXCEPT !.kind = IF client = 0 THEN "Release" ELSE "Close",
                                                   !.client = client, !.sequence = 1, !.secret = 2 - client])) :
     client \in {0, 1}}

\* The names of locks do not matter where all fall into one cell.
Symmetry == Permutations(LockIds)
=================================================================================
