------------------------------ MODULE LogProgram -------------------------------
(* The log's program, as Frame needs it. *)
EXTENDS LogHooks, Tokens

CONSTANTS
  Clients  \* session numbers, 0..n; each client keeps to its own

NewTables ==
  TablesOf([credential |-> Cardinality(Clients), session |-> Cardinality(Clients), answer |-> Cardinality(Clients),
            drained |-> Logs, synced |-> Logs, head |-> Logs, record |-> Logs * Slots, stamp |-> Logs * Slots])

\* All cells that anybody races for are words.
Locked == {}

Arrived(message) == [message EXCEPT !.limit = 0, !.slot = 0, !.numbered = 0, !.gone = {}]

Answer(message) == Arrived(message)

\* No answer depends on it, and how sessions begin is not asked here, but in spec/lib/session.
Validated(message, peer) == TRUE
=================================================================================
