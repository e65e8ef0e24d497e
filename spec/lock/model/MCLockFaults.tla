------------------------------ MODULE MCLockFaults ------------------------------
(***************************************************************************)
(* Rules that are wrong, each put in place of the right one by the model   *)
(* that must fail because of it.  Most are what published designs do; some *)
(* are what a draft of this one did.                                       *)
(***************************************************************************)
EXTENDS MCLock

(***************************************************************************)
(* Holders *)
(***************************************************************************)

\* A release frees the cell, whoever sends it.
ReleaseUnchecked(lock, msg) == Answered([lock EXCEPT !.mode = "Free", !.holders = {}], msg, "Released")

\* A client that is in holders already is granted the cell's second lock with no share of its own for it.
AcquireWithoutShare(lock, msg) ==
  CASE lock.mode = "Free" ->
         Answered([lock EXCEPT !.mode = msg.mode, !.holders = {msg.client}], msg, "Granted")
    [] msg.client \in lock.holders /\ (lock.mode = "Exclusive" \/ msg.mode = "Shared") -> Answered(lock, msg, "Granted")
    [] lock.mode = "Shared" /\ msg.mode = "Shared" -> Spill(lock, msg)
    [] OTHER -> Answered(lock, msg, "Rejected")

\* The share in the cell goes before the spilled ones, also where the lock is exclusive.
ReleaseHolderFirst(lock, msg) ==
  CASE msg.client \in lock.holders -> Answered(Without(lock, msg.client), msg, "Released")
    [] lock.mode = "Shared" /\ lock.spilled > 0 -> Spill(lock, msg)
    [] OTHER -> Answered(lock, msg, "Rejected")

\* An upgrade looks at the shares in the cell, and not at the spilled ones of others.
AdmitUpgrade(lock, msg) ==
  CASE lock.mode = "Free" ->
         Answered([lock EXCEPT !.mode = msg.mode, !.holders = {msg.client}], msg, "Granted")
    [] lock.mode = "Exclusive" ->
         IF msg.client \in lock.holders THEN Spilled(lock, msg, "Exclusive") ELSE Answered(lock, msg, "Rejected")
    [] msg.mode = "Shared" -> Spilled(lock, msg, "Shared")
    [] lock.holders \subseteq {msg.client} ->
         Answered([lock EXCEPT !.mode = "Exclusive", !.holders = {msg.client}], msg, "Granted")
    [] OTHER -> Answered(lock, msg, "Rejected")

\* More sharers than the cell holds are refused.
SpillRefused(lock, msg) == Answered(lock, msg, "Rejected")

(***************************************************************************)
(* Once                                                                    *)
(***************************************************************************)

Starts(session, msg, env) ==
  Continue([session EXCEPT !.state = "Busy", !.sequence = msg.sequence, !.deadline = Extended(env.now)], msg)

\* A request that comes again is executed again.
BeginAgain(session, msg, env) ==
  IF session.state = "Idle" /\ msg.sequence \in {session.sequence, NextSequence(session.sequence)}
    THEN Starts(session, msg, env)
    ELSE Drop(session, msg)

\* All operations that were asked for are noted as done, also those that the kernel left alone.
NoteAll(gathered, msg, env) ==
  IF msg.kind = "Rejected"
    THEN Continue(gathered, [msg EXCEPT !.refused = @ \cup {env.position}])
    ELSE Continue(gathered, [msg EXCEPT !.done = @ \cup {env.position}])

\* An answer is recalled without a look at the request that it was to.
RecalledAnyhow(gathered, msg) == IF msg.kind = "Gathered" THEN Reply(gathered, msg) ELSE Continue(gathered, msg)

\* Any request but the last one is taken for a new one.
BeginAnySequence(session, msg, env) ==
  CASE session.state # "Idle" -> Drop(session, msg)
    [] msg.sequence = session.sequence -> Reply(session, [msg EXCEPT !.kind = session.outcome])
    [] OTHER -> Starts(session, msg, env)

\* A second run of the session begins while the first is on its way.
BeginWhileBusy(session, msg, env) ==
  CASE session.state \notin {"Idle", "Busy"} -> Drop(session, msg)
    [] session.state = "Idle" /\ msg.sequence = session.sequence ->
         Reply(session, [msg EXCEPT !.kind = session.outcome])
    [] msg.sequence \in {session.sequence, NextSequence(session.sequence)} -> Starts(session, msg, env)
    [] OTHER -> Drop(session, msg)

\* The answer to the last request is not kept, so a retry gets an answer that fits any request.
EndForgets(session, msg) ==
  IF msg.kind \in Answers \cup {"Opened"}
    THEN Reply([session EXCEPT !.state = "Idle", !.outcome = "Rejected"], msg)
    ELSE Forward([session EXCEPT !.state = "Forwarded"], msg)

\* Any completion of the session will do, also one that its client has stopped waiting for.
ResumeAlways(session, msg, env) ==
  IF session.state \in {"Idle", "Forwarded"}
    THEN Continue([session EXCEPT !.state = "Busy"], msg)
    ELSE Drop(session, msg)

\* Nobody looks at the secret.
AuthenticateAnyone(credential, msg) == Continue(credential, msg)

(***************************************************************************)
(* The rare path                                                           *)
(***************************************************************************)

\* The cell counts the share before the daemon has it: should the packet be lost, the count stays.
SpillCountedFirst(lock, msg) ==
  Continue([lock EXCEPT !.spilled = IF @ < MaxSpilled THEN @ + 1 ELSE @], msg)

\* The entry that the daemon chose is taken, whatever has become of it since.
ClaimBlindly(overflow, msg) ==
  CASE msg.kind = "Acquire" ->
         Continue([overflow EXCEPT !.state = "Joining", !.client = msg.client, !.slot = msg.slot],
                  [msg EXCEPT !.claimed = TRUE])
    [] msg.kind = "Release" /\ overflow.state = "Held" ->
         Continue([overflow EXCEPT !.state = "Leaving"], [msg EXCEPT !.claimed = TRUE])
    [] OTHER -> Continue(overflow, msg)

\* A draft: the daemon overlooks the entry that a completion is just giving back, and which may stay.
ForwardedOfDraft(overflow, msg, env) ==
  LET Own(i) == overflow[i].state = "Held" /\ overflow[i].client = msg.client /\ overflow[i].slot = msg.slot
      vacant == FirstIndex(1, OverflowCapacity - 1, 0, LAMBDA i : overflow[i].state = "Vacant")
      held == FirstIndex(1, OverflowCapacity - 1, 0, Own)
  IN  CASE msg.kind = "Acquire" /\ vacant = 0 -> Reply(overflow, [msg EXCEPT !.kind = "Rejected"])
        [] msg.kind = "Acquire" ->
             Reply(overflow, [msg EXCEPT !.entry = vacant, !.own = CountIndex(1, OverflowCapacity - 1, Own)])
        [] OTHER -> Reply(overflow, [msg EXCEPT !.entry = held])

\* A request for an entry gets one as long as there are any.
ForwardedUnbounded(overflow, msg, env) ==
  LET vacant == FirstIndex(1, OverflowCapacity - 1, 0, LAMBDA i : overflow[i].state = "Vacant")
  IN  IF vacant = 0
        THEN Reply(overflow, [msg EXCEPT !.kind = "Rejected"])
        ELSE Reply(overflow, [msg EXCEPT !.entry = vacant])

\* The cell is changed before the step checks that it has the entry; if not, the client must try again.
CompletionUnclaimed(lock, msg) ==
  CASE msg.kind = "Acquire" -> Admit(lock, msg)
    [] msg.kind = "Release" /\ msg.claimed -> Answered(Unspill(lock), msg, "Released")
    [] OTHER -> Continue(lock, msg)

\* A draft: what has no overflow entry is not held, though its section may only have lost its races.
CompletionOfDraft(lock, msg) ==
  CASE msg.kind = "Acquire" /\ msg.claimed -> Admit(lock, msg)
    [] msg.kind = "Release" /\ msg.claimed -> Answered(Unspill(lock), msg, "Released")
    [] msg.kind = "Release" /\ msg.entry = 0 -> Answered(lock, msg, "Rejected")
    [] OTHER -> Continue(lock, msg)

\* A share of the cell is taken off the count of the spilled ones, which goes below zero.
WithoutUncounted(lock, client) == [lock EXCEPT !.mode = "Free", !.holders = @ \ {client}, !.spilled = @ - 1]

(***************************************************************************)
(* The sweep                                                               *)
(***************************************************************************)

\* A session is taken back while a run of its client is on its way.
ExpireBusy(session, msg, env) ==
  IF session.state # "Vacant" /\ Overdue(env.now, session.deadline)
    THEN Continue([session EXCEPT !.state = "Closing"], Expired(msg, env))
    ELSE Drop(session, msg)

\* A share whose cell was contended is given up for lost: its session goes all the same.
SettleAnyhow(overflow, msg) ==
  CASE ~ msg.claimed -> Continue(overflow, msg)
    [] msg.kept -> Continue([overflow EXCEPT !.state = "Held"], msg)
    [] OTHER -> Continue([overflow EXCEPT !.state = "Vacant"], msg)

\* The session is free for the next client before what it held was taken back.
RetireAtOnce(session, msg, env) ==
  IF session.state \in {"Idle", "Forwarded"} /\ Overdue(env.now, session.deadline)
    THEN Continue([session EXCEPT !.state = "Vacant"], Expired(msg, env))
    ELSE Drop(session, msg)

(***************************************************************************)
(* Strangers                                                               *)
(***************************************************************************)

Anyone(sender) == TRUE

\* Client 0's third request as if the daemon had looked at it, with the spilled share of another counted as its own.
ForgedShare ==
  {Packet(0, [Arrived([BlankMessage EXCEPT !.kind = "Acquire", !.client = 0, !.sequence = 3, !.secret = 1, !.mode = "Exclusive",
                                           !.lock = CHOOSE lock \in LockIds : TRUE]) EXCEPT !.entry = 2, !.own = 1])}

\* Leases end before the clients think so.
NowTooEarly(client) == TimeModulus \div 2
=================================================================================
