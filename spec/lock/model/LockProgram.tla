------------------------------ MODULE LockProgram ------------------------------
(* The lock's program, as Frame needs it. *)
EXTENDS LockHooks, Tokens

CONSTANTS
  Clients,    \* session numbers, 0..n; each client keeps to its own
  LockIds,    \* names of locks
  LockCells,  \* how many cells
  SlotOf(_)   \* the cell of a lock; several may fall into one

NewTables ==
  TablesOf([credential |-> Cardinality(Clients), session |-> Cardinality(Clients),
            gathered |-> Cardinality(Clients), lock |-> LockCells, overflow |-> OverflowCapacity])

\* All cells are words.
Locked == {}

Arrived(message) ==
  [message EXCEPT !.slot = IF message.lock \in LockIds THEN SlotOf(message.lock) ELSE 0,
                     !.claimed = FALSE, !.kept = FALSE, !.done = {}, !.refused = {}, !.gone = {}]

\* A client does not see the fields that the daemon writes for TC.
Answer(message) == [Arrived(message) EXCEPT !.entry = 0, !.own = 0]

Validated(message, peer) == MadeFor(message.secret, peer)
=================================================================================
