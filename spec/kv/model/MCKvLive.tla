-------------------------------- MODULE MCKvLive --------------------------------
(***************************************************************************)
(* What comes to pass in the end.  Nothing but fairness says what must     *)
(* happen: what a client waits for it sends again, and of what is sent     *)
(* again and again some gets through, also to the daemon and back.  Others *)
(* may ask for anything, a bounded number of times: a client that writes   *)
(* to the bucket for ever may move it each time before another's           *)
(* completion arrives.                                                     *)
(***************************************************************************)
EXTENDS MCKvFaults

\* The reader's comment would only multiply the states, but for what Decides asks of it.
NoEvent(from, to, step, verdict, given, message) ==
  IF step \in {"OnRequest", "OnCompletion"} /\ given.kind # message.kind
    THEN [from |-> from, to |-> to, step |-> step, verdict |-> verdict, given |-> given, message |-> message]
    ELSE [from |-> "", to |-> "", step |-> "", verdict |-> "", given |-> BlankMessage, message |-> BlankMessage]

Asked(client) == {clients[client].writing, clients[client].reading} \ {NoRequest}

\* The messages that XDP would pass to the daemon now, and those that the daemon would send to TC.  (Sets, because TLC evaluates an
\* operator's argument anew wherever it is used, when it asks what is enabled.)
Passed(client) == {PassedOn(request, OnRequest(BucketOf(request.key), request).msg) : request \in Asked(client)}

Found(client) ==
  LET env == [now |-> 0, random |-> 0, index |-> 0, validated |-> TRUE]
      found == {Find(cells.page[message.home], message, env).msg : message \in {Arrived(passed) : passed \in Passed(client)}}
      \* As in the answer to the last that reserved a spot.
      reserved == {IF WritesTail(message)
                     THEN [Reserve(cells.shelf[message.shelf], message).msg EXCEPT !.generation = cells.shelf[message.shelf].generation]
                     ELSE message : message \in found}
  IN  {Arrived(Keep(cells.tail[message.shelf], message, env).msg) : message \in reserved}

\* An answer that a client waits for arrives now and then.
Arrives(client) ==
  /\ \E request \in Asked(client) : AtXdp(Packet(client, request))
  /\ Decides
  /\ UNCHANGED <<clients, issued>>

Hears(client) ==
  /\ \E packet \in answers : Receive(client, packet)
  /\ UNCHANGED <<issued, writes, reads, versions>>

\* The daemon gets it as XDP would pass it now, while no run is half way through; TC gets what the daemon would say now.
\* (First what is soon seen: whether anything is there to be got.)
IsServed(client) ==
  /\ runs = << >>
  /\ \E packet \in forwarded : packet.peer = client /\ packet.message \in Passed(client) /\ Serve(packet)
  /\ UNCHANGED <<clients, writes, reads, versions>>

IsCompleted(client) ==
  /\ Len(KernelRuns) < MaxRuns
  /\ \E packet \in completions : packet.peer = client /\ packet.message \in Found(client) /\ AtTc(packet)
  /\ Decides
  /\ UNCHANGED <<clients, issued>>

RunGoesOn ==
  /\ \E r \in 1..(MaxRuns + 1) : RunSection(r)
  /\ Decides
  /\ UNCHANGED <<clients, issued>>

\* WF_vars(RunGoesOn): a run can always go on, and it takes TLC long to find out that it can.
RunsAreFair == []<>(runs = << >>) \/ []<><<RunGoesOn>>_vars

NetworkIsFair(client) == SF_vars(Arrives(client)) /\ WF_vars(Hears(client))

DaemonIsFair(client) == SF_vars(IsServed(client)) /\ SF_vars(IsCompleted(client))

\* With a daemon that serves, if it dies now and then.
LiveSpec == Spec /\ RunsAreFair /\ \A client \in Clients : NetworkIsFair(client) /\ DaemonIsFair(client)

\* With a daemon that may be dead from any moment on.
DeadSpec == Spec /\ RunsAreFair /\ \A client \in Clients : NetworkIsFair(client)

\* Every request is answered, if its client goes on asking.
EveryRequestIsAnswered == \A client \in Clients : Asked(client) # {} ~> Asked(client) = {}

\* True if the bucket alone can answer: it has the key, or its page has not.
AnsweredHere(request) ==
  LET bucket == BucketOf(request.key)
  IN  \/ WayOf(bucket, request.key) > 0
      \/ BitOf(request.key) \notin bucket.filter /\ (request.kind = "Insert" => RoomIn(bucket) > 0)

\* Nobody waits for a dead daemon whose request the bucket can answer.
NobodyWaitsForTheDead == \A client \in Clients : []<>(\A request \in Asked(client) : ~ AnsweredHere(request))

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
        [] OTHER -> Continue([bucket EXCEPT !.filter = @ \cup {Waiting}], LookUp(bucket, msg, RoomIn(bucket)).msg)
=================================================================================
