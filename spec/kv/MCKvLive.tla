-------------------------------- MODULE MCKvLive --------------------------------
(***************************************************************************)
(* What comes to pass in the end.  Nothing but fairness says what must     *)
(* happen: what a client waits for it sends again, and of what is sent     *)
(* again and again some gets through, also to the daemon and back.  Others *)
(* may ask for anything, a bounded number of times: a client that writes   *)
(* to the bucket for ever may move it each time before another's           *)
(* completion arrives.                                                     *)
(***************************************************************************)
EXTENDS MCKv

\* The reader's comment would only multiply the states, but for what Decides asks of it.
NoEvent(from, to, step, verdict, given, message) ==
  IF step \in {"OnRequest", "OnCompletion"} /\ given.kind # message.kind
    THEN [step |-> step, given |-> given, message |-> message]
    ELSE [step |-> "", given |-> BlankMessage, message |-> BlankMessage]

Asked(client) == {clients[client].writing, clients[client].reading} \ {NoRequest}

\* What XDP would pass to the daemon at this moment, and what this would send to TC.
Passed(request) == HandedOver(request, OnRequest(BucketOf(request.key), Arrived(request)).msg)

Found(request) == Arrived(UserStep(cells.page, Arrived(Passed(request)), [now |-> 0, random |-> 0, index |-> 0]).msg)

\* Each arrival of what a client still waits for is some time after the others.
NetworkIsFair(client) ==
  /\ SF_vars(RunActs /\ \E request \in Asked(client) : AtXdp(Packet(client, request)))
  /\ WF_vars(ClientActs(client) /\ \E packet \in answers : Receive(client, packet))

DaemonIsFair(client) ==
  /\ SF_vars(DaemonActs /\ runs = << >> /\ \E request \in Asked(client) : Serve(Packet(client, Passed(request))))
  /\ SF_vars(RunActs /\ \E request \in Asked(client) : AtTc(Packet(client, Found(request))))

RunsEnd == WF_vars(RunActs /\ \E r \in 1..MaxRuns : RunSection(r))

\* With a daemon that serves, if it dies now and then.
LiveSpec == Spec /\ RunsEnd /\ \A client \in Clients : NetworkIsFair(client) /\ DaemonIsFair(client)

\* With a daemon that may be dead from any moment on.
DeadSpec == Spec /\ RunsEnd /\ \A client \in Clients : NetworkIsFair(client)

\* Every request is answered, if its client goes on asking.
EveryRequestIsAnswered ==
  \A client \in Clients :
    /\ clients[client].writing # NoRequest ~> clients[client].writing = NoRequest
    /\ clients[client].reading # NoRequest ~> clients[client].reading = NoRequest

\* Whether the bucket alone can answer.
AnsweredHere(request) == request # NoRequest /\ OnRequest(BucketOf(request.key), Arrived(request)).msg.kind \in AllAnswers

\* Nobody waits for a dead daemon whose request the bucket can answer.
NobodyWaitsForTheDead ==
  \A client \in Clients :
    /\ []<>(~ AnsweredHere(clients[client].writing))
    /\ []<>(~ AnsweredHere(clients[client].reading))

(***************************************************************************)
(* Rules that are wrong                                                    *)
(***************************************************************************)

\* A bit of the filter that no key has says that the bucket waits for its reply.
Waiting == FilterBits

\* The bucket is locked until the reply returns: who comes meanwhile has to ask again.
RequestLocks(bucket, msg) ==
  LET way == WayOf(bucket, msg.key)
  IN  CASE Waiting \in bucket.filter -> Continue(bucket, msg)
        [] way > 0 -> OnEntry(bucket, msg, way)
        [] OTHER -> Continue([bucket EXCEPT !.filter = @ \cup {Waiting}], LookUp(bucket, msg).msg)
=================================================================================
