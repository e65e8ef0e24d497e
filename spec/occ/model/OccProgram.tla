------------------------------ MODULE OccProgram -------------------------------
(* The program of transactions, as Frame needs it. *)
EXTENDS OccHooks, KvTables, Tokens

NewTables ==
  TablesOf([credential |-> Cardinality(Clients), session |-> Cardinality(Clients), answer |-> Cardinality(Clients),
            noted |-> Operations * Cardinality(Clients),
            transaction |-> Cardinality(Clients), intent |-> Cardinality(Clients) * Intents,
            bucket |-> Buckets, page |-> Pages, shelf |-> Shelves, tail |-> Shelves])

\* The page is under a bpf_spin_lock.
Locked == {"page"}

Arrived(message) ==
  [message EXCEPT !.slot = SlotOf(message.key), !.bit = BitOf(message.key), !.victim_bit = BitOf(message.victim),
                     !.home = HomeOf(SlotOf(message.key)), !.lifted = "Empty", !.carried = BlankMessage.carried,
                     !.shelf = ShelfOf(message.key), !.stowed = FALSE, !.moved = FALSE, !.claimed = FALSE, !.done = FALSE,
                     !.note = 0, !.overtaken = FALSE, !.gone = {}, !.intent = 0]

\* The client never sees the fields that the hooks hand over to one another.
Answer(message) == Arrived(HandedOver(message, BlankMessage))

Validated(message, peer) == MadeFor(message.secret, peer)
=================================================================================
