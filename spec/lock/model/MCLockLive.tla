------------------------------- MODULE MCLockLive -------------------------------
(***************************************************************************)
(* What comes to pass in the end.  Clients acquire and release for ever,   *)
(* so sequence numbers wrap and the network forgets what a client has      *)
(* moved on from (Replays = FALSE).  Nothing but fairness says what must   *)
(* happen: a request that is sent again and again gets through, runs end,  *)
(* the daemon serves and sweeps, holders release.                          *)
(***************************************************************************)
EXTENDS MCLock

\* The reader's comment would only multiply the states.
NoEvent(from, to, step, verdict, given, message) == ""

Immortal == Clients \ Lapses

ClientIsFair(client) ==
  /\ WF_vars(\E lock \in LockIds, mode \in Modes : AskAcquire(client, lock, mode))
  /\ WF_vars(\E lock \in LockIds : AskRelease(client, lock))
  /\ WF_vars(\E packet \in answers : Receive(client, packet))

\* A client repeats a request until it has the answer.  Once it has stopped, all may be lost.
Wanted(client, packet) == packet.peer = client /\ packet.message = clients[client].waiting

NetworkIsFair(client) ==
  /\ SF_vars(\E packet \in requests : Wanted(client, packet) /\ AtXdp(packet))
  /\ SF_vars(\E packet \in completions :
               packet.peer = client /\ Belongs(packet.message, clients[client].waiting) /\ AtTc(packet))

DaemonIsFair(client) ==
  /\ WF_vars(\E packet \in forwarded : Wanted(client, packet) /\ Serve(packet))
  /\ WF_vars(BeginSweep(client))

LiveSpec ==
  /\ Spec
  /\ WF_vars(Run(1))
  /\ WF_vars(Sweep)
  /\ \A client \in Clients : NetworkIsFair(client) /\ DaemonIsFair(client) /\ WF_vars(LeaseEnds(client))
  /\ \A client \in Immortal : ClientIsFair(client)

\* A daemon that dies over and over, each time before a sweep is done, gets nothing done.
CrashesCease == <>[][~ CrashDaemon]_vars

\* Some waiting acquire is always granted in the end, where holders release or die.
SomebodyIsGranted == CrashesCease => []<>(\E client \in Immortal : clients[client].believes # {})

\* The locks of a client whose lease has ended come free, and so does its session number.
DeadClientsLocksComeFree ==
  CrashesCease => \A client \in Lapses :
    clients[client].phase = "Out" ~>
      /\ cells.session[client].state = "Vacant"
      /\ \A slot \in 0..(LockCells - 1) : Shares(client, slot) = 0

(***************************************************************************)
(* Rules that are wrong                                                    *)
(***************************************************************************)

\* The lock is marked as taken until the daemon has answered for it, and the daemon may have died.
ExpireUnlessForwarded(session, msg, env) ==
  IF (session.state = "Idle" /\ Overdue(env.now, session.deadline)) \/ session.state = "Closing"
    THEN Continue([session EXCEPT !.state = "Closing"], Expired(msg, env))
    ELSE Drop(session, msg)

\* A daemon that died in a sweep leaves sessions that it does not take up again.
ExpireForgetsClosing(session, msg, env) ==
  IF session.state \in {"Idle", "Forwarded"} /\ Overdue(env.now, session.deadline)
    THEN Continue([session EXCEPT !.state = "Closing"], Expired(msg, env))
    ELSE Drop(session, msg)
=================================================================================
