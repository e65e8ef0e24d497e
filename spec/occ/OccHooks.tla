------------------------------ MODULE OccHooks -------------------------------
(* The hooks of layout.proposed.yaml as TLA+: what the generator makes of it with res_spin_lock in place of owned. When it *)
(* knows that word, this file goes.                                           *)
EXTENDS OccSteps

Section(table, step, contended) == [table |-> table, step |-> step, contended |-> contended]

XdpSections == <<
  Section("credential", "Authenticate", "drop"),
  Section("session", "Begin", "drop"),
  Section("answer", "Recall", "never"),
  Section("transaction", "Enter", "never"),
  Section("intent", "Note", "never"),
  Section("bucket", "OnOccRequest", "skip"),
  Section("transaction", "Leave", "never"),
  Section("answer", "Remember", "never"),
  Section("session", "End", "never")
>>

XdpStep(at, cell, msg, env) ==
  CASE at = 1 -> Authenticate(cell, msg)
    [] at = 2 -> Begin(cell, msg, env)
    [] at = 3 -> Recall(cell, msg)
    [] at = 4 -> Enter(cell, msg)
    [] at = 5 -> Note(cell, msg)
    [] at = 6 -> OnOccRequest(cell, msg)
    [] at = 7 -> Leave(cell, msg)
    [] at = 8 -> Remember(cell, msg)
    [] at = 9 -> End(cell, msg)

TcSections == <<
  Section("credential", "Confirm", "drop"),
  Section("session", "Resume", "drop"),
  Section("credential", "Issue", "never"),
  Section("shelf", "Claim", "skip"),
  Section("bucket", "Lift", "skip"),
  Section("page", "Stow", "skip"),
  Section("bucket", "OnOccCompletion", "skip"),
  Section("page", "Settle", "never"),
  Section("shelf", "Shelve", "skip"),
  Section("transaction", "Leave", "never"),
  Section("answer", "Remember", "never"),
  Section("session", "End", "never")
>>

TcStep(at, cell, msg, env) ==
  CASE at = 1 -> Confirm(cell, msg)
    [] at = 2 -> Resume(cell, msg, env)
    [] at = 3 -> Issue(cell, msg)
    [] at = 4 -> Claim(cell, msg)
    [] at = 5 -> Lift(cell, msg)
    [] at = 6 -> Stow(cell, msg)
    [] at = 7 -> OnOccCompletion(cell, msg)
    [] at = 8 -> Settle(cell, msg)
    [] at = 9 -> Shelve(cell, msg)
    [] at = 10 -> Leave(cell, msg)
    [] at = 11 -> Remember(cell, msg)
    [] at = 12 -> End(cell, msg)

SweepPasses == <<
  [each |-> "session", sections |-> <<
    Section("session", "Expire", "drop")
  >>],
  [each |-> "transaction", sections |-> <<
    Section("transaction", "Unsettled", "drop"),
    Section("intent", "Note", "never"),
    Section("bucket", "Settled", "skip"),
    Section("transaction", "Leave", "never")
  >>],
  [each |-> "transaction", sections |-> <<
    Section("transaction", "IsSettled", "drop"),
    Section("session", "Retire", "skip")
  >>]
>>

SweepStep(pass, at, cell, msg, env) ==
  CASE pass = 1 /\ at = 1 -> Expire(cell, msg, env)
    [] pass = 2 /\ at = 1 -> Unsettled(cell, msg, env)
    [] pass = 2 /\ at = 2 -> Note(cell, msg)
    [] pass = 2 /\ at = 3 -> Settled(cell, msg)
    [] pass = 2 /\ at = 4 -> Leave(cell, msg)
    [] pass = 3 /\ at = 1 -> IsSettled(cell, msg, env)
    [] pass = 3 /\ at = 2 -> Retire(cell, msg, env)

\* Which cell of its table a section works on.
TableIndex(table, msg) ==
  CASE table = "credential" -> msg.client
    [] table = "session" -> msg.client
    [] table = "bucket" -> msg.slot
    [] table = "page" -> msg.home
    [] table = "shelf" -> msg.shelf
    [] table = "tail" -> msg.shelf
    [] table = "answer" -> msg.client
    [] table = "transaction" -> msg.client
    [] table = "intent" -> msg.intent

\* `message` with what the hooks and the user step hand to one another, as `from` has it.
HandedOver(message, from) ==
  [message EXCEPT !.epoch = from.epoch, !.way = from.way, !.victim = from.victim, !.evicts = from.evicts,
                  !.found = from.found, !.old = from.old, !.entry = from.entry, !.filter = from.filter,
                  !.spot = from.spot, !.generation = from.generation, !.former = from.former,
                  !.expected = from.expected]

\* What XDP passes to the daemon: the packet as it came, with what the sections have for it.
PassedOn(packet, message) ==
  [HandedOver(packet, message) EXCEPT !.version = message.version, !.length = message.length]

\* Sections of the daemon: what they only read, a `cell` or a `table`, or `none` where they step a cell. A whole table is
\* the cell that UserStep gets.
UserSection(table, step, reads) == [table |-> table, step |-> step, contended |-> "drop", reads |-> reads]

UserSections == <<
  UserSection("page", "Find", "cell"),
  UserSection("shelf", "Reserve", "none"),
  UserSection("tail", "Keep", "none")
>>

UserStep(at, cell, msg, env) ==
  CASE at = 1 -> Find(cell, msg, env)
    [] at = 2 -> Reserve(cell, msg)
    [] at = 3 -> Keep(cell, msg)

InitialCell(table) ==
  CASE table = "credential" -> [secret |-> 0]
    [] table = "session" -> [state |-> "Vacant", sequence |-> 0, outcome |-> "Open", deadline |-> 0]
    [] table = "bucket" -> [epoch |-> 0, filter |-> {}, keys |-> [i \in 1..4 |-> 0], floor |-> 0, marks |-> [i \in 1..4 |-> "Empty"], used |-> {}, entries |-> [i \in 1..4 |-> [version |-> 0, length |-> 0, spot |-> 0, value |-> 0]], holders |-> [i \in 1..4 |-> 0]]
    [] table = "page" -> [spilled |-> [i \in 1..16 |-> [mark |-> "Vacant", bit |-> 0, slot |-> 0, key |-> 0, entry |-> [version |-> 0, length |-> 0, spot |-> 0, value |-> 0]]]]
    [] table = "shelf" -> [generation |-> 0, taken |-> {}]
    [] table = "tail" -> [bytes |-> [i \in 1..16 |-> 0]]
    [] table = "answer" -> [sequence |-> 0, version |-> 0]
    [] table = "transaction" -> [verdict |-> "Open", places |-> {}]
    [] table = "intent" -> [slot |-> 0, bit |-> 0, deletes |-> FALSE, length |-> 0, value |-> 0]

BlankMessage ==
  [kind |-> "Open", client |-> 0, sequence |-> 0, secret |-> 0, key |-> 0, version |-> 0, length |-> 0,
   value |-> 0, place |-> 0, deletes |-> FALSE, locked |-> FALSE, epoch |-> 0, way |-> 0, victim |-> 0,
   evicts |-> FALSE, found |-> FALSE, old |-> 0, entry |-> 0, filter |-> {}, spot |-> 0, generation |-> 0,
   former |-> 0, expected |-> 0, gone |-> {}, slot |-> 0, bit |-> 0, victim_bit |-> 0, home |-> 0, shelf |-> 0,
   lifted |-> "Empty", carried |-> [version |-> 0, length |-> 0, spot |-> 0, value |-> 0], stowed |-> FALSE,
   moved |-> FALSE, claimed |-> FALSE, done |-> FALSE, intent |-> 0, tail |-> 0]
==============================================================================
