-------------------------------- MODULE MCOccLive --------------------------------
(***************************************************************************)
(* What comes to pass in the end.  Nothing but fairness says what must     *)
(* happen: runs end, what a client waits for it sends again, some of that  *)
(* gets through and is served, and a daemon that dies now and then does    *)
(* not die for ever in the middle of its sweep.                            *)
(***************************************************************************)
EXTENDS MCOccFaults

\* A run goes on, the first one first: so all do, one after the other.
RunGoesOn == RunSection(1) /\ Notes

Sweeps == (SweepSection(Now) \/ \E index \in Clients : SweepBegins(index, Now)) /\ Notes

Crashes == Crash /\ Notes

Wanted(client, packet) == packet.peer = client /\ Outstanding(client, packet.message)

\* A request that a client waits for, and its answer, arrive now and then.
Arrives(client) == (\E packet \in requests : Wanted(client, packet) /\ AtXdp(packet)) /\ Notes
IsServed(client) ==
  (\E packet \in forwarded : Wanted(client, packet) /\ ServeForwarded(packet, [now |-> 0, random |-> 0, age |-> Lease + 1, index |-> 0])) /\ Notes
IsCompleted(client) == (\E packet \in completions : Wanted(client, packet) /\ AtTc(packet)) /\ Notes
Hears(client) == \E packet \in answers : Receive(client, packet)

\* Clients may die, and nobody sends anything again.
DeadSpec == Spec /\ WF_vars(RunGoesOn) /\ WF_vars(Sweeps) /\ <>[][~ Crashes]_vars

LiveSpec ==
  /\ Spec
  /\ WF_vars(RunGoesOn)
  /\ \A client \in Clients :
       SF_vars(Arrives(client)) /\ SF_vars(IsServed(client)) /\ SF_vars(IsCompleted(client)) /\ WF_vars(Hears(client))

\* What a client had locked that is no more is free in the end, whatever had been decided.
NoLockLeaked ==
  \A client \in Clients :
    clients[client].phase = "Out" ~> PlacesOf(client) = {} /\ PinnedWays = {Pin(each[1], each[2]) : each \in HeldPlaces}

\* Every request is answered in the end.
EveryRequestIsAnswered ==
  \A client \in Clients : clients[client].waiting # NoRequest ~> clients[client].waiting = NoRequest
=================================================================================
