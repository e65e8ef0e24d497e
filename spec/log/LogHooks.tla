------------------------------ MODULE LogHooks ------------------------------
(* The hooks of layout.proposed.yaml as TLA+, written as the generator would write them. It cannot yet: see README.md. *)
(* When it can, this file goes.                                               *)
EXTENDS LogSteps

Section(table, step, contended) == [table |-> table, step |-> step, contended |-> contended]

XdpSections == <<
  Section("credential", "Authenticate", "drop"),
  Section("session", "Begin", "drop"),
  Section("answer", "Recall", "never"),
  Section("drained", "Room", "never"),
  Section("head", "Reserve", "skip"),
  Section("record", "Write", "never"),
  Section("stamp", "Stamp", "never"),
  Section("answer", "Remember", "never"),
  Section("session", "End", "never")
>>

XdpStep(at, cell, msg, env) ==
  CASE at = 1 -> Authenticate(cell, msg)
    [] at = 2 -> Begin(cell, msg, env)
    [] at = 3 -> Recall(cell, msg, env)
    [] at = 4 -> Room(cell, msg)
    [] at = 5 -> Reserve(cell, msg)
    [] at = 6 -> Write(cell, msg)
    [] at = 7 -> Stamp(cell, msg)
    [] at = 8 -> Remember(cell, msg)
    [] at = 9 -> End(cell, msg)

TcSections == <<
  Section("credential", "Confirm", "drop"),
  Section("session", "Resume", "drop"),
  Section("credential", "Issue", "never"),
  Section("session", "End", "never")
>>

TcStep(at, cell, msg, env) ==
  CASE at = 1 -> Confirm(cell, msg)
    [] at = 2 -> Resume(cell, msg, env)
    [] at = 3 -> Issue(cell, msg)
    [] at = 4 -> End(cell, msg)

SweepPasses == <<
  [each |-> "session", sections |-> <<
    Section("session", "Expire", "drop")
  >>],
  [each |-> "session", sections |-> <<
    Section("session", "Retire", "drop")
  >>]
>>

SweepStep(pass, at, cell, msg, env) ==
  CASE pass = 1 /\ at = 1 -> Expire(cell, msg, env)
    [] pass = 2 /\ at = 1 -> Retire(cell, msg, env)

\* Which cell of its table a section works on.
TableIndex(table, msg) ==
  CASE table = "credential" -> msg.client
    [] table = "session" -> msg.client
    [] table = "answer" -> msg.client
    [] table = "drained" -> msg.log
    [] table = "synced" -> msg.log
    [] table = "head" -> msg.log
    [] table = "record" -> msg.slot
    [] table = "stamp" -> msg.slot

\* `message` with what the hooks and the user step hand to one another, as `from` has it.
HandedOver(message, from) ==
  message

\* What XDP passes to the daemon: the packet as it came, with what the sections have for it.
PassedOn(packet, message) ==
  HandedOver(packet, message)

\* Sections of the daemon: what they only read, a `cell` or a `table`, or `none` where they step a cell. A whole table is
\* the cell that UserStep gets.
UserSection(table, step, reads) == [table |-> table, step |-> step, contended |-> "drop", reads |-> reads]

UserSections == <<
  UserSection("answer", "Locate", "none"),
  UserSection("synced", "Await", "none")
>>

UserStep(at, cell, msg, env) ==
  CASE at = 1 -> Locate(cell, msg, env)
    [] at = 2 -> Await(cell, msg)

\* The daemon's drain, for each log.
DrainTakes == <<
  UserSection("drained", "Next", "cell"),
  UserSection("stamp", "Look", "cell"),
  UserSection("record", "Take", "cell")
>>

DrainStep(at, cell, msg) ==
  CASE at = 1 -> Next(cell, msg)
    [] at = 2 -> Look(cell, msg)
    [] at = 3 -> Take(cell, msg)

DrainWritten == UserSection("drained", "Reached", "none")
DrainSynced == UserSection("synced", "Reached", "none")

DrainBegins == << UserSection("synced", "Begun", "none"), UserSection("drained", "Begun", "none") >>

InitialCell(table) ==
  CASE table = "credential" -> [secret |-> 0]
    [] table = "session" -> [state |-> "Vacant", sequence |-> 0, outcome |-> "Open", deadline |-> 0]
    [] table = "answer" -> [tag |-> 0, log |-> 0, number |-> 0]
    [] table = "drained" -> [epoch |-> 0, number |-> 0]
    [] table = "synced" -> [epoch |-> 0, number |-> 0]
    [] table = "head" -> [appended |-> 0]
    [] table = "record" -> [transaction |-> 0, key |-> 0, version |-> 0, deletes |-> FALSE, length |-> 0, value |-> 0]
    [] table = "stamp" -> [number |-> 0]
    [] table = "entry" -> [version |-> 0, deletes |-> FALSE, length |-> 0, value |-> 0]

BlankMessage ==
  [kind |-> "Open", client |-> 0, sequence |-> 0, secret |-> 0, level |-> "Memory", transaction |-> 0, key |-> 0,
   version |-> 0, deletes |-> FALSE, length |-> 0, value |-> 0, epoch |-> 0, log |-> 0, number |-> 0, gone |-> {},
   limit |-> 0, slot |-> 0]
=============================================================================
