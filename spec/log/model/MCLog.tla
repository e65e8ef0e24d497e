--------------------------------- MODULE MCLog ---------------------------------
(* Bounds of the log's models: what models.yaml cannot say. *)
EXTENDS LogGuarantees, TLC

\* The requests of client 0, and of every other client.
Of(first, others) == [client \in Clients |-> IF client = 0 THEN first ELSE others]

Asks1 == Of(1, 1)
Asks2 == Of(2, 2)
Asks3 == Of(3, 3)
Asks32 == Of(3, 2)
Asks21 == Of(2, 1)
Asks10 == Of(1, 0)
Asks02 == Of(0, 2)
Asks03 == Of(0, 3)

\* One record at a time, two, or either.
OneEach == Of({1}, {1})
TwoEach == Of({2}, {2})
TwoOrOne == Of({2}, {1})
NoneOrTwo == Of({0, 2}, {0, 2})
OneOrTwo == Of({1, 2}, {1, 2})

InMemory == Of({"Memory"}, {"Memory"})
OnDisk == Of({"Disk"}, {"Disk"})
Either == Of({"Memory", "Disk"}, {"Memory", "Disk"})
Both == Of({"Disk"}, {"Memory"})

\* The second processor has the second of two logs; a third one shares the first.
SecondAndThird == {1, 2}
OnlySecond == {1}

\* A client that puts a place into its requests.
RequestWithPlace(client, level, sequence) ==
  [RequestOf(client, level, sequence, SecretOf(client, clients[client].opens)) EXCEPT !.epoch = 7, !.log = 1, !.number = 5]

\* Client 0 appends in its first session, and client 1 in its second one.
OneAfterTheOther == \A client \in Clients : clients[client].waiting # NoRequest => clients[client].opens = client

\* The messages that one client can send for another: with its own secret.
Forgeries ==
  {Packet(1 - client, [BlankMessage EXCEPT !.kind = "Append", !.client = client, !.sequence = 1, !.secret = 2 - client]) :
     client \in {0, 1}}

\* A stranger without a session asks for one, with the number of client 1.
Openings ==
  {Packet(1, [BlankMessage EXCEPT !.kind = kind, !.client = 1, !.sequence = 40, !.secret = OwnTerms]) : kind \in Opening}

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

InSection(run, step) == run.hook = "XDP" /\ SectionOf(run).step = step

\* Every log has given a number.
EveryLogAppends == \A log \in AllLogs : \E g \in given : g.log = log

\* A request comes again on another processor than the one whose log has its record.
RetryElsewhere ==
  \E r \in DOMAIN runs :
    /\ InSection(runs[r], "Recall") /\ runs[r].message.kind = "Appended"
    /\ runs[r].cpu # cells.answer[runs[r].message.client].log

\* The daemon is dead, and every log keeps a record that no file has.
DeadWhileAllKeep == ~ daemon.up /\ \A log \in AllLogs : Kept(log) > 0

\* Two runs have numbers of one log, and neither has stamped its record.
TwoReserved ==
  \E r, s \in DOMAIN runs :
    /\ runs[r].message.log = runs[s].message.log /\ runs[r].message.number # runs[s].message.number
    /\ \A i \in {r, s} : Reserved(runs[i].message) /\ (InSection(runs[i], "Write") \/ InSection(runs[i], "Stamp"))

\* A record is stamped, and one of a smaller number in the same log is not.
LaterStampedFirst ==
  \E r \in DOMAIN runs :
    LET msg == runs[r].message IN
    /\ Reserved(msg) /\ (InSection(runs[r], "Write") \/ InSection(runs[r], "Stamp"))
    /\ \E slot \in SlotsOf(msg.log) : cells.stamp[slot].number > msg.number

\* A slot has a record of its second lap.
SlotUsedAgain == \E slot \in DOMAIN cells.stamp : cells.stamp[slot].number > Slots

\* The daemon has taken two records, and writes them together.
TwoTakenTogether == Len(daemon.buffer) > 1

\* A request has lost its races for a number.
RaceIsLost ==
  \E r \in DOMAIN runs :
    InSection(runs[r], "Remember") /\ runs[r].message.kind \in Requests /\ runs[r].message.number = 0

\* XDP has a request that names a number before it was given one.
NumberFromClient ==
  \E r \in DOMAIN runs :
    InSection(runs[r], "Recall") /\ runs[r].message.kind \in Requests /\ runs[r].message.number > 0

\* One record was acknowledged in memory, and another on disk.
EitherLevelTold == \E a, b \in told : a.kind = "Stored" /\ b.kind = "Appended"

\* A record is on disk after the daemon and the machine both went down.
StoredAfterBoth == crashes.daemon > 0 /\ crashes.machine > 0 /\ \E t \in told : t.kind = "Stored" /\ t.epoch > 1

\* One sync covers the records of two clients.
SyncCoversTwo ==
  daemon.syncing # NoSync
    /\ \E i, j \in (Current.durable + 1)..daemon.syncing : Current.entries[i].record.key # Current.entries[j].record.key

JustDown == crashes.machine > 0 /\ ~ daemon.up /\ EpochOfMemory = 0

\* The machine went down, and a record that was not synced is there.
UnsyncedIsThere == JustDown /\ Current.durable < Len(Cut(Current.entries))

\* The machine went down, and a record that was not synced is torn.
UnsyncedIsTorn == JustDown /\ ~ IsWhole(Current.entries)

\* The machine went down, and no file has a record that was acknowledged in memory.
UnsyncedIsGone == JustDown /\ Current.entries = << >> /\ \E t \in told : t.kind = "Appended"

\* Two segments have a record each.
TwoSegmentsFilled == Cardinality({s \in DOMAIN segments : segments[s].entries # << >>}) > 1

\* The machine went down, and no segment has a record of a key that was applied elsewhere.
OnlyApplied ==
  JustDown /\ \E client \in Clients :
    /\ store[client].version > 0
    /\ \A s \in DOMAIN segments : \A i \in DOMAIN segments[s].entries : segments[s].entries[i].record.key # client

\* The daemon gave up because a sync failed.
SyncHasFailed == ~ daemon.up /\ Current.lost = "Said"

\* The disk failed, and after that the machine went down.
DownAfterFailure == JustDown /\ crashes.disk > 0 /\ crashes.daemon = 0 /\ Current.lost = "No"

\* A number was given after the machine went down twice.
ThirdEpoch == crashes.machine > 1 /\ \E g \in given : g.epoch > 2

\* A record gets a number on a processor that has no log of its own.
SharesLog ==
  \E r \in DOMAIN runs : InSection(runs[r], "Stamp") /\ runs[r].cpu \notin AllLogs /\ Reserved(runs[r].message)

\* Every log has a record that was acknowledged as on disk.
EveryLogStores == \A log \in AllLogs : \E t \in told : t.kind = "Stored" /\ t.log = log

\* Each log is full, and a request is refused.
EachLogIsFull == (\A log \in AllLogs : Kept(log) = Slots) /\ \E t \in told : t.kind = "Full"

\* A request is refused as numbers have ended, and slots are free.
NumbersHaveEnded ==
  (\E t \in told : t.kind = "Full") /\ \E log \in AllLogs : cells.head[log].appended = LastNumber /\ Kept(log) < Slots

\* A retry comes to its answer, where the place of the next request is by now.
RetryIsOvertaken ==
  \E r \in DOMAIN runs :
    LET msg == runs[r].message IN
    InSection(runs[r], "Recall") /\ msg.kind \in Answers /\ cells.answer[msg.client].tag # Tag(msg.sequence)

\* A stranger has opened the session that the machine lost.
StrangerHasOpened == crashes.machine > 0 /\ \E packet \in answers : packet.message.kind = "Opened"

\* A stranger who asked for a session was invited.
StrangerIsInvited == \E packet \in answers : packet.message.kind = "Invited"

\* The daemon is dead, one log is in its new epoch, and the other is not.
DeadBetweenLogs == ~ daemon.up /\ \E a, b \in AllLogs : Open(a) /\ ~ Open(b)

\* A log is in its second lap of its second epoch.
SecondEpochLaps == \E g \in given : g.epoch > 1 /\ g.number > Slots

\* A record that was applied and removed is in a segment again.
TakenAgain ==
  \E s \in DOMAIN segments : ~ segments[s].applied /\ \E i \in DOMAIN segments[s].entries :
    segments[s].entries[i].record.version = store[segments[s].entries[i].record.key].version

\* A record was applied after a newer one of its key.
OlderIsApplied ==
  segments[1].applied /\ segments[1].entries # << >>
    /\ \A i \in DOMAIN segments[1].entries :
         segments[1].entries[i].record.version < store[segments[1].entries[i].record.key].version

\* The daemon is dead, and a request waits for the disk.
DeadWhileAwaited == ~ daemon.up /\ \E packet \in forwarded : packet.message.kind = "Append"

\* Records of one request are in the buffer, and no other has stamped the last of them yet.
SomeOfSeveral ==
  \E r \in DOMAIN runs :
    LET run == runs[r] IN
    InSection(run, "StampEach") /\ run.operation = RecordsOf(run.message) /\ Reserved(run.message)

\* There is room for some of the records of a request, and all are refused.
NoRoomForAll ==
  \E log \in AllLogs : Kept(log) = Slots - 1 /\ \E t \in told : t.kind = "Full" /\ t.count > 1

\* Records of one request are in two laps of the buffer.
AcrossTheEnd == \E t \in told : t.kind = "Gathered" /\ t.number % Slots = 0 /\ t.number > Slots

\* Several records were said to be on the disk, and the machine went down.
SyncedAndDown == crashes.machine > 0 /\ \E t \in told : t.kind = "Synced"

\* An answer to a client says that nobody knows what became of its records.
UnknownIsTold == \E t \in told : t.kind = "Unknown"

=================================================================================
