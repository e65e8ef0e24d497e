-------------------------------- MODULE Program --------------------------------
(* What Frame has to know of the least protocol that uses sessions. *)
EXTENDS SessionHooks

\* One session number, that all hosts are after.
Capacity == [credential |-> 1, session |-> 1, tally |-> 1]

Locked == {}

Arrived(message) == [message EXCEPT !.gone = {}]

Answer(message) == Arrived(message)
=================================================================================
