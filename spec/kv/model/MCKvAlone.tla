-------------------------------- MODULE MCKvAlone --------------------------------
(***************************************************************************)
(* Requests one at a time: all runs of a request follow one another, and   *)
(* nothing comes between their sections.  So a few states show what many   *)
(* requests in a row come to: entries that move back and forth, deletions  *)
(* one after the other, spots that are used again.                         *)
(*                                                                         *)
(* Client 1 asks alone, in a new session each time.  A request of client 0 *)
(* may be late: others run as it waits for the daemon or for TC, or in a   *)
(* pause between two sections of TC.                                       *)
(***************************************************************************)
EXTENDS MCKv

CONSTANTS
  Asked,     \* what client 1 asks for: <<kind, key, manner>>
  Delayed,   \* what client 0 asks for and the daemon gets late
  MaxAsked,  \* requests of client 1
  MaxHeld,   \* requests of client 0
  Lost,      \* sections that may lose their races, or ""
  Pauses     \* steps of TC before which the run of client 0 may pause

VARIABLES
  asked,  \* how many requests client 1 has sent
  stale,  \* whether the bucket, the page or the shelf of the late request has changed since XDP saw it
  last    \* the last run: of which request, and with what answer

alone == <<vars, asked, stale, last>>

\* The state without the last run.
AloneView == <<cells, runs, forwarded, completions, clients, versions, asked, stale>>

(***************************************************************************)
(* Manners of a request: the length of its value; of a get, the address    *)
(* and what its client has left in the length.                             *)
(***************************************************************************)

Short == "Short"
Full == "Full"
Long == "Long"
TooMuch == "TooMuch"
Away == "Away"

LengthOf(manner, value) ==
  CASE manner = Long -> LongLength(value)
    [] manner = TooMuch -> ValueMax + 1
    [] manner = Full -> SlotSize
    [] OTHER -> Length(value)

\* Values tell writes apart.
RequestOf(client, wish) ==
  LET value == 1000 * (client + 1) + 100 * wish[2] + versions[wish[2]]
      sequence == NextSequence(clients[client].sequence)
      long == wish[3] \in {Long, TooMuch}
  IN  IF wish[1] \in {"Insert", "Update"}
        THEN Request(client, wish[1], sequence, wish[2], LengthOf(wish[3], value), IF long THEN 0 ELSE value,
                     IF long THEN value ELSE 0)
        ELSE Request(client, wish[1], sequence, wish[2], IF wish[3] = TooMuch THEN ValueMax + 1 ELSE 0, 0, 0)

\* The address that a request comes from.
PeerOf(client, wish) == IF wish[3] = Away THEN 7 ELSE client

(***************************************************************************)
(* Runs                                                                    *)
(***************************************************************************)

EnvOf(packet, lost) ==
  [now |-> 0, random |-> 0, cpu |-> 0, age |-> Lease + 1, terms |-> OwnTerms, index |-> 0, peer |-> packet.peer, token |-> 0,
   validated |-> Validated(packet.message, packet.peer), lost |-> lost, until |-> ""]

RECURSIVE Through(_, _, _, _, _)

\* A run of a hook from one of its sections to the end, or to a pause.  No request has operations, whose sections stay out.
Through(hook, at, tables, message, env) ==
  LET section == ProgramSections(hook)[at]
      index == ProgramTableIndex(section.table, message)
      stays_out == ProgramGroup(hook, at) > 0
      result == ProgramStep(hook, at, tables[section.table][index], message, env)
      changed == IF hook = "User" /\ section.reads # "none" THEN tables
                 ELSE [tables EXCEPT ![section.table][index] = result.cell]
      last_one == at = Len(ProgramSections(hook))
  IN  CASE section.step = env.until -> [tables |-> tables, message |-> message, verdict |-> "Pause"]
        [] stays_out \/ section.step = env.lost -> Through(hook, at + 1, tables, message, env)
        [] result.verdict = "Continue" /\ ~ last_one -> Through(hook, at + 1, changed, result.msg, env)
        [] OTHER -> [tables |-> changed, message |-> result.msg, verdict |-> result.verdict]

AtHook(hook, tables, packet, lost) ==
  Through(hook, 1, tables, Arrived(IF hook = "XDP" THEN FromClient(packet.message) ELSE packet.message), EnvOf(packet, lost))

\* A packet that goes on to the next hook, as this one left it.
Onward(hook, packet, run) ==
  Packet(packet.peer, Arrived(IF hook = "XDP" THEN PassedOn(packet.message, run.message) ELSE run.message))

\* All runs of a request, from a hook on.
RECURSIVE Whole(_, _, _, _)
Whole(hook, tables, packet, lost) ==
  LET run == AtHook(hook, tables, packet, lost)
  IN  CASE hook = "XDP" /\ run.verdict = "Forward" -> Whole("User", run.tables, Onward(hook, packet, run), lost)
        [] hook = "User" /\ run.verdict = "Reply" -> Whole("TC", run.tables, Onward(hook, packet, run), lost)
        [] OTHER -> [tables |-> run.tables, answered |-> run.verdict = "Reply", answer |-> run.message, hook |-> hook]

NoRun == [request |-> NoRequest, answered |-> FALSE, answer |-> NoRequest, hook |-> "", lost |-> "", away |-> FALSE,
          again |-> << >>]

\* Sends the same packet once more: whether it is answered without a change, and with what.
SentAgain(packet, tables) ==
  LET run == Whole("XDP", tables, Packet(packet.peer, packet.message), "")
  IN  <<run.answered /\ run.tables = tables, run.answer.kind, run.answer.version>>

\* Notes the last run, and the version that it has written.
Ran(packet, run, lost) ==
  /\ last' = [request |-> packet.message, answered |-> run.answered, answer |-> run.answer, hook |-> run.hook, lost |-> lost,
              away |-> packet.peer # packet.message.client,
              again |-> IF run.answered /\ packet.message.kind \in Requests THEN SentAgain(packet, run.tables) ELSE << >>]
  /\ versions' = IF run.answered /\ run.answer.kind \in {"Inserted", "Updated"}
                   THEN [versions EXCEPT ![run.answer.key] = run.answer.version] ELSE versions

\* The rows around a key: the daemon and TC rely on those around the key of a late request.
Around(tables, key) == <<tables.bucket[SlotOf(key)], tables.page[HomeOf(SlotOf(key))], tables.shelf[ShelfOf(key)]>>

Late == {packet.message : packet \in forwarded \cup completions} \cup {runs[r].message : r \in DOMAIN runs}

GoesStale(tables) == stale \/ \E message \in Late : Around(tables, message.key) # Around(cells, message.key)

\* Gives client 1 a new session.
Anew(tables) == [tables EXCEPT !.session[1] = InitialCells.session[1], !.answer[1] = InitialCells.answer[1]]

Ask(wish, lost) ==
  /\ asked < MaxAsked
  /\ \E packet \in {Packet(PeerOf(1, wish), RequestOf(1, wish))} :
       \E run \in {Whole("XDP", cells, packet, lost)} :
         /\ cells' = Anew(run.tables)
         /\ stale' = GoesStale(run.tables)
         /\ Ran(packet, run, lost)
  /\ asked' = asked + 1
  /\ UNCHANGED <<runs, forwarded, completions, clients>>

\* XDP passes a request of client 0 to the daemon.
Hold(wish) ==
  /\ Late = {}
  /\ clients[0].sequence < MaxHeld
  /\ \E packet \in {Packet(PeerOf(0, wish), RequestOf(0, wish))} :
       \E run \in {AtHook("XDP", cells, packet, "")} :
         /\ run.verdict = "Forward"
         /\ cells' = run.tables
         /\ forwarded' = {Onward("XDP", packet, run)}
         /\ clients' = [clients EXCEPT ![0].sequence = @ + 1]
  /\ stale' = FALSE
  /\ last' = NoRun
  /\ UNCHANGED <<runs, completions, versions, asked>>

\* The daemon decides, and drops the request or sends its answer.
Decide(packet) ==
  /\ \E run \in {AtHook("User", cells, packet, "")} :
       /\ cells' = run.tables
       /\ completions' = IF run.verdict = "Reply" THEN {Onward("User", packet, run)} ELSE {}
       /\ Ran(packet, [answered |-> FALSE, answer |-> run.message, tables |-> run.tables,
                       hook |-> IF run.verdict = "Reply" THEN "TC next" ELSE "User"], "")
  /\ forwarded' = {}
  /\ UNCHANGED <<runs, clients, asked, stale>>

Complete(packet) ==
  /\ \E run \in {Whole("TC", cells, packet, "")} :
       /\ cells' = run.tables
       /\ Ran(packet, run, "")
  /\ completions' = {}
  /\ UNCHANGED <<runs, forwarded, clients, asked, stale>>

\* TC begins, and pauses before a section; from OnCompletion on it is decided what the request comes to.
Pause(packet, step) ==
  /\ \E run \in {Through("TC", 1, cells, Arrived(packet.message), [EnvOf(packet, "") EXCEPT !.until = step])} :
       /\ run.verdict = "Pause"
       /\ cells' = run.tables
       /\ runs' = <<[NewRun("TC", packet, 0, 0, 0) EXCEPT
                       !.at = CHOOSE at \in DOMAIN TcSections : TcSections[at].step = step, !.message = run.message]>>
       /\ Ran(packet, [answered |-> run.message.kind \in AllAnswers, answer |-> run.message, tables |-> run.tables, hook |-> "Pause"],
              step)
  /\ completions' = {}
  /\ UNCHANGED <<forwarded, clients, asked, stale>>

\* It goes on to the end.
Finish(run) ==
  /\ \E packet \in {Packet(run.peer, run.packet)} :
       \E rest \in {Through("TC", run.at, cells, run.message, EnvOf(packet, ""))} :
         LET decided == run.message.kind \in AllAnswers
             answered == rest.verdict = "Reply"
         IN  /\ cells' = rest.tables
             /\ Ran(packet, [answered |-> answered /\ ~ decided, answer |-> rest.message, tables |-> rest.tables,
                             hook |-> IF answered /\ decided THEN "Answer" ELSE "TC"], "")
  /\ runs' = << >>
  /\ UNCHANGED <<forwarded, completions, clients, asked, stale>>

AloneInit == Init /\ asked = 0 /\ stale = FALSE /\ last = NoRun

AloneNext ==
  /\ \/ \E wish \in Asked, lost \in Lost : Ask(wish, lost)
     \/ \E wish \in Delayed : Hold(wish)
     \/ \E packet \in forwarded : Decide(packet)
     \/ \E packet \in completions : Complete(packet) \/ \E step \in Pauses : Pause(packet, step)
     \/ \E r \in DOMAIN runs : Finish(runs[r])
  /\ UNCHANGED <<sweep, requests, answers, event, issued, writes, reads>>

AloneSpec == AloneInit /\ [][AloneNext]_alone

(***************************************************************************)
(* Answers                                                                 *)
(***************************************************************************)

Op == Decision(last'.request, last'.answer, 0)

\* The map does what the answer says, and nothing where there is none. A long value goes to no other address than its session's.
EachIsExecuted ==
  [][CASE last'.answered /\ last'.answer.kind = "Uninvited" ->
            /\ last'.away /\ IsLong(Current(last'.request.key).length)
            /\ last'.answer.length = 0
            /\ \A key \in Keys : Current(key)' = Current(key)
       [] last'.answered ->
            /\ Op.answer = Map!Answer(Op) \/ Map!Refused(Op)
            /\ Map!VersionIsRight(Op)
            /\ Op.answer = "Value" => /\ Op.length = Current(Op.key).length
                                      /\ Op.value = Current(Op.key).value
                                      /\ last'.away => ~ IsLong(Op.length)
            /\ \A key \in Keys : Current(key)' = Map!After(Op)[key]
       [] OTHER -> \A key \in Keys : Current(key)' = Current(key)]_alone

\* True of a run that nothing came between, from its request on: nobody paused meanwhile.
Undisturbed == last'.lost = "" /\ IF last'.request.client = 1 THEN runs = << >> ELSE ~ stale

\* A request that nothing comes between is answered at once; a late one if nothing has changed around its key since.
NothingIsInVain == [][last' # NoRun /\ Undisturbed => last'.answered \/ last'.hook \in {"TC next", "Answer"}]_alone

\* A write that is sent again gets the answer again, and changes nothing.
AnsweredAgain ==
  [][last'.answered /\ last'.request.kind \in Requests /\ last'.hook # "Pause" => last'.again = <<TRUE, last'.answer.kind, last'.answer.version>>]_alone

(***************************************************************************)
(* The daemon, and room                                                    *)
(***************************************************************************)

Marked(bucket, marks) == {i \in 1..Ways : bucket.marks[i] \in marks}

InBucket(key) == \E i \in 1..Ways : BucketOf(key).marks[i] # "Empty" /\ BucketOf(key).keys[i] = key

\* The entries that a page has for a bucket.
EntriesOf(slot) == {j \in 1..PageSize : cells.page[HomeOf(slot)].spilled[j].mark # "Vacant"
                                        /\ cells.page[HomeOf(slot)].spilled[j].slot = slot}

\* The daemon is needed only for a tail, for a key that may be in the page, for an insert into a full bucket, and for
\* writes that go through.
FewNeedTheDaemon ==
  [][last'.answered /\ last'.hook # "XDP" /\ last'.request.client = 1 /\ last'.lost # "OnRequest" =>
       LET request == last'.request
           bucket == BucketOf(request.key)
       IN  \/ IsLong(Current(request.key).length)
           \/ request.kind \in {"Insert", "Update"} /\ IsLong(request.length)
           \/ ~ WriteBack /\ request.kind # "Get"
           \/ ~ InBucket(request.key) /\ (Filtered => BitOf(request.key) \in bucket.filter)
           \/ request.kind = "Insert" /\ Marked(bucket, {"Empty", "Clean"}) = {}]_alone

\* A write is refused only where the entry that is to go, or the new one, or its tail, would have no place.
RefusedForAReason ==
  [][last'.answered /\ last'.answer.kind = "NoRoom" =>
       LET request == last'.request
           home == HomeOf(SlotOf(request.key))
       IN  \/ /\ \A j \in 1..PageSize : cells.page[home].spilled[j].mark # "Vacant"
              /\ ~ WriteBack \/ (~ InBucket(request.key) /\ Marked(BucketOf(request.key), {"Empty", "Clean"}) = {})
           \/ IsLong(request.length) /\ cells.shelf[ShelfOf(request.key)].taken = 0..(Spots - 1)
           \/ request.client = 0]_alone

(***************************************************************************)
(* Buckets and pages                                                       *)
(***************************************************************************)

Content(home) == {<<j, cells.page[home].spilled[j]>> : j \in {i \in 1..PageSize : cells.page[home].spilled[i].mark # "Vacant"}}

\* The epoch of a bucket tells of each move between it and its page, and of tombstones that make room: of nothing else.
EpochTellsOfMoves ==
  [][\A slot \in 0..(Buckets - 1) :
       LET concerned == last' # NoRun /\ slot = SlotOf(last'.request.key)
           moved == Content(HomeOf(slot))' # Content(HomeOf(slot))
           lifted == \E i \in 1..Ways : /\ cells.bucket[slot].marks[i] = "Gone"
                                       /\ cells'.bucket[slot].keys[i] # cells.bucket[slot].keys[i]
       IN  runs = << >> /\ runs' = << >> =>
             (cells'.bucket[slot].epoch # cells.bucket[slot].epoch <=> concerned /\ (moved \/ lifted))]_alone

\* With each move the filter forgets what its page does not have any more.
FilterIsFresh ==
  [][runs = << >> /\ runs' = << >> =>
       \A slot \in 0..(Buckets - 1) :
         cells'.bucket[slot].filter # cells.bucket[slot].filter \/ cells'.bucket[slot].epoch # cells.bucket[slot].epoch
           => cells'.bucket[slot].filter = {cells'.page[HomeOf(slot)].spilled[j].bit : j \in EntriesOf(slot)'}]_alone

\* The floor is the greatest version that was deleted from a bucket, and an insert goes on from there.
FloorIsKept ==
  [][\A slot \in 0..(Buckets - 1) :
       LET floor == cells.bucket[slot].floor
           deleted == last'.answered /\ last'.answer.kind = "Deleted" /\ slot = SlotOf(last'.request.key)
           inserted == last'.answered /\ last'.answer.kind = "Inserted" /\ slot = SlotOf(last'.request.key)
       IN  /\ cells'.bucket[slot].floor = IF deleted /\ last'.answer.version > floor THEN last'.answer.version ELSE floor
           /\ inserted => last'.answer.version = floor + 1]_alone

\* Numbers are less than their modulus.
NumbersWrap ==
  /\ \A slot \in 0..(Buckets - 1) :
       LET bucket == cells.bucket[slot]
       IN  bucket.epoch < EpochModulus /\ bucket.floor < VersionModulus /\ \A i \in 1..Ways : bucket.entries[i].version < VersionModulus
  /\ \A number \in 0..(Shelves - 1) : cells.shelf[number].generation < GenerationModulus

(***************************************************************************)
(* Which entry goes                                                        *)
(***************************************************************************)

\* The ways whose entry made room for another key.
Went == {<<slot, i>> \in (0..(Buckets - 1)) \X (1..Ways) :
           /\ cells.bucket[slot].marks[i] # "Empty"
           /\ cells'.bucket[slot].marks[i] # "Empty"
           /\ cells'.bucket[slot].keys[i] # cells.bucket[slot].keys[i]}

IsInUse(slot, i) == i - 1 \in cells.bucket[slot].used

\* An entry that its page lacks goes only if no way is empty, and none has an entry that its page has. A used entry goes
\* only if all others of its kind are used. Then all go in turns, and so they do where none is spared.
UnusedGoFirst ==
  [][last'.request.client = 1 => \A each \in Went :
       LET bucket == cells.bucket[each[1]]
           safe == Marked(bucket, {"Clean"})
       IN  /\ each[2] \in safe \/ (safe = {} /\ Marked(bucket, {"Empty"}) = {})
           /\ SparesUsed /\ IsInUse(each[1], each[2])
                => \A i \in IF safe = {} THEN 1..Ways ELSE safe : IsInUse(each[1], i)
           /\ safe = {} /\ (SparesUsed => \A i \in 1..Ways : IsInUse(each[1], i)) => each[2] = 1 + (bucket.epoch % Ways)]_alone

\* A way is in use from a get or an update of its key until an entry that was in use has to go; then none is.
UsedMeansUsed ==
  [][\A slot \in 0..(Buckets - 1) :
       LET before == cells.bucket[slot].used
           after == cells'.bucket[slot].used
           touched == {i - 1 : i \in {way \in 1..Ways :
                         /\ last'.answered /\ last'.answer.kind \in {"Value", "Updated"}
                         /\ SlotOf(last'.request.key) = slot
                         /\ cells.bucket[slot].marks[way] # "Empty" /\ cells.bucket[slot].keys[way] = last'.request.key}}
           filled == {i - 1 : i \in {way \in 1..Ways : /\ cells'.bucket[slot].marks[way] # "Empty"
                                                       /\ \/ cells.bucket[slot].marks[way] = "Empty"
                                                          \/ cells'.bucket[slot].keys[way] # cells.bucket[slot].keys[way]}}
       IN  CASE ~ SparesUsed -> after = {}
             [] filled \cap before # {} -> after = {}
             [] last'.hook = "XDP" -> after = before \cup touched
             [] OTHER -> before \subseteq after /\ after \subseteq before \cup touched]_alone

(***************************************************************************)
(* Bounds                                                                  *)
(***************************************************************************)

Kinds == {"Get"} \cup Writing

Shorts(keys) == Kinds \X keys \X {Short}

OnceOrNever == {""}
MayBeLost == {"", "OnRequest", "Claim", "Lift", "OnCompletion", "Shelve"}

AnyShort == Shorts(Keys)
AnyLong == (Shorts(Keys) \cup ({"Insert", "Update"} \X Keys \X {Full, Long, TooMuch}) \cup ({"Get"} \X Keys \X {Away, TooMuch})
            \cup ({"Delete"} \X Keys \X {TooMuch}))
Nobody == {}

\* Two buckets that share page 1.
OneOrTwo(number) == 1 + (number % 2)

Middle == {"Claim", "Stow", "OnCompletion", "Settle", "Shelve"}
LongAsked == (Shorts(Keys) \cup ({"Insert", "Update"} \X Keys \X {Long}))
OfBothBuckets == {<<"Insert", 5, Short>>, <<"Get", 4, Short>>, <<"Get", 3, Short>>, <<"Update", 6, Short>>, <<"Delete", 4, Short>>}
Evictions == {<<"Get", 4, Short>>, <<"Delete", 4, Short>>, <<"Insert", 5, Short>>, <<"Update", 4, Short>>}
LateKinds == {<<"Get", 3, Short>>, <<"Update", 3, Long>>, <<"Insert", 3, Long>>, <<"Get", 4, Short>>, <<"Delete", 3, Short>>}

\* Bucket 2 of three: two ways of different versions, and a page that has one of them and another.
TwoInBucket2 == {Begun(<<<< >>, << >>, <<<<"Dirty", 3, 5>>, <<"Clean", 4, 8>>>>>>, <<<<4, 8>>, <<5, 8>>>>)}

\* Like TwoInBucket2, but the bucket has one way, and the key in it has a tail. Key 4 in the page has one as well, or has none.
LongInBucket2 == {Begun(<<<< >>, << >>, <<<<"Dirty", 3, 61>>>>>>, <<<<5, 7>>, <<4, 52>>>>)}
LongWithRoom == {Begun(<<<< >>, << >>, <<<<"Dirty", 3, 61>>>>>>, <<<<5, 7>>, <<4, 8>>>>)}

\* Keys 3 and 5 in bucket 2, 4 and 6 in bucket 1; each has one way, and page 1 has one place left.
TwoShare == {Begun(<<<< >>, <<<<"Dirty", 6, 6>>>>, <<<<"Dirty", 3, 6>>>>>>, <<<<4, 6>>>>)}
ThroughInBucket2 == {Begun(<<<< >>, << >>, <<<<"Clean", 3, 61>>>>>>, <<<<3, 61>>, <<4, 52>>>>)}

(***************************************************************************)
(* States that models must reach: `possible` in models.yaml.               *)
(***************************************************************************)

\* Key 3 was Dirty at the beginning; it is Clean, so it went to the page and came back.
WentAndCameBack == \E i \in 1..Ways : BucketOf(3).keys[i] = 3 /\ BucketOf(3).marks[i] = "Clean" /\ ~ IsWritten(3)

\* An entry went to the page and came back, and the bucket's epoch is 0 again.
EpochCameRound == WentAndCameBack /\ BucketOf(3).epoch = 0

\* Two keys were deleted, one after the other.
TwoAreDeleted == Cardinality({key \in Keys : ~ Current(key).there}) > 1

\* A spot has the tail of a write of client 1, which at the beginning it did not have.
SpotUsedAgain == \E each \in Entries : IsLong(each.entry.length) /\ Bytes(each.key, each.entry) > 1000

\* Every long value is gone, and its spot is free.
AllSpotsFree == \A number \in DOMAIN cells.shelf : cells.shelf[number].taken = {}

\* A spot is taken, and no entry has it.
SpotIsLost == \E number \in DOMAIN cells.shelf : \E i \in cells.shelf[number].taken : <<number, i + 1>> \notin Spotted

\* A request waits for the daemon, and two others have run since, also around its key.
LateForDaemon == forwarded # {} /\ asked = MaxAsked /\ stale

\* A request waits for TC, and two others have run since, also around its key.
LateForTc == completions # {} /\ asked = MaxAsked /\ stale

\* A write waits for TC, and the daemon has put another tail into its spot since.
LateTailOverwritten ==
  \E packet \in completions :
    LET msg == packet.message IN
    WritesTail(msg) /\ msg.spot > 0 /\ cells.shelf[msg.shelf].generation # msg.generation

\* A run of TC pauses with an entry in the page, and its bucket has moved something since.
PausedWhileMoved ==
  \E r \in DOMAIN runs :
    LET msg == runs[r].message IN
    msg.stowed /\ ~ msg.moved /\ cells.bucket[msg.slot].epoch # msg.epoch

\* A run of TC pauses before it can put an entry into the page, and another bucket takes the last place.
LastPlaceTakenMeanwhile ==
  \E r \in DOMAIN runs :
    LET msg == runs[r].message IN
    /\ SectionOf(runs[r]).step = "Stow" /\ Stores(msg) /\ msg.entry > 0
    /\ cells.page[msg.home].spilled[msg.entry].mark = "Held" /\ cells.page[msg.home].spilled[msg.entry].slot # msg.slot

\* A key has version 0 again.
VersionCameRound == \E key \in Keys : Current(key).there /\ Current(key).version = 0

(***************************************************************************)
(* Rules that are wrong                                                    *)
(***************************************************************************)

\* A draft: a write that goes through is ready though nothing was lifted for it, so that the page does not have it.
ReadyUnlifted(bucket, msg) ==
  /\ msg.way \in 1..Ways
  /\ Dooms(msg) \/ Stores(msg) => msg.stowed
  /\ bucket.marks[msg.way] \in {"Empty", "Clean"}
=================================================================================
