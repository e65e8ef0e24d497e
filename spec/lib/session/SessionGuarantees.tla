---------------------------- MODULE SessionGuarantees ----------------------------
(***************************************************************************)
(* What single steps promise, whoever sent the packet: who is answered     *)
(* what, and that nobody is refused, dropped or left to the daemon without *)
(* a reason.  Without these a server that answers nobody would be right.   *)
(***************************************************************************)
EXTENDS Session

\* The session that a packet names, before the step.
Named == cells.session[event'.given.client]

\* The packet shows the secret of that session. Where there is no session, no request does.
ShowsTheSecret ==
  LET secret == event'.given.secret
  IN  secret = cells.credential[event'.given.client].secret /\ (event'.step = "Authenticate" => secret # NoSecret)

AtHook == event'.from \in {"XDP", "TC"} \X (0..(PeersMax - 1))

\* An answer says who asked, and answers what was asked.
AnswersFit ==
  [][AtHook /\ event'.verdict = "Reply" =>
       LET given == event'.given
           kind == event'.message.kind
       IN  /\ event'.message.client = given.client
           /\ event'.message.sequence = given.sequence
           /\ kind = CASE given.kind = "Ask" -> "OtherTerms"
                       [] given.kind = "Open" -> "Taken"
                       [] given.kind = "Renew" -> "Renewed"
                       [] given.kind = "Close" -> "Closed"
                       [] given.kind = "Work" -> "Done"
                       [] given.kind = "Look" -> "Seen"
                       [] OTHER -> given.kind]_vars

\* The part of the numbers that a number is of.
PartWith(number) == number \div SessionsOfPeer

\* The daemon invites whoever asks, to a number of its own part. It opens a session for whoever shows a token that was made
\* for it, with such a number, but not before its tables are older than a lease. Each token is for the host that gets it.
InvitedAsTheyMay ==
  [][event'.from = "daemon" /\ event'.step = "UserStep" =>
       LET given == event'.given
           answer == event'.message
           peer == event'.to[2]
           part == peer % (Sessions \div SessionsOfPeer)
       IN  CASE given.kind = "Ask" ->
                  /\ answer.kind = "Invited" /\ MadeFor(answer.secret, peer)
                  /\ PartWith(answer.client) = part
                  /\ answer.client % SessionsOfPeer = given.client % SessionsOfPeer
             [] given.kind = "Open" ->
                  /\ answer.client = given.client
                  /\ answer.kind = CASE ~ MadeFor(given.secret, peer) \/ PartWith(given.client) # part -> "Uninvited"
                                     [] age <= Lease -> "TooEarly"
                                     [] OTHER -> "Opened"
                  /\ answer.kind = "Opened" => MadeFor(answer.secret, peer) /\ answer.secret # given.secret
             [] OTHER -> answer = given]_vars

\* OtherTerms goes only to a host with other terms, and Taken is answered only for a number that is not vacant.
RefusedForAReason ==
  [][event'.step = "Begin" /\ event'.verdict = "Reply" =>
       CASE event'.message.kind = "OtherTerms" -> event'.given.secret # OwnTerms
         [] event'.message.kind = "Taken" -> Named.state # "Vacant"
         [] OTHER -> TRUE]_vars

\* A packet is dropped only for its secret, its kind, its sequence number, or for what its session is at.
DroppedForAReason ==
  [][AtHook /\ event'.verdict = "Drop" =>
       LET given == event'.given
       IN  CASE event'.step \in {"Authenticate", "Confirm"} -> ~ ShowsTheSecret
             [] event'.step = "Begin" ->
                  \/ given.kind \notin {"Work", "Look", "Renew", "Close"}
                  \/ Named.state \in {"Vacant", "Closing"} /\ given.kind # "Close"
                  \/ /\ given.kind # "Look"
                     /\ \/ Named.state = "Busy"
                        \/ given.sequence \notin {Named.sequence, NextSequence(Named.sequence)}
                        \/ Named.state = "Forwarded" /\ given.sequence # Named.sequence /\ ~ ExecutesAgain
             [] event'.step = "Resume" ->
                  CASE given.kind = "Opened" -> Named.state # "Vacant"
                    [] given.kind = "Look" -> Named.state \in {"Vacant", "Closing"}
                    [] OTHER -> Named.state # "Forwarded" \/ Named.sequence # given.sequence
             [] OTHER -> TRUE]_vars

\* The daemon is needed to open a session, for work that is rare, and if such work is asked for again. All else is answered at
\* once. (A section that lost its races did nothing.)
FewNeedTheDaemon ==
  [][AtHook /\ event'.verdict = "Forward" /\ ~ Contention =>
       CASE event'.step = "Begin" ->
              \/ event'.given.kind \in Opening
              \/ Named.state = "Forwarded" /\ Named.sequence = event'.given.sequence /\ ~ ExecutesAgain
         [] event'.step = "End" -> event'.given.kind \in {"Work", "Look"} /\ event'.given.rare
         [] OTHER -> FALSE]_vars

\* The sweep takes back each session that it finds over, one tick after its deadline at the latest, and frees all that it took back.
SweptInTime ==
  [][event'.from = "sweep" /\ event'.verdict = "Drop" =>
       LET index == event'.to[2]
           session == cells.session[index]
       IN  CASE event'.step = "Expire" ->
                  \/ Cardinality(event'.given.gone) >= MaxGone
                  \/ session.state \in {"Vacant", "Busy"}
                  \/ session.state # "Closing" /\ (session.deadline + 1 + TimeModulus - clock) % TimeModulus <= Lease + 2
             [] event'.step = "Retire" -> session.state # "Closing" \/ index \notin event'.given.gone
             [] OTHER -> TRUE]_vars

\* The end of a lease that begins when a run did.
LeaseEnds == {(runs[r].now + Lease) % TimeModulus : r \in DOMAIN runs}

\* The session is ready for this request: it has answered the one before, or will never answer it.
IsNext(session, request) ==
  LET following == (session.sequence + 1) % SequenceModulus
  IN  \/ session.state = "Idle" /\ request.sequence = following
      \/ ExecutesAgain /\ session.state = "Forwarded" /\ request.sequence \in {session.sequence, following}

\* A session begins just the request that is next. Each request but the last extends its lease. The session remembers the answer to
\* those that are answered at once.
BeginsWhatIsNext ==
  [][event'.step = "Begin" =>
       LET given == event'.given
           session == Named
           next == given.kind \in {"Work", "Renew", "Close"} /\ IsNext(session, given)
       IN  \E end \in LeaseEnds :
             cells'.session[given.client] =
               CASE ~ next -> session
                 [] given.kind = "Work" -> [session EXCEPT !.state = "Busy", !.sequence = given.sequence, !.deadline = end]
                 [] given.kind = "Renew" -> [state |-> "Idle", sequence |-> given.sequence, outcome |-> "Renewed", deadline |-> end]
                 [] OTHER -> [session EXCEPT !.state = "Closing", !.sequence = given.sequence, !.outcome = "Closed"]]_vars

\* A host without a session may ask for one. In a session, the next request is executed or answered at once. One that comes again is
\* answered again, or goes to the daemon again if it waits for it. All else is dropped.
FollowsTheSession ==
  [][event'.step = "Begin" =>
       LET given == event'.given
           session == Named
           isOpen == session.state \notin {"Vacant", "Closing"}
           again == given.sequence = session.sequence
       IN  event'.verdict =
             CASE given.kind = "Ask" -> IF given.secret = OwnTerms THEN "Forward" ELSE "Reply"
               [] given.kind = "Open" -> IF session.state = "Vacant" THEN "Forward" ELSE "Reply"
               [] given.kind \in Reads -> IF isOpen THEN "Continue" ELSE "Drop"
               [] given.kind \notin {"Work", "Renew", "Close"} -> "Drop"
               [] ~ isOpen -> IF given.kind = "Close" THEN "Reply" ELSE "Drop"
               [] IsNext(session, given) -> IF given.kind = "Work" THEN "Continue" ELSE "Reply"
               [] again /\ session.state = "Forwarded" -> "Forward"
               [] again /\ session.state = "Idle" -> IF session.outcome \in AnswersRecalled THEN "Continue" ELSE "Reply"
               [] OTHER -> "Drop"]_vars

\* A request that comes again gets the answer that the session remembers.
AnsweredAgain ==
  [][event'.step = "Begin" /\ event'.message.kind # event'.given.kind =>
       LET given == event'.given
           remembered == Named.state = "Idle" /\ Named.sequence = given.sequence
       IN  given.kind \in {"Work", "Renew", "Close"} /\ remembered => event'.message.kind = Named.outcome]_vars

\* Nobody waits for ever: a request that has an answer is replied to, and goes to the daemon if it has none.
EndsWhatWasBegun ==
  [][event'.step = "End" =>
       LET given == event'.given
       IN  /\ event'.message = given
           /\ event'.verdict = IF given.kind \in {"Done", "Seen", "Opened"} THEN "Reply" ELSE "Forward"
           /\ cells'.session[given.client] =
                CASE given.kind \in {"Done", "Opened"} -> [Named EXCEPT !.state = "Idle", !.outcome = given.kind]
                  [] given.kind \in {"Look", "Seen"} -> Named
                  [] OTHER -> [Named EXCEPT !.state = "Forwarded"]]_vars

\* TC goes on with work that waits for it, with reads of an open session, and with the opening of a vacant one, whose lease begins.
ResumesWhatWaits ==
  [][event'.step = "Resume" =>
       LET given == event'.given
       IN  /\ event'.message = given
           /\ event'.verdict = IF CASE given.kind = "Opened" -> Named.state = "Vacant"
                                    [] given.kind = "Look" -> Named.state \notin {"Vacant", "Closing"}
                                    [] OTHER -> Named.state = "Forwarded" /\ Named.sequence = given.sequence
                                 THEN "Continue" ELSE "Drop"
           /\ \E end \in LeaseEnds :
                cells'.session[given.client] =
                  CASE event'.verdict = "Drop" \/ given.kind = "Look" -> Named
                    [] given.kind = "Opened" -> [Named EXCEPT !.state = "Busy", !.sequence = given.sequence, !.deadline = end]
                    [] OTHER -> [Named EXCEPT !.state = "Busy"]]_vars

\* A session has a new secret just where it is opened, and the one that the daemon gave.
SecretsAreIssued ==
  [][event'.step = "Issue" =>
       LET given == event'.given
       IN  /\ event'.verdict = "Continue" /\ event'.message = given
           /\ cells'.credential[given.client].secret =
                IF given.kind = "Opened" THEN given.secret ELSE cells.credential[given.client].secret]_vars

\* Packets with the right secret go on, and so do those for which there is none yet. The daemon's last words leave at once.
SecretsAreAsked ==
  [][event'.step \in {"Authenticate", "Confirm"} =>
       LET given == event'.given
           opens == given.kind \in IF event'.step = "Confirm" THEN {"Opened"} ELSE {"Ask", "Open"}
       IN  /\ event'.message = given
           /\ cells' = cells
           /\ event'.verdict = CASE event'.step = "Confirm" /\ given.kind \in {"Invited", "Uninvited", "TooEarly"} -> "Reply"
                                 [] opens \/ ShowsTheSecret -> "Continue"
                                 [] OTHER -> "Drop"]_vars

\* A session that the sweep takes back has no secret from then on, and no other loses its own.
SecretsAreTakenAway ==
  [][event'.from = "sweep" =>
       LET given == event'.given
       IN  IF event'.step = "Revoke"
             THEN /\ event'.verdict = "Continue" /\ event'.message = given
                  /\ event'.to = <<"credential", given.client>> /\ given.client \in given.gone
                  /\ cells' = [cells EXCEPT !.credential[given.client].secret = NoSecret]
             ELSE cells'.credential = cells.credential]_vars

\* A free number has no secret, and no run is left that was let through by the secret of an earlier session.
NobodyHasTheOldSecret ==
  \A index \in DOMAIN cells.session :
    cells.session[index].state = "Vacant" =>
      /\ cells.credential[index].secret = NoSecret
      /\ \A r \in DOMAIN runs :
           runs[r].hook # "User" /\ runs[r].message.client = index
             => runs[r].message.kind \in Opening \cup Words \cup {"Opened"}

\* The sweep takes back only sessions that are over, and no more at once than it may. It frees those that it took back.
SweptForAReason ==
  [][event'.from = "sweep" /\ event'.step \in {"Expire", "Retire"} =>
       LET index == event'.to[2]
           session == cells.session[index]
           after == cells'.session[index]
       IN  IF event'.verdict = "Drop"
             THEN after = session /\ event'.message = event'.given
             ELSE /\ after = [session EXCEPT !.state = IF event'.step = "Expire" THEN "Closing" ELSE "Vacant"]
                  /\ event'.step = "Expire" => /\ session.state # "Busy" /\ session.state # "Vacant"
                                               /\ session.state # "Closing" => (session.deadline + TimeModulus - clock) % TimeModulus > Lease
                                               /\ event'.message = [event'.given EXCEPT !.gone = @ \cup {index}, !.client = index]
                                               /\ Cardinality(event'.message.gone) <= MaxGone
                  /\ event'.step = "Retire" => /\ session.state = "Closing" /\ index \in event'.given.gone
                                               /\ event'.message = event'.given]_vars
=================================================================================
