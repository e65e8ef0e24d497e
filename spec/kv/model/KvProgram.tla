------------------------------- MODULE KvProgram -------------------------------
(* The store's program, as Frame needs it. *)
EXTENDS KvHooks, KvTables, Tokens

NewTables ==
  TablesOf([credential |-> Cardinality(Clients), session |-> Cardinality(Clients), answer |-> Cardinality(Clients),
            noted |-> Operations * Cardinality(Clients),
            bucket |-> Buckets, page |-> Pages, shelf |-> Shelves, tail |-> Shelves, row |-> 1])

\* The page is under a bpf_spin_lock.
Locked == {"page"}

Arrived(message) ==
  [message EXCEPT !.slot = SlotOf(message.key), !.bit = BitOf(message.key), !.victim_bit = BitOf(message.victim),
                     !.home = HomeOf(SlotOf(message.key)), !.lifted = "Empty", !.carried = BlankMessage.carried,
                     !.shelf = ShelfOf(message.key), !.stowed = FALSE, !.moved = FALSE, !.claimed = FALSE, !.done = FALSE,
                     !.note = 0, !.overtaken = FALSE, !.line = 0, !.lives = FALSE, !.spills = FALSE, !.fate = "Pending",
                     !.gone = {}]

\* The client never sees the fields that the hooks hand over to one another.
Answer(message) == Arrived(HandedOver(message, BlankMessage))

Validated(message, peer) == MadeFor(message.secret, peer)
=================================================================================
