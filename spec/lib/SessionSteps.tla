----------------------------- MODULE SessionSteps -----------------------------
(***************************************************************************)
(* Who a client is, that a request runs at most once, and leases.          *)
(*                                                                         *)
(* A client asks for an invitation, and is told a session number and a     *)
(* token.  With both, and a sequence number that it picks at random, it    *)
(* asks to open the session; the daemon answers with a secret.  Every      *)
(* later request carries the number, the secret and the next sequence      *)
(* number: at most one request of a session is outstanding.  The session   *)
(* remembers the last request and its answer, so that a request that is    *)
(* sent again is answered again and not executed again.  An answer belongs *)
(* to the outstanding request if its client, sequence and (Opened apart)   *)
(* secret are the same; a client ignores any other.                        *)
(*                                                                         *)
(* A protocol puts Authenticate and Begin before its own section, and End  *)
(* after it:                                                               *)
(*                                                                         *)
(*   xdp:  Authenticate   Begin    ...   End                               *)
(*   tc:   Confirm   Resume   Issue   ...   End                            *)
(*                                                                         *)
(* Between Begin (or Resume) and End the session is Busy, and nobody but   *)
(* that run writes it: this is what makes the sections one execution.      *)
(* A run that recalls an answer does not have the session: the protocol    *)
(* replies before End.                                                     *)
(*                                                                         *)
(* Who may have a session.  A token is made for one address, and whoever   *)
(* shows it has received there.  So nobody opens sessions in the name of    *)
(* another address.  And an address may have sessions of its part of the   *)
(* numbers only: of the others it is told Uninvited.  (Parts are shared by *)
(* addresses, and who has many addresses has many parts.)  A secret is a   *)
(* token as well, made for whoever showed the first one: who asks from     *)
(* another address than the session was opened from is known by that.      *)
(*                                                                         *)
(* What a client relies on.  Its Ask says, in the place of the secret that *)
(* it does not have yet, by what terms it understands a session: a hash of *)
(* the lease, the moduli, the length of a tick and the message.  By other  *)
(* terms it would believe in a lease that nobody grants, so it is told     *)
(* OtherTerms, and gets no token.  (A token is good for the terms that it  *)
(* was made by.)  And where the tables are new, clients of earlier ones    *)
(* may rely on leases of which nothing is known any more: for one lease,   *)
(* every Open is told TooEarly.                                            *)
(* None of these answers changes a cell.                                   *)
(*                                                                         *)
(* The end of a session.  The sweep takes its secret away first, and only  *)
(* after a grace period frees the number.  So no run that has compared the *)
(* old secret is left when the number is opened again.                     *)
(*                                                                         *)
(* A new session goes on from the sequence number of its Open.  That       *)
(* number is random, so an answer to an earlier Open has another.  It does *)
(* not keep out the requests of the previous session, because the Open of  *)
(* that session may come again and open one with the same number.          *)
(*                                                                         *)
(* Cells: credential [secret], session [state, sequence, outcome,          *)
(* deadline].                                                              *)
(***************************************************************************)
EXTENDS Offload

CONSTANTS
  Requests,         \* the kinds that the protocol's own sections execute, at most once
  Answers,          \* the kinds that they answer with
  Reads,            \* the kinds that change nothing: executed any number of times, in no order
  ReadAnswers,      \* the kinds that these are answered with
  Completions,      \* the kinds of Requests that the daemon's replies have
  ReadCompletions,  \* the kinds of Reads that the daemon's replies have
  AnswersRecalled,  \* those of Answers of which a later section knows more than the kind
  ExecutesAgain,    \* whether a request that was left to the daemon is executed from its beginning when it is sent again
  SequenceModulus,  \* sequence numbers count modulo this
  TimeModulus,      \* clock ticks count modulo this
  Lease,            \* ticks from a request to the end of its session
  MaxGone,          \* sessions that one sweep takes back
  Sessions,         \* session numbers that there are
  SessionsOfPeer    \* that one address may have, a divisor of these

NextSequence(sequence) == (sequence + 1) % SequenceModulus

Extended(now) == (now + Lease) % TimeModulus

\* A deadline lies at most Lease ahead of the clock, and somewhat more for a
\* sweep that read the clock before the session was extended.  What is not in
\* the next quarter of the circle of ticks is past, also when nobody has looked
\* for weeks.
Overdue(now, deadline) == (deadline + TimeModulus - now) % TimeModulus > TimeModulus \div 4

(***************************************************************************)
(* XDP                                                                     *)
(***************************************************************************)

\* Kinds of who has no session yet.
Opening == {"Ask", "Open"}

\* The secret of a number without a session.  Requests that show it are dropped.
NoSecret == 0

Authenticate(credential, msg) ==
  CASE msg.kind \in Opening -> Continue(credential, msg)
    [] credential.secret # NoSecret /\ msg.secret = credential.secret -> Continue(credential, msg)
    [] OTHER -> WrongSecret :: Drop(credential, msg)

\* What was left to the daemon has not been executed, and will not be: its
\* completion finds another state or another sequence number.
Abandons(session) == ExecutesAgain /\ session.state = "Forwarded"

Begin(session, msg, env) ==
  CASE msg.kind = "Ask" ->
         IF msg.secret = env.terms
           THEN Asked :: Forward(session, msg)
           ELSE Reply(session, [msg EXCEPT !.kind = "OtherTerms"])
    [] msg.kind = "Open" ->
         IF session.state = "Vacant"
           THEN Forward(session, msg)
           ELSE Reply(session, [msg EXCEPT !.kind = "Taken"])
    [] msg.kind \notin Requests \cup Reads \cup {"Renew", "Close"} ->
         NotARequest :: Drop(session, msg)
    [] session.state \in {"Vacant", "Closing"} ->
         IF msg.kind = "Close"
           THEN ClosedAlready :: Reply(session, [msg EXCEPT !.kind = "Closed"])
           ELSE NoSession :: Drop(session, msg)
    [] msg.kind \in Reads ->
         Continue(session, msg)
    [] session.state = "Busy" ->
         InProgress :: Drop(session, msg)
    [] msg.sequence = session.sequence /\ ~ Abandons(session) ->
         IF session.state = "Forwarded"
           THEN ForwardAgain :: Forward(session, msg)
           ELSE IF session.outcome \in AnswersRecalled
                  THEN Recalled :: Continue(session, [msg EXCEPT !.kind = session.outcome])
                  ELSE AnswerAgain :: Reply(session, [msg EXCEPT !.kind = session.outcome])
    [] msg.sequence # NextSequence(session.sequence) /\ ~ (Abandons(session) /\ msg.sequence = session.sequence) ->
         OutOfSequence :: Drop(session, msg)
    [] session.state = "Forwarded" /\ ~ Abandons(session) ->
         Unanswered :: Drop(session, msg)
    [] msg.kind = "Renew" ->
         Reply([session EXCEPT !.state = IF ExecutesAgain THEN "Idle" ELSE @,
                               !.sequence = msg.sequence,
                               !.outcome = "Renewed",
                               !.deadline = Extended(env.now)],
               [msg EXCEPT !.kind = "Renewed"])
    [] msg.kind = "Close" ->
         Reply([session EXCEPT !.state = "Closing",
                               !.sequence = msg.sequence,
                               !.outcome = "Closed"],
               [msg EXCEPT !.kind = "Closed"])
    [] OTHER ->
         Continue([session EXCEPT !.state = "Busy",
                                  !.sequence = msg.sequence,
                                  !.deadline = Extended(env.now)],
                  msg)

\* The last section of both hooks.  A message that is no answer yet is the
\* rare path's: from XDP it goes there, from TC it was not completed and the
\* client will ask again.
End(session, msg) ==
  CASE msg.kind \in Answers \cup {"Opened"} ->
         Reply([session EXCEPT !.state = "Idle", !.outcome = msg.kind], msg)
    [] msg.kind \in ReadAnswers ->
         Reply(session, msg)
    [] msg.kind \in Reads ->
         Forward(session, msg)
    [] OTHER ->
         Forward([session EXCEPT !.state = "Forwarded"], msg)

(***************************************************************************)
(* The daemon                                                              *)
(***************************************************************************)

\* The part of the numbers that a peer may have sessions of.
PartOf(peer) == peer % (Sessions \div SessionsOfPeer)

\* The number asked for, moved to the peer's part.
NumberFor(peer, number) == SessionsOfPeer * PartOf(peer) + (number % SessionsOfPeer)

\* True if the sender may have a session of that number.
MayOpen(msg, env) == env.validated /\ NumberFor(env.peer, msg.client) = msg.client

\* The daemon's answer to Ask and to Open.  Opened is made true by Resume and Issue.
\* Until tables are older than a lease, what a client was granted by earlier ones may
\* last: its request was sent before these were made, and its lease ends Lease ticks
\* after that.  Ticks are counted from somewhere within one, hence <= and not <.
Invite(msg, env) ==
  CASE msg.kind = "Ask" ->
         [msg EXCEPT !.kind = "Invited", !.client = NumberFor(env.peer, msg.client), !.secret = env.token]
    [] ~ MayOpen(msg, env) -> [msg EXCEPT !.kind = "Uninvited"]
    [] env.age <= Lease -> [msg EXCEPT !.kind = "TooEarly"]
    [] OTHER -> [msg EXCEPT !.kind = "Opened", !.secret = env.token]

(***************************************************************************)
(* TC                                                                      *)
(***************************************************************************)

\* The daemon's last word: there is nothing to complete.
Words == {"Invited", "Uninvited", "TooEarly"}

Confirm(credential, msg) ==
  CASE msg.kind \in Words -> Reply(credential, msg)
    [] msg.kind = "Opened" -> Continue(credential, msg)
    [] msg.secret = credential.secret -> Continue(credential, msg)
    [] OTHER -> ConfirmedLate :: Drop(credential, msg)

Resume(session, msg, env) ==
  CASE msg.kind = "Opened" /\ session.state = "Vacant" ->
         Continue([session EXCEPT !.state = "Busy",
                                  !.sequence = msg.sequence,
                                  !.deadline = Extended(env.now)],
                  msg)
    [] msg.kind \in ReadCompletions /\ session.state \notin {"Vacant", "Closing"} ->
         Continue(session, msg)
    [] msg.kind \in Completions /\ session.state = "Forwarded" /\ session.sequence = msg.sequence ->
         Continue([session EXCEPT !.state = "Busy"], msg)
    [] OTHER -> ResumedLate :: Drop(session, msg)

Issue(credential, msg) ==
  IF msg.kind = "Opened"
    THEN Continue([credential EXCEPT !.secret = msg.secret], msg)
    ELSE Continue(credential, msg)

(***************************************************************************)
(* The daemon's sweep, for each session: first collect those that are      *)
(* over, and take their secrets away; then (when the protocol has taken    *)
(* back what they held) free them.                                         *)
(***************************************************************************)

\* What the sections after it hear of a session that is over.
Expired(msg, env) == [msg EXCEPT !.gone = @ \cup {env.index}, !.client = env.index]

Expire(session, msg, env) ==
  CASE Cardinality(msg.gone) >= MaxGone -> Drop(session, msg)
    [] session.state = "Closing" ->
         Continue(session, Expired(msg, env))
    [] session.state \in {"Idle", "Forwarded"} /\ Overdue(env.now, session.deadline) ->
         Continue([session EXCEPT !.state = "Closing"], Expired(msg, env))
    [] OTHER -> Drop(session, msg)

\* In the same pass as Expire, so that a grace period follows.
Revoke(credential, msg) == Continue([credential EXCEPT !.secret = NoSecret], msg)

Retire(session, msg, env) ==
  IF session.state = "Closing" /\ env.index \in msg.gone
    THEN Continue([session EXCEPT !.state = "Vacant"], msg)
    ELSE Drop(session, msg)

\* The share of one address starts at a multiple of its size.
ASSUME SessionsOfPeer > 0 /\ Sessions % SessionsOfPeer = 0
===============================================================================
