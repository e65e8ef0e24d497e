------------------------------- MODULE LockSteps -------------------------------
(***************************************************************************)
(* Shared and exclusive locks.                                             *)
(*                                                                         *)
(* A cell counts shares: every granted acquire is one, to be given back by *)
(* one release.  Several lock ids may fall into one cell, so a client can  *)
(* have several shares of a cell; its shares of one cell are alike.  A     *)
(* share lives in the cell (one for each of at most MaxHolders clients) or *)
(* in an overflow entry, found by the daemon; cell.spilled counts those.   *)
(*                                                                         *)
(*   Free       no share                                                   *)
(*   Shared     shares of any number of clients                            *)
(*   Exclusive  shares of one client, which is in holders until its last   *)
(*                                                                         *)
(* Cells: lock [mode, holders, spilled], overflow [state, client, slot].   *)
(***************************************************************************)
EXTENDS SessionSteps

CONSTANTS
  MaxHolders,       \* shares in the cell
  MaxSpilled,       \* shares of one cell in overflow entries
  MaxOwned,         \* overflow entries of one session
  OverflowCapacity, \* overflow entries; entry 0 stands for none
  Operations        \* acquires and releases of one message

Answered(cell, msg, kind) == Continue(cell, [msg EXCEPT !.kind = kind])

\* An unanswered message goes to the daemon: see End.
Spill(cell, msg) == Continue(cell, msg)

(***************************************************************************)
(* XDP                                                                     *)
(***************************************************************************)

Acquire(lock, msg) ==
  CASE lock.mode = "Free" ->
         Answered([lock EXCEPT !.mode = msg.mode, !.holders = {msg.client}], msg, "Granted")
    [] msg.client \in lock.holders /\ (lock.mode = "Exclusive" \/ msg.mode = "Shared") ->
         AnotherShare :: Spill(lock, msg)
    [] lock.mode = "Exclusive" ->
         HeldExclusive :: Answered(lock, msg, "Rejected")
    [] msg.mode = "Shared" ->
         IF Cardinality(lock.holders) < MaxHolders
           THEN Answered([lock EXCEPT !.holders = @ \cup {msg.client}], msg, "Granted")
           ELSE Full :: Spill(lock, msg)
    [] lock.holders \subseteq {msg.client} ->
         Upgrade :: Spill(lock, msg)
    [] OTHER ->
         HeldShared :: Answered(lock, msg, "Rejected")

\* The cell after the last share in holders went.
Without(lock, client) ==
  [lock EXCEPT !.mode = IF lock.holders = {client} /\ lock.spilled = 0 THEN "Free" ELSE @,
               !.holders = @ \ {client}]

Release(lock, msg) ==
  CASE msg.client \notin lock.holders ->
         IF lock.mode = "Shared" /\ lock.spilled > 0
           THEN Elsewhere :: Spill(lock, msg)
           ELSE NotHeld :: Answered(lock, msg, "Rejected")
    [] lock.mode = "Exclusive" /\ lock.spilled > 0 ->
         SpilledFirst :: Spill(lock, msg)
    [] OTHER ->
         Answered(Without(lock, msg.client), msg, "Released")

OnRequest(lock, msg) ==
  CASE msg.kind = "Acquire" ->
         IF msg.mode = "Free"
           THEN NoMode :: Answered(lock, msg, "Rejected")
           ELSE Acquire(lock, msg)
    [] msg.kind = "Release" -> Release(lock, msg)
    [] OTHER -> Neither :: Continue(lock, msg)

(***************************************************************************)
(* Several at once.  Each operation is an acquire or a release of its own, *)
(* on its own cell.  One that the kernel cannot decide stays what it is:   *)
(* its client asks for it alone.  The session's cell of `gathered` keeps   *)
(* what became of each, for when the request is sent again.                *)
(***************************************************************************)

\* The operation's answer is noted for Keep.
Note(gathered, msg, env) ==
  CASE msg.kind \in {"Granted", "Released"} -> Continue(gathered, [msg EXCEPT !.done = @ \cup {env.position}])
    [] msg.kind = "Rejected" -> Continue(gathered, [msg EXCEPT !.refused = @ \cup {env.position}])
    [] OTHER -> Alone :: Continue(gathered, msg)

Keep(gathered, msg) ==
  IF msg.kind = "Gather"
    THEN Continue([gathered EXCEPT !.sequence = msg.sequence, !.done = msg.done, !.refused = msg.refused],
                  [msg EXCEPT !.kind = "Gathered"])
    ELSE NotGathered :: Continue(gathered, msg)

\* The request was sent again: its operations are answered as they were.
Recall(gathered, msg, env) ==
  CASE env.position \in gathered.done ->
         Continue(gathered, [msg EXCEPT !.kind = IF msg.kind = "Acquire" THEN "Granted" ELSE "Released"])
    [] env.position \in gathered.refused -> Continue(gathered, [msg EXCEPT !.kind = "Rejected"])
    [] OTHER -> StillAlone :: Continue(gathered, msg)

\* Another request of the session may have been gathered since it was recalled.
Recalled(gathered, msg) ==
  CASE msg.kind # "Gathered" -> NotRecalled :: Continue(gathered, msg)
    [] gathered.sequence = msg.sequence -> Reply(gathered, msg)
    [] OTHER -> MovedOn :: Drop(gathered, msg)

(***************************************************************************)
(* The daemon finds, the kernel commits: the daemon only says which        *)
(* overflow entry to use, and TC looks whether it still may.               *)
(***************************************************************************)

OnForwarded(overflow, msg, env) ==
  LET \* Also an entry that a completion is just giving back: it may yet lose its races.
      Own(i) == overflow[i].state \in {"Held", "Leaving"}
                  /\ overflow[i].client = msg.client /\ overflow[i].slot = msg.slot
      vacant == FirstIndex(1, OverflowCapacity - 1, 0, LAMBDA i : overflow[i].state = "Vacant")
      held == FirstIndex(1, OverflowCapacity - 1, 0, Own)
      \* Of any cell.  Until this message is completed no other acquire of its
      \* session is, so that nobody comes to have more than were counted and one.
      OfClient(i) == overflow[i].state # "Vacant" /\ overflow[i].client = msg.client
  IN
  CASE msg.kind \in Opening ->
         Reply(overflow, Invite(msg, env))
    [] msg.kind = "Acquire" ->
         CASE vacant = 0 ->
                OverflowFull :: Reply(overflow, [msg EXCEPT !.kind = "Rejected"])
           [] CountIndex(1, OverflowCapacity - 1, OfClient) >= MaxOwned ->
                TooManyOwned :: Reply(overflow, [msg EXCEPT !.kind = "Rejected"])
           [] msg.mode = "Exclusive" ->
                Reply(overflow, [msg EXCEPT !.entry = vacant, !.own = CountIndex(1, OverflowCapacity - 1, Own)])
           [] OTHER -> \* an upgrade alone asks whose the others are
                Reply(overflow, [msg EXCEPT !.entry = vacant, !.own = 0])
    [] msg.kind = "Release" ->
         Reply(overflow, [msg EXCEPT !.entry = held])
    [] OTHER -> NotForwarded :: Drop(overflow, msg)

(***************************************************************************)
(* TC: claim the entry, then change the cell, then settle the entry.       *)
(***************************************************************************)

Claim(overflow, msg) ==
  CASE msg.kind = "Acquire" /\ overflow.state = "Vacant" ->
         Continue([overflow EXCEPT !.state = "Joining", !.client = msg.client, !.slot = msg.slot],
                  [msg EXCEPT !.claimed = TRUE])
    [] msg.kind = "Release" /\ overflow.state = "Held"
         /\ overflow.client = msg.client /\ overflow.slot = msg.slot ->
         Continue([overflow EXCEPT !.state = "Leaving"], [msg EXCEPT !.claimed = TRUE])
    [] OTHER -> NotClaimed :: Continue(overflow, msg)

Spilled(lock, msg, mode) ==
  Answered([lock EXCEPT !.mode = mode, !.spilled = @ + 1], [msg EXCEPT !.kept = TRUE], "Granted")

Admit(lock, msg) ==
  CASE lock.spilled >= MaxSpilled ->
         TooManySpilled :: Answered(lock, msg, "Rejected")
    [] lock.mode = "Free" ->
         Answered([lock EXCEPT !.mode = msg.mode, !.holders = {msg.client}], msg, "Granted")
    [] lock.mode = "Exclusive" ->
         IF msg.client \in lock.holders
           THEN Spilled(lock, msg, "Exclusive")
           ELSE Answered(lock, msg, "Rejected")
    [] msg.mode = "Shared" ->
         Spilled(lock, msg, "Shared")
    [] lock.spilled = msg.own /\ lock.holders = {msg.client} ->
         Spilled(lock, msg, "Exclusive")
    [] lock.spilled = msg.own /\ lock.holders = {} ->
         Answered([lock EXCEPT !.mode = "Exclusive", !.holders = {msg.client}], msg, "Granted")
    [] OTHER ->
         Answered(lock, msg, "Rejected")

Unspill(lock) ==
  [lock EXCEPT !.mode = IF lock.holders = {} /\ lock.spilled = 1 THEN "Free" ELSE @,
               !.spilled = IF @ > 0 THEN @ - 1 ELSE @]

\* A release that has no overflow entry: its section in XDP lost its races, or
\* the client has no share at all.
ReleaseHeld(lock, msg) ==
  IF msg.client \in lock.holders
    THEN Answered(Without(lock, msg.client), msg, "Released")
    ELSE NoShare :: Answered(lock, msg, "Rejected")

OnCompletion(lock, msg) ==
  CASE msg.kind = "Acquire" /\ msg.claimed -> Admit(lock, msg)
    [] msg.kind = "Release" /\ msg.claimed -> Answered(Unspill(lock), msg, "Released")
    [] msg.kind = "Release" /\ msg.entry = 0 -> ReleaseHeld(lock, msg)
    [] OTHER -> NotCompleted :: Continue(lock, msg)

\* kept says that the share now lives in the entry.  A section that lost its
\* races leaves the message as it was: then the entry is as before as well, and
\* a session whose share could not be taken back is not yet gone.
Settle(overflow, msg) ==
  CASE ~ msg.claimed -> Continue(overflow, msg)
    [] msg.kept -> Continue([overflow EXCEPT !.state = "Held"], msg)
    [] msg.kind = "Release" ->
         NotReleased :: Continue([overflow EXCEPT !.state = "Held"],
                                 [msg EXCEPT !.gone = @ \ {overflow.client}])
    [] OTHER -> Continue([overflow EXCEPT !.state = "Vacant"], msg)

(***************************************************************************)
(* The daemon's sweep: take back what the sessions in msg.gone held.       *)
(***************************************************************************)

Evict(lock, msg) ==
  IF \E holder \in lock.holders : holder \in msg.gone
    THEN Continue([lock EXCEPT !.mode = IF lock.holders \subseteq msg.gone /\ lock.spilled = 0 THEN "Free" ELSE @,
                               !.holders = @ \ msg.gone],
                  msg)
    ELSE Drop(lock, msg)

\* Goes on as the release that the client will not send: OnCompletion, Settle.
Reclaim(overflow, msg) ==
  IF overflow.state = "Held" /\ overflow.client \in msg.gone
    THEN Continue([overflow EXCEPT !.state = "Leaving"],
                  [msg EXCEPT !.kind = "Release", !.slot = overflow.slot, !.claimed = TRUE, !.kept = FALSE])
    ELSE Drop(overflow, msg)
================================================================================
