---------------------------- MODULE MCSessionSections ----------------------------
(***************************************************************************)
(* One section alone, on a session in every state, and on every message.   *)
(* So a few states show what a section makes of what others have changed   *)
(* since the one before.  A run, or the sweep, goes on for one step.       *)
(*                                                                         *)
(* The session is number 2, which is of the part of peer 1.  Its sequence  *)
(* number is the last before they wrap, and so is the clock's tick.        *)
(***************************************************************************)
EXTENDS MCSession

Number == 2
Peer == 1
LastSequence == SequenceModulus - 1
Now == TimeModulus - 1
Secret == TokenOf(Peer, 1)

States == {"Vacant", "Idle", "Busy", "Forwarded", "Closing"}

\* Cells with one session that is not blank.
With(state, outcome, deadline) ==
  [BlankCells EXCEPT !.session[Number] = [state |-> state, sequence |-> LastSequence, outcome |-> outcome, deadline |-> deadline],
                     !.credential[Number] = [secret |-> Secret]]

SomeTables == {With(state, outcome, 3) : state \in States, outcome \in {"Done", "Renewed", "Opened"}}

Message(kind, sequence, secret) ==
  [BlankMessage EXCEPT !.kind = kind, !.client = Number, !.sequence = sequence, !.secret = secret]

\* A run that is about to enter a section.
Case(hook, step, given, message) ==
  [cells |-> given, sweep |-> NoSweep, runs |-> <<Before(step, NewRun(hook, Packet(Peer, message), Now, TokenOf(Peer, 2), 0))>>]

Sequences == {LastSequence - 1, LastSequence, 0, 1}

\* The session remembers the answer to this kind of request, if it has answered any with this number.
Fits(kind, sequence, outcome) ==
  sequence = LastSequence => CASE kind = "Work" -> outcome = "Done"
                               [] kind = "Renew" -> outcome = "Renewed"
                               [] kind = "Close" -> FALSE
                               [] OTHER -> TRUE

\* Ask has the sender's terms where others have a secret.
Begins ==
  {Case("XDP", "Begin", With(asked[1], asked[2], 3), Message(asked[3], asked[4], asked[5])) :
     asked \in {each \in States \X {"Done", "Renewed", "Opened"} \X KindsOfMessages \X Sequences \X {Secret, OwnTerms} :
                 Fits(each[3], each[4], each[2]) /\ (each[5] = OwnTerms => each[3] = "Ask")}}

Ends ==
  {Case(hook, "End", one, [Message(kind, LastSequence, Secret) EXCEPT !.rare = kind \in {"Work", "Look"}]) :
     hook \in {"XDP", "TC"}, one \in SomeTables, kind \in {"Work", "Look", "Done", "Seen", "Opened"}}

Secrets ==
  {Case(section[1], section[2], With("Idle", "Done", 3), Message(kind, 0, secret)) :
     section \in {<<"XDP", "Authenticate">>, <<"TC", "Confirm">>, <<"TC", "Issue">>},
     kind \in KindsOfMessages, secret \in {Secret, TokenOf(Peer, 0)}}

\* A number without a session, and packets that show a secret or none.
WithoutSecrets ==
  {Case(hook[1], hook[2], BlankCells, Message(kind, 0, secret)) :
     hook \in {<<"XDP", "Authenticate">>, <<"TC", "Confirm">>}, kind \in KindsOfMessages, secret \in {Secret, NoSecret}}

Resumes ==
  {Case("TC", "Resume", one, Message(kind, sequence, Secret)) :
     one \in SomeTables, kind \in {"Opened", "Work", "Look"}, sequence \in Sequences}

\* The daemon is asked for each number, with tokens of either peer, by tables of any age.
Invites ==
  {[Case("User", "OnForwarded", With("Vacant", "Done", 3), [Message(kind, sequence, token) EXCEPT !.client = number])
      EXCEPT !.runs[1].age = old, !.runs[1].peer = peer, !.runs[1].random = TokenOf(peer, 2)] :
     kind \in Opening \cup {"Work", "Look"}, sequence \in {0, 3}, number \in 0..(Sessions - 1), peer \in {0, 1, 3},
     token \in {TokenOf(0, 0), TokenOf(1, 0), TokenOf(3, 0)}, old \in 0..(Lease + 1)}

\* The sweep has taken back these sessions in this pass.
Sweeping(pass, given, gone) ==
  [cells |-> given, runs |-> << >>,
   sweep |-> [NoSweep EXCEPT !.pass = pass, !.index = Number, !.record = [BlankMessage EXCEPT !.gone = gone]]]

Sweeps ==
  {Sweeping(pass, With(state, "Done", deadline), gone) :
     pass \in {1, 3}, state \in States, deadline \in 0..(TimeModulus - 1), gone \in {{}, {0}, {Number}, {0, 1}}}

\* The sweep has found the session over, beside another or alone, and is about to take its secret away.
Revokes ==
  {[case EXCEPT !.sweep.at = 2, !.sweep.record.client = Number] :
     case \in {Sweeping(1, With("Closing", "Done", 3), gone) : gone \in {{Number}, {0, Number}}}}

SectionsInit ==
  /\ \E case \in Begins \cup Ends \cup Secrets \cup WithoutSecrets \cup Resumes \cup Invites \cup Sweeps \cup Revokes :
       cells = case.cells /\ runs = case.runs /\ sweep = case.sweep
  /\ requests = {} /\ forwarded = {} /\ completions = {} /\ answers = {}
  /\ event = Event("", "", "Init", "", NoMessage, NoMessage)
  /\ hosts = [host \in Hosts |-> NewHost(host)]
  /\ clock = Now
  /\ drawn = 0 /\ issued = 0 /\ fresh = 0 /\ bereft = {}
  /\ age = IF runs = << >> THEN 0 ELSE runs[1].age

SectionsNext == event.step = "Init" /\ (Run(1) \/ (sweep.pass > 0 /\ Sweep(0)))

SectionsSpec == SectionsInit /\ [][SectionsNext]_vars

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

\* The sequence number of the session has wrapped.
NumberWrapped == cells.session[Number].sequence = 0

\* The daemon has opened a session for the peer that it is for.
DaemonOpens == \E packet \in completions : packet.message.kind = "Opened"
=================================================================================
