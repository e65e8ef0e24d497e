-------------------------------- MODULE Program --------------------------------
(* The program of transactions, as Frame needs it. *)
EXTENDS OccHooks, Tokens

CONSTANTS
  Clients,    \* session numbers, 0..n; each client keeps to its own
  Keys,       \* small numbers
  Buckets,    \* how many
  Pages,      \* how many
  Shelves,    \* how many
  SlotOf(_),  \* the bucket of a key
  BitOf(_),   \* the bit of a key in its bucket's filter
  HomeOf(_),  \* the page of a bucket
  ShelfOf(_)  \* the shelf of a key

Capacity == [credential |-> Cardinality(Clients), session |-> Cardinality(Clients), answer |-> Cardinality(Clients),
             transaction |-> Cardinality(Clients), intent |-> Cardinality(Clients) * Intents,
             bucket |-> Buckets, page |-> Pages, shelf |-> Shelves, tail |-> Shelves]

\* The page is under a bpf_spin_lock.
Locked == {"page"}

Arrived(message) ==
  [message EXCEPT !.slot = SlotOf(message.key), !.bit = BitOf(message.key), !.victim_bit = BitOf(message.victim),
                  !.home = HomeOf(SlotOf(message.key)), !.lifted = "Empty", !.carried = BlankMessage.carried,
                  !.shelf = ShelfOf(message.key), !.stowed = FALSE, !.moved = FALSE, !.claimed = FALSE, !.done = FALSE,
                  !.gone = {}, !.intent = 0]

\* A client does not see handover fields.
Answer(message) == Arrived(HandedOver(message, BlankMessage))

Validated(message, peer) == MadeFor(message.secret, peer)
=================================================================================
