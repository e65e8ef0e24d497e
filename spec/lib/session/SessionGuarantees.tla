---------------------------- MODULE SessionGuarantees ----------------------------
(***************************************************************************)
(* What single steps promise, whoever sent the packet: who is answered     *)
(* what, and that nobody is refused, dropped or left to the daemon without *)
(* a reason.  Without these a server that answers nobody would be right.   *)
(***************************************************************************)
EXTENDS Session

\* The session that a packet names, before the step.
Named == cells.session[event'.given.client]

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
                  answer.kind = "Invited" /\ PartWith(answer.client) = part /\ MadeFor(answer.secret, peer)
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
       IN  CASE event'.step \in {"Authenticate", "Confirm"} -> given.secret # cells.credential[given.client].secret
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
=================================================================================
