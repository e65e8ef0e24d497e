------------------------------ MODULE SessionHooks ------------------------------
(***************************************************************************)
(* The least protocol that uses sessions, written as the generator would   *)
(* write its hooks: a request "Work" makes the session hold something, at  *)
(* once or by the rare path; the sweep takes it back.  A "Look" changes    *)
(* nothing, and may go by the rare path as well.                           *)
(*                                                                         *)
(* Cell: tally [by, last, twice, held]: whose work was done last (secret   *)
(* and sequence), whether any was done twice running, and the secrets that *)
(* hold something.                                                         *)
(***************************************************************************)
EXTENDS SessionSteps

Done(tally, msg) ==
  Continue([tally EXCEPT !.twice = @ \/ (tally.by = msg.secret /\ tally.last = msg.sequence),
                         !.by = msg.secret, !.last = msg.sequence, !.held = @ \cup {msg.secret}],
           [msg EXCEPT !.kind = "Done"])

Complete(tally, msg) ==
  CASE msg.kind = "Work" -> Done(tally, msg)
    [] msg.kind = "Look" -> Continue(tally, [msg EXCEPT !.kind = "Seen"])
    [] OTHER -> Continue(tally, msg)

\* An answer that Begin has recalled is there already. Its run does not have the session, and ends before End.
Work(tally, msg) ==
  CASE msg.kind \in Answers -> Reply(tally, msg)
    [] msg.rare -> Continue(tally, msg)
    [] OTHER -> Complete(tally, msg)

OnForwarded(tallies, msg, env) ==
  CASE msg.kind \in Opening -> Reply(tallies, Invite(msg, env))
    [] msg.kind \in {"Work", "Look"} -> Reply(tallies, msg)
    [] OTHER -> Drop(tallies, msg)

TakeBack(tally, msg, env) ==
  IF env.index \in msg.gone THEN Continue([tally EXCEPT !.held = {}], msg) ELSE Drop(tally, msg)

Section(table, step, contended) == [table |-> table, step |-> step, contended |-> contended]

XdpSections == <<
  Section("credential", "Authenticate", "drop"),
  Section("session", "Begin", "drop"),
  Section("tally", "Work", "skip"),
  Section("session", "End", "never")
>>

XdpStep(at, cell, msg, env) ==
  CASE at = 1 -> Authenticate(cell, msg)
    [] at = 2 -> Begin(cell, msg, env)
    [] at = 3 -> Work(cell, msg)
    [] at = 4 -> End(cell, msg)

TcSections == <<
  Section("credential", "Confirm", "drop"),
  Section("session", "Resume", "drop"),
  Section("credential", "Issue", "never"),
  Section("tally", "Complete", "skip"),
  Section("session", "End", "never")
>>

TcStep(at, cell, msg, env) ==
  CASE at = 1 -> Confirm(cell, msg)
    [] at = 2 -> Resume(cell, msg, env)
    [] at = 3 -> Issue(cell, msg)
    [] at = 4 -> Complete(cell, msg)
    [] at = 5 -> End(cell, msg)

UserSection(table, step, reads) == [table |-> table, step |-> step, contended |-> "drop", reads |-> reads]

UserSections == << UserSection("tally", "OnForwarded", "table") >>

UserStep(at, cell, msg, env) == CASE at = 1 -> OnForwarded(cell, msg, env)

SectionsOf(hook) == CASE hook = "XDP" -> XdpSections [] hook = "TC" -> TcSections [] OTHER -> UserSections

StepOf(hook, at, cell, msg, env) ==
  CASE hook = "XDP" -> XdpStep(at, cell, msg, env)
    [] hook = "TC" -> TcStep(at, cell, msg, env)
    [] hook = "User" -> UserStep(at, cell, msg, env)

SweepPasses == <<
  [each |-> "session", sections |-> << Section("session", "Expire", "drop"), Section("credential", "Revoke", "never") >>],
  [each |-> "tally", sections |-> << Section("tally", "TakeBack", "drop") >>],
  [each |-> "session", sections |-> << Section("session", "Retire", "drop") >>]
>>

SweepStep(pass, at, cell, msg, env) ==
  CASE pass = 1 /\ at = 1 -> Expire(cell, msg, env)
    [] pass = 1 /\ at = 2 -> Revoke(cell, msg)
    [] pass = 2 -> TakeBack(cell, msg, env)
    [] pass = 3 -> Retire(cell, msg, env)

TableIndex(table, msg) == msg.client

HandedOver(message, from) == message

PassedOn(packet, message) == HandedOver(packet, message)

InitialCell(table) ==
  CASE table = "credential" -> [secret |-> 0]
    [] table = "session" -> [state |-> "Vacant", sequence |-> 0, outcome |-> "Open", deadline |-> 0]
    [] table = "tally" -> [by |-> 0, last |-> 0, twice |-> FALSE, held |-> {}]

TablesOf(capacity) == [table \in DOMAIN capacity |-> [index \in 0..(capacity[table] - 1) |-> InitialCell(table)]]

BlankMessage ==
  [kind |-> "Open", client |-> 0, sequence |-> 0, secret |-> 0, rare |-> FALSE, gone |-> {}]

KindsOfMessages ==
  {"Open", "Ask", "Renew", "Close", "Opened", "Taken", "Renewed", "Closed", "OtherTerms", "TooEarly", "Invited", "Uninvited",
   "Work", "Done", "Look", "Seen"}

CellTypes == [
  credential |-> [secret : Nat],
  session |-> [state : {"Vacant", "Idle", "Busy", "Forwarded", "Closing"}, sequence : 0..1073741823,
               outcome : KindsOfMessages, deadline : 0..33554431],
  tally |-> [by : Nat, last : 0..1073741823, twice : BOOLEAN, held : SUBSET Nat]
]

MessageType ==
  [kind : KindsOfMessages, client : 0..16383, sequence : 0..1073741823, secret : Nat, rare : BOOLEAN,
   gone : SUBSET (0..16383)]

CellOK(table, cell) == cell \in CellTypes[table]

MessageOK(msg) == msg \in MessageType /\ Cardinality(msg.gone) <= MaxGone
=================================================================================
