-------------------------------- MODULE MCLogLive --------------------------------
(***************************************************************************)
(* What comes to pass in the end.  Nothing but fairness says what must     *)
(* happen: what a client waits for it sends again, and of what is sent     *)
(* again and again some gets through, also to the daemon and back; runs    *)
(* end; a daemon that died is started again, and drains.                   *)
(*                                                                         *)
(* A client asks until it has what it wants, and is told Full any number   *)
(* of times before: so sequence numbers wrap, and the network forgets what *)
(* a client has moved on from.                                             *)
(***************************************************************************)
EXTENDS MCLogFaults

\* The reader's comment would only multiply the states, but for what Notes asks of it.
NoEvent(from, to, step, verdict, given_, message) ==
  IF step = "Reserve" /\ message.number > 0
    THEN [from |-> from, to |-> to, step |-> step, verdict |-> verdict, given |-> given_, message |-> message]
    ELSE [from |-> "", to |-> "", step |-> "", verdict |-> "", given |-> BlankMessage, message |-> BlankMessage]

\* Of what was given no more than to whom; of what was told, nothing.
NotesOfGiven ==
  /\ given' = IF event'.step = "Reserve"
                THEN given \cup {[client |-> event'.message.client, number |-> event'.message.number]}
                ELSE given
  /\ UNCHANGED told

GivenTo(client) == {g \in given : g.client = client}

\* Until it has as many records as it wants.
MayAskLive(client) == Cardinality(GivenTo(client)) < MaxAsks[client]

Wanted(client, packet) == packet.peer = client /\ packet.message = clients[client].waiting

Others == UNCHANGED <<clients, daemon, segments, store, crashes>>

\* A request that a client waits for, and its answer, arrive now and then.
Arrives(client) == (\E packet \in requests : Wanted(client, packet) /\ AtXdp(0, packet)) /\ Notes /\ Others

IsServed(client) == (\E packet \in forwarded : Wanted(client, packet) /\ Serve(packet)) /\ Notes /\ Others

IsCompleted(client) ==
  (\E packet \in completions : Belongs(packet.message, clients[client].waiting) /\ AtTc(packet)) /\ Notes /\ Others

Hears(client) ==
  /\ \E packet \in answers : Receive(client, packet)
  /\ UNCHANGED <<daemon, segments, store, crashes, given, told>>

Asks(client) ==
  /\ \E level \in Levels[client] : Ask(client, level)
  /\ UNCHANGED <<daemon, segments, store, crashes, given, told>>

\* The first run goes on: so all do, one after the other.
RunGoesOn == RunSection(1) /\ Notes /\ Others

LiveSpec ==
  /\ Spec
  /\ WF_vars(RunGoesOn)
  /\ WF_vars(DrainActs)
  /\ \A client \in Clients :
       /\ WF_vars(Asks(client)) /\ WF_vars(Hears(client))
       /\ SF_vars(Arrives(client)) /\ SF_vars(IsServed(client)) /\ SF_vars(IsCompleted(client))

\* Every request is answered in the end, whatever the daemon's deaths.
EveryAppendIsAnswered ==
  \A client \in Clients : clients[client].waiting # NoRequest ~> clients[client].waiting = NoRequest

\* A client that gets Full and asks again does not get Full for ever.
AllAreAppended == <>(\A client \in Clients : Cardinality(GivenTo(client)) = MaxAsks[client])

\* All that is in the buffer comes to the disk.
BufferDrains == \A log \in AllLogs : []<>(cells.synced[log].number = cells.head[log].appended)

(***************************************************************************)
(* Rules that are wrong                                                    *)
(***************************************************************************)

\* A write is for a whole batch.
WholeBatch == Len(daemon.buffer) = Batch

\* The place is remembered with the answer.
RememberAnswered(answer, msg) ==
  IF Reserved(msg) /\ msg.level = "Disk" THEN Continue(answer, msg) ELSE Right!Remember(answer, msg)

\* The daemon drops what is not the last that was remembered: otherwise it would answer for another record.
LocateCompared(answer, msg, env) ==
  IF msg.kind \in Requests /\ (answer.tag # Tag(msg.sequence) \/ answer.number = 0)
    THEN Drop(answer, msg)
    ELSE Right!Locate(answer, msg, env)
=================================================================================
