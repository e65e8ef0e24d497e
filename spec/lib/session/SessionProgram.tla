---------------------------- MODULE SessionProgram -----------------------------
(* The least protocol that uses sessions, as Frame needs it. *)
EXTENDS SessionHooks, Tokens

\* All hosts are after session number 0.
NewTables ==
  TablesOf([credential |-> Sessions, session |-> Sessions, tally |-> 1])

Locked == {}

Arrived(message) == [message EXCEPT !.gone = {}]

Answer(message) == Arrived(message)

Validated(message, peer) == MadeFor(message.secret, peer)
=================================================================================
