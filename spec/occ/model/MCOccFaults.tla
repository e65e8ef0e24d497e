------------------------------- MODULE MCOccFaults -------------------------------
(***************************************************************************)
(* Rules that are wrong, each put in place of the right one by the model   *)
(* that must fail because of it: what published transaction servers do,    *)
(* and what comes to mind first.                                           *)
(***************************************************************************)
EXTENDS MCOcc

\* The rules as they are, for wrong ones that differ in one thing.
Right == INSTANCE OccHooks

(***************************************************************************)
(* Strangers                                                               *)
(***************************************************************************)

Anyone(sender) == TRUE

\* Client 1's lock as if it had been granted, in the way that client 0 has pinned.
ForgedGrant ==
  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Granted", !.client = 1, !.sequence = 1, !.secret = 2, !.way = 1]))}

\* Client 1's lock as if the daemon had found the key in the page, with a version of its own.
ForgedVersion ==
  {Packet(1, Arrived([BlankMessage EXCEPT !.kind = "Lock", !.client = 1, !.sequence = 1, !.secret = 2, !.key = 1, !.way = 2,
                                          !.found = FALSE, !.old = 0]))}

ForgedBoth == ForgedGrant \cup ForgedVersion

(***************************************************************************)
(* Types                                                                   *)
(***************************************************************************)

\* Versions go down, below zero.
VersionBefore(version) == version - 1

(***************************************************************************)
(* The client's part                                                       *)
(***************************************************************************)

\* A record that another has locked, unchanged so far, passes for unchanged.
AsItWasThoughLocked(k, answer) == \E each \in k.saw : each[3] = <<answer.key, answer.version, answer.kind = "Value">>

\* Keys that were read are not validated.
AsItWasSurely(k, answer) == TRUE

\* Every lock has the same place.
FirstPlace(at) == 0

(***************************************************************************)
(* Locks                                                                   *)
(***************************************************************************)

\* The lock is granted, whatever the version is by now.
LockOnAnyVersion(bucket, msg, way, expected) ==
  IF IsPinned(bucket, way)
    THEN Right!LockOn(bucket, msg, way, expected)
    ELSE Granted(bucket, msg, way, msg.version)

\* The daemon's finding is used, whatever version it has.
FoundAnyVersion(bucket, msg) ==
  Right!LockFound(bucket, [msg EXCEPT !.expected = IF msg.found THEN msg.version ELSE 0])

\* A key that does not exist has no entry that could be locked.
LockOfNothing(bucket, msg, Undecided(_)) ==
  IF WayOf(bucket, msg.key) = 0 /\ ~ MayBeSpilled(bucket, msg) /\ msg.version = 0
    THEN Answered(bucket, [msg EXCEPT !.way = 1], "Granted")
    ELSE Right!Lock(bucket, msg, Undecided)

\* The store's own writes go on as they did.
RequestUnlocked(bucket, msg) ==
  IF msg.kind \in Writes THEN RequestIn(bucket, msg, RoomBeside(bucket), VictimBeside) ELSE Right!OnOccRequest(bucket, msg)

\* A completion does not look whether its way has been pinned since XDP chose it.
NeverTaken(bucket, msg) == FALSE

\* A place may be used again before it is settled.
EnterTaken(transaction, msg) ==
  IF msg.kind = "Lock"
    THEN Continue(transaction, [msg EXCEPT !.intent = IntentOf(msg)])
    ELSE Right!Enter(transaction, msg)

(***************************************************************************)
(* Commit and abort                                                        *)
(***************************************************************************)

\* Whoever asks may settle.
EnterAnyone(transaction, msg) ==
  IF msg.kind \in {"Commit", "Abort"}
    THEN Continue(transaction, [msg EXCEPT !.intent = IntentOf(msg)])
    ELSE Right!Enter(transaction, msg)

\* The lock that the key has is taken away, whoever holds it.
SettledOfAnyone(bucket, msg) ==
  LET way == WayOf(bucket, msg.key)
  IN  IF msg.kind \in {"Commit", "Abort"} /\ way > 0 /\ IsPinned(bucket, way)
        THEN Right!Settled(bucket, [msg EXCEPT !.way = way])
        ELSE Right!Settled(bucket, msg)

\* A written key stays locked until another message frees it, so that it can be written again.
SettledStillPinned(bucket, msg) ==
  LET result == Right!Settled(bucket, msg)
  IN  IF msg.kind = "Commit" THEN Continue([result.cell EXCEPT !.pinned = bucket.pinned], result.msg) ELSE result

LeavePlaces(transaction, msg) ==
  IF msg.kind = "Committed" THEN Continue([transaction EXCEPT !.verdict = "Committed"], msg) ELSE Right!Leave(transaction, msg)

\* Each key is committed for itself: nothing says that the others are to follow.
LeaveUndecided(transaction, msg) ==
  LET left == Right!Leave(transaction, msg)
  IN  Continue([left.cell EXCEPT !.verdict = "Open"], msg)

\* The way of a key that did not exist is empty again, also where the page has an older entry.
SettledForgetful(bucket, msg) ==
  LET way == msg.way
      result == Right!Settled(bucket, msg)
  IN  IF msg.kind = "Abort" /\ way > 0 /\ bucket.marks[way] = "Gone"
        THEN Continue([result.cell EXCEPT !.marks[way] = "Empty"], result.msg)
        ELSE result

(***************************************************************************)
(* The sweep                                                               *)
(***************************************************************************)

\* A client that is gone has not committed.
UnsettledAborts(transaction, msg, env) ==
  LET result == Right!Unsettled(transaction, msg, env)
  IN  IF result.verdict = "Continue" THEN Continue(transaction, [result.msg EXCEPT !.kind = "Abort"]) ELSE result

\* A session is free when its sweep was there, settled or not.
SettledSurely(transaction, msg, env) ==
  IF env.index \in msg.gone THEN Continue(transaction, [msg EXCEPT !.client = env.index]) ELSE Drop(transaction, msg)

\* The sweep looks at the first place alone.
UnsettledFirst(transaction, msg, env) ==
  IF transaction.ways[1] # 0 THEN Right!Unsettled(transaction, msg, env) ELSE Drop(transaction, msg)

\* A session in the middle of a request is swept.
ExpireBusy(session, msg, env) ==
  IF session.state = "Busy" /\ Overdue(env.now, session.deadline)
    THEN Continue([session EXCEPT !.state = "Closing"], Expired(msg, env))
    ELSE Right!Expire(session, msg, env)

(***************************************************************************)
(* Sessions                                                                *)
(***************************************************************************)

\* A completion of the session is taken, also of a lock that its client has given up.
ResumeAbandoned(session, msg, env) ==
  CASE msg.kind \in Reads /\ session.state \notin {"Vacant", "Closing"} -> Continue(session, msg)
    [] session.state \in {"Idle", "Forwarded"} -> Continue([session EXCEPT !.state = "Busy"], msg)
    [] OTHER -> Drop(session, msg)

\* A request that comes again is executed again.
BeginAgain(session, msg, env) ==
  IF session.state = "Idle" /\ msg.sequence = session.sequence /\ msg.kind \in Requests
    THEN Continue([session EXCEPT !.state = "Busy"], msg)
    ELSE Right!Begin(session, msg, env)

\* The outcome of an operation is noted only if it was decided, so an older note may count for one that was not.
NoteDecided(noted, msg) ==
  IF msg.kind \in Alone THEN Continue([noted EXCEPT !.tag = TagOf(msg)], msg) ELSE Right!NoteOutcome(noted, msg)

\* A retry learns the last note, of whichever request that is.
RecollectAnyhow(noted, msg) ==
  Continue(noted, Right!Recollect([noted EXCEPT !.tag = TagOf(msg)], msg).msg)

\* A read of several keys may write as well, as often as it is sent.
FetchAnything(bucket, msg) == OnGathered(bucket, msg)

\* Whoever names a session acts for it.
AuthenticateNobody(credential, msg) == Continue(credential, msg)
=================================================================================
