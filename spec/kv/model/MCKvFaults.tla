------------------------------- MODULE MCKvFaults -------------------------------
(***************************************************************************)
(* Rules that are wrong, each put in place of the right one by the model   *)
(* that must fail because of it.  Most are what published designs do; some *)
(* are what a draft of this one did.                                       *)
(***************************************************************************)
EXTENDS MCKv

\* The rules as they are, for wrong ones that differ in one thing.
Right == INSTANCE KvHooks

(***************************************************************************)
(* Strangers                                                               *)
(***************************************************************************)

Anyone(sender) == TRUE

\* A read by client 1 of what is spilled, which says that the daemon need not look: it knows the value.
ForgedRead ==
  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Get", !.client = 1, !.sequence = 1, !.secret = 2, !.length = 1, !.way = 1,
                                          !.found = TRUE, !.spot = 1]))}

\* And the steps believe it: where a tail is to be read, nothing else is looked for.
FindBelieving(page, msg, env) ==
  IF msg.kind = "Get" /\ msg.spot > 0 THEN Continue(page, msg) ELSE Drop(page, msg)

\* The same as if the daemon had looked.
ForgedFinding ==
  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Get", !.client = 1, !.sequence = 1, !.secret = 2, !.length = 1, !.way = 1,
                                          !.found = TRUE]))}

\* A tail goes to whatever address the packet came from.
KeepForAnyone(tail, msg, env) ==
  CASE msg.spot \notin 1..Spots -> Reply(tail, msg)
    [] msg.kind = "Get" -> Reply(tail, [msg EXCEPT !.tail = tail.bytes[msg.spot]])
    [] OTHER -> Reply([tail EXCEPT !.bytes[msg.spot] = msg.tail], msg)

(***************************************************************************)
(* Several operations in one message                                       *)
(***************************************************************************)

\* A request that is sent again is executed again.
BeginAgain(session, msg, env) ==
  CASE msg.kind \in Reads -> Continue(session, msg)
    [] session.state = "Idle" /\ msg.sequence \in {session.sequence, NextSequence(session.sequence)} ->
         Continue([session EXCEPT !.state = "Busy", !.sequence = msg.sequence, !.deadline = Extended(env.now)], msg)
    [] OTHER -> Drop(session, msg)

\* The outcome of an operation is noted only if it was decided, so an older note may count for one that was not.
NoteDecided(noted, msg) ==
  IF msg.kind \in Alone THEN Continue([noted EXCEPT !.tag = TagOf(msg)], msg) ELSE Right!Note(noted, msg)

\* A retry learns the last note, of whichever request that is.
RecollectAnyhow(noted, msg) ==
  Continue(noted, Right!Recollect([noted EXCEPT !.tag = TagOf(msg)], msg).msg)

\* A read of several keys that writes one of them.
ForgedFetch ==
  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Fetch", !.client = 1, !.sequence = 1, !.secret = 2, !.count = 1,
                                          !.operations = <<[kind |-> "Update", key |-> 0, version |-> 0,
                                                            length |-> Length(211), value |-> 211]>>]))}

\* A read of several keys may write as well, as often as it is sent.
OnFetchedAnything(bucket, msg) == OnOperation(bucket, msg)

(***************************************************************************)
(* The bucket                                                              *)
(***************************************************************************)

\* A full bucket makes room at once: the victim leaves on the packet, and its way is overwritten before the page has it.
RequestOverwritesVictim(bucket, msg) ==
  LET way == WayOf(bucket, msg.key)
      room == RoomIn(bucket)
      place == IF room > 0 THEN room ELSE Victim(bucket)
  IN  CASE way > 0 -> OnEntry(bucket, msg, way)
        [] msg.kind = "Insert" /\ ~ MayBeSpilled(bucket, msg) ->
             Continue(Put(bucket, place, "Dirty", NextVersion(bucket.floor), msg),
                      [LookUp(bucket, msg, room).msg EXCEPT !.kind = IF room > 0 THEN "Inserted" ELSE @])
        [] OTHER -> LookUp(bucket, msg, room)

\* An insert that finds room does not ask whether the key was spilled.
RequestWithoutLooking(bucket, msg) ==
  LET way == WayOf(bucket, msg.key)
      room == RoomIn(bucket)
  IN  CASE way > 0 -> OnEntry(bucket, msg, way)
        [] msg.kind = "Insert" /\ room > 0 ->
             Continue(Put(bucket, room, "Dirty", NextVersion(bucket.floor), msg),
                      [msg EXCEPT !.kind = "Inserted", !.version = NextVersion(bucket.floor)])
        [] OTHER -> LookUp(bucket, msg, room)

\* A tombstone counts as room for another key: what the page has of the deleted one comes back.
RoomOverTombstones(bucket) == FirstIndex(1, Ways, 0, LAMBDA i : bucket.marks[i] \in {"Empty", "Clean", "Gone"})

\* A deletion leaves no tombstone (gets and deletions alone).
OnEntryWithoutTombstone(bucket, msg, way) ==
  IF msg.kind = "Get"
    THEN Continue(bucket, [msg EXCEPT !.kind = "Value", !.version = bucket.entries[way].version,
                                      !.length = bucket.entries[way].length, !.value = bucket.entries[way].value])
    ELSE Continue([Deleted(bucket, bucket.entries[way].version) EXCEPT !.marks[way] = "Empty"],
                  [msg EXCEPT !.kind = "Deleted", !.version = bucket.entries[way].version])

\* Nobody keeps the versions of deleted keys, so that they begin again.
VersionsForgotten(bucket, version) == bucket

(***************************************************************************)
(* The rare path                                                           *)
(***************************************************************************)

\* The epoch never changes, as if nobody compared it.
SameEpoch(epoch) == epoch

\* Find, with what the filter is made of and what hinders it as parameters.
FindBy(page, msg, env, InFilter(_), Hinders(_)) ==
  LET Here(j) == page.spilled[j].mark # "Vacant" /\ page.spilled[j].slot = msg.slot
      Has(j, key) == Here(j) /\ page.spilled[j].key = key
      own == FirstIndex(1, PageSize, 0, LAMBDA j : Has(j, msg.key))
      older == FirstIndex(1, PageSize, 0, LAMBDA j : Has(j, msg.victim))
      vacant == FirstIndex(1, PageSize, 0, LAMBDA j : page.spilled[j].mark = "Vacant")
      old == IF msg.kind = "Delete" THEN own ELSE IF msg.evicts THEN older ELSE 0
      filter == {page.spilled[j].bit : j \in {i \in 1..PageSize : Here(i) /\ InFilter(page.spilled[i].mark) /\ i # old}}
      found == [msg EXCEPT !.found = own > 0, !.old = old, !.entry = vacant, !.filter = filter]
  IN  CASE msg.way = 0 -> Drop(page, msg)
        [] \E j \in 1..PageSize :
             (Has(j, msg.key) \/ (msg.evicts /\ Has(j, msg.victim))) /\ Hinders(page.spilled[j].mark) -> Drop(page, msg)
        [] own = 0 -> Reply(page, found)
        [] msg.kind = "Get" ->
             Reply(page, [found EXCEPT !.version = page.spilled[own].entry.version,
                                       !.length = page.spilled[own].entry.length,
                                       !.value = page.spilled[own].entry.value])
        [] OTHER -> Reply(page, [found EXCEPT !.version = page.spilled[own].entry.version])

\* The filter is rebuilt of what is held, without what is on its way into the page, or not yet out of it.
FindHeldOnly(page, msg, env) == FindBy(page, msg, env, LAMBDA mark : mark = "Held", LAMBDA mark : mark # "Held")

\* A found entry is used even while it is on its way out or in.
FindInPassing(page, msg, env) == FindBy(page, msg, env, LAMBDA mark : TRUE, LAMBDA mark : FALSE)

\* The bucket is changed, whether the page could take what was lifted or not.
ReadyUnstowed(bucket, msg) ==
  /\ msg.way \in 1..Ways
  /\ \/ bucket.marks[msg.way] \in {"Empty", "Clean"}
     \/ bucket.marks[msg.way] = msg.lifted /\ bucket.keys[msg.way] = msg.victim

\* The bucket is changed before the page is checked for room, and the client gets NoRoom.
RefusedTooLate(bucket, msg, kind) ==
  IF kind = "NoRoom"
    THEN Continue(Put(bucket, msg.way, "Dirty", NewVersion(bucket, msg), msg), [msg EXCEPT !.kind = kind])
    ELSE Continue(bucket, [msg EXCEPT !.kind = kind])

\* The hooks believe handover fields that a client has written.
ClientBelieved(message) == message

\* A draft: the stowed entry is inferred from the kind of the message, which is an answer by then.
SettleByKind(page, msg) ==
  LET Gone(p) == [p EXCEPT !.spilled[msg.old].mark = IF msg.moved THEN "Vacant" ELSE "Held"]
      Come(p) == [p EXCEPT !.spilled[msg.entry].mark = IF msg.moved THEN "Held" ELSE "Vacant"]
  IN  CASE ~ msg.stowed -> Continue(page, msg)
        [] Dooms(msg) /\ Stores(msg) -> Continue(Come(Gone(page)), msg)
        [] Stores(msg) -> Continue(Come(page), msg)
        [] Dooms(msg) -> Continue(Gone(page), msg)
        [] OTHER -> Continue(page, msg)

\* Versions go down, below zero.
VersionBefore(version) == version - 1

(***************************************************************************)
(* Tails                                                                   *)
(***************************************************************************)

\* A completion takes the spot that it was given, whoever has put another tail there since.
ClaimUncompared(shelf, msg) ==
  IF WritesTail(msg) /\ msg.spot \in 1..Spots /\ msg.spot - 1 \notin shelf.taken
    THEN Continue([shelf EXCEPT !.taken = @ \cup {msg.spot - 1}], [msg EXCEPT !.claimed = TRUE])
    ELSE Continue(shelf, msg)

\* A get is answered with the tail that the daemon found, whatever the entry is by then.
TailOfAny(msg, entry) == TRUE

\* A draft: an entry that XDP saw in the bucket is missing when it is not there any more.
NothingGivesWay(msg) == FALSE

\* XDP itself replaces an entry that has a tail by one that has none, and nobody hears of the spot.
RequestReplacesTail(bucket, msg) ==
  LET way == WayOf(bucket, msg.key)
  IN  IF way > 0 THEN OnEntry(bucket, msg, way) ELSE LookUp(bucket, msg, RoomIn(bucket))

\* The spot of the entry that is to be replaced is free, whether it was replaced or not.
ShelveTooSoon(shelf, msg) ==
  IF msg.former \in 1..Spots THEN Continue([shelf EXCEPT !.taken = @ \ {msg.former - 1}], msg) ELSE Continue(shelf, msg)

(***************************************************************************)
(* Once                                                                    *)
(***************************************************************************)

\* The answer has the version of the last write, whichever it was.
RecallUncompared(answer, msg) ==
  IF msg.kind \in Requests \cup Reads
    THEN Continue(answer, msg)
    ELSE Reply(answer, [msg EXCEPT !.version = answer.version])

\* A completion of the session is taken, also of a write that its client has given up.
ResumeAbandoned(session, msg, env) ==
  CASE msg.kind \in Reads /\ session.state \notin {"Vacant", "Closing"} -> Continue(session, msg)
    [] session.state \in {"Idle", "Forwarded"} -> Continue([session EXCEPT !.state = "Busy"], msg)
    [] OTHER -> Drop(session, msg)

\* A draft: a read that has the number of a write that waits is taken for its completion, and nobody ends it.
ResumeByNumber(session, msg, env) ==
  CASE session.state = "Forwarded" /\ session.sequence = msg.sequence -> Continue([session EXCEPT !.state = "Busy"], msg)
    [] msg.kind \in Reads /\ session.state \notin {"Vacant", "Closing"} -> Continue(session, msg)
    [] OTHER -> Drop(session, msg)
=================================================================================
