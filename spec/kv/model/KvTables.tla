-------------------------------- MODULE KvTables --------------------------------
(***************************************************************************)
(* The store's tables, for its models and those of protocols over them:    *)
(* what they hold at the beginning, what they have of a key at any moment, *)
(* and what is always true of them.                                        *)
(***************************************************************************)
EXTENDS StoreSteps, Frame

CONSTANTS
  Clients,    \* session numbers, 0..n; each client keeps to its own
  Keys,       \* small numbers
  Buckets,    \* how many
  Pages,      \* how many
  Shelves,    \* how many
  SlotOf(_),  \* the bucket of a key
  BitOf(_),   \* the bit of a key in its bucket's filter
  HomeOf(_),  \* the page of a bucket
  ShelfOf(_),  \* the shelf of a key
  OpenClients  \* those that begin with an open session


(***************************************************************************)
(* The beginning                                                           *)
(***************************************************************************)

InitialCells ==
  LET session == [state |-> "Idle", sequence |-> 0, outcome |-> "Opened", deadline |-> Extended(0)]
  IN  [BlankCells EXCEPT
        !.session = [client \in DOMAIN @ |-> IF client \in OpenClients THEN session ELSE @[client]],
        !.credential = [client \in DOMAIN @ |-> IF client \in OpenClients THEN [secret |-> client + 1] ELSE @[client]]]

\* Lengths and values tell versions and writes apart.
Length(number) == 1 + (number % SlotSize)
LongLength(number) == SlotSize + 1 + (number % (ValueMax - SlotSize))

\* At the start, versions from 51 on have a tail, in the spot that their last digit says.
BeginsLong(version) == version > 50

EntryOf(version) ==
  IF BeginsLong(version)
    THEN [version |-> version, length |-> LongLength(version), spot |-> version % 10, value |-> 0]
    ELSE [version |-> version, length |-> Length(version), spot |-> 0, value |-> version]

\* A bucket with ways <<mark, key, version>>, whose page has entries <<key, version>>, of other buckets as well.
Filled(slot, ways, spilled) ==
  LET gone == {ways[i][3] : i \in {j \in DOMAIN ways : ways[j][1] = "Gone"}}
      Given(i, blank, part) == IF i \in DOMAIN ways THEN ways[i][part] ELSE blank
  IN  [InitialCells.bucket[slot] EXCEPT
        !.marks = [i \in 1..Ways |-> Given(i, "Empty", 1)],
        !.keys = [i \in 1..Ways |-> Given(i, 0, 2)],
        !.entries = [i \in 1..Ways |-> IF i \in DOMAIN ways THEN EntryOf(ways[i][3]) ELSE @[i]],
        !.floor = IF gone = {} THEN 0 ELSE CHOOSE version \in gone : \A other \in gone : other <= version,
        !.filter = {BitOf(spilled[j][1]) : j \in {i \in DOMAIN spilled : SlotOf(spilled[i][1]) = slot}}]

Held(key, version) ==
  [mark |-> "Held", slot |-> SlotOf(key), key |-> key, bit |-> BitOf(key), entry |-> EntryOf(version)]

\* Buckets in their order, and their pages.
Begun(buckets, spilled) ==
  LET in == UNION {{<<ways[i][2], ways[i][3]>> : i \in {j \in DOMAIN ways : ways[j][1] \in {"Clean", "Dirty"}}} :
                     ways \in {buckets[slot] : slot \in DOMAIN buckets}}
      hidden == UNION {{ways[i][2] : i \in DOMAIN ways} : ways \in {buckets[slot] : slot \in DOMAIN buckets}}
      out == {spilled[j] : j \in {i \in DOMAIN spilled : spilled[i][1] \notin hidden}}
      tails == {each \in in \cup out : BeginsLong(each[2])}
      Of(number, i) == {each \in tails : ShelfOf(each[1]) = number /\ each[2] % 10 = i}
  IN
  [InitialCells EXCEPT
    !.shelf = [number \in DOMAIN @ |-> [@[number] EXCEPT !.taken = {i \in 0..(Spots - 1) : Of(number, i + 1) # {}}]],
    !.tail = [number \in DOMAIN @ |->
                [bytes |-> [i \in 1..Spots |-> IF Of(number, i) = {} THEN 0 ELSE (CHOOSE each \in Of(number, i) : TRUE)[2]]]],
    !.bucket = [slot \in DOMAIN @ |-> Filled(slot, buckets[slot + 1], spilled)],
    !.page = [home \in DOMAIN @ |->
                [spilled |-> [j \in 1..PageSize |->
                   IF j \in DOMAIN spilled /\ HomeOf(SlotOf(spilled[j][1])) = home THEN Held(spilled[j][1], spilled[j][2])
                   ELSE @[home].spilled[j]]]]]

LastVersion(key) ==
  LET bucket == cells.bucket[SlotOf(key)]
      page == cells.page[HomeOf(SlotOf(key))]
      found == {bucket.entries[i].version : i \in {j \in 1..Ways : bucket.marks[j] # "Empty" /\ bucket.keys[j] = key}}
               \cup {page.spilled[i].entry.version : i \in {j \in 1..PageSize : page.spilled[j].mark = "Held" /\ page.spilled[j].key = key}}
  IN  IF found = {} THEN 0 ELSE CHOOSE version \in found : \A other \in found : other <= version

(***************************************************************************)
(* Content of the tables *)
(***************************************************************************)

\* Messages of runs that have been to the bucket and are yet to settle the page.
Settling ==
  {runs[r].message : r \in {i \in 1..Len(runs) : runs[i].hook = "TC" /\ SectionOf(runs[i]).step = "Settle"}}

\* Runs that have committed at the bucket, but not yet in the page.
Committed(home) == {message \in Settling : message.stowed /\ message.moved /\ message.home = home}

\* Whether entry j of the page is one of the bucket's, as far as the bucket knows.
Counts(home, j) ==
  LET mark == cells.page[home].spilled[j].mark
  IN  CASE mark = "Held" -> TRUE
        [] mark = "Joining" -> \E message \in Committed(home) : Stores(message) /\ message.entry = j
        [] mark = "Leaving" -> ~ \E message \in Committed(home) : message.old = j
        [] OTHER -> FALSE

\* The entries that a key has in its page.
Spilled(key) ==
  LET home == HomeOf(SlotOf(key))
  IN  {j \in 1..PageSize : cells.page[home].spilled[j].key = key /\ Counts(home, j)}

SpilledEntry(key, j) == cells.page[HomeOf(SlotOf(key))].spilled[j].entry

BucketOf(key) == cells.bucket[SlotOf(key)]

Bytes(key, entry) == IF IsLong(entry.length) THEN cells.tail[ShelfOf(key)].bytes[entry.spot] ELSE entry.value

\* The content of the key as a client would read it now; `last` is the last version of a missing key.
Standing(key, last) ==
  LET bucket == BucketOf(key)
      way == WayOf(bucket, key)
      spilled == Spilled(key)
      absent == [there |-> FALSE, version |-> last, length |-> 0, value |-> 0]
      Present(entry) == [there |-> TRUE, version |-> entry.version, length |-> entry.length, value |-> Bytes(key, entry)]
  IN  CASE way > 0 /\ bucket.marks[way] = "Gone" -> absent
        [] way > 0 -> Present(bucket.entries[way])
        [] spilled = {} -> absent
        [] OTHER -> Present(SpilledEntry(key, CHOOSE j \in spilled : TRUE))

(***************************************************************************)
(* What the daemon finds in a page                                         *)
(***************************************************************************)

\* The daemon looks into the page, in the first section of its run.
Looks == event'.step \in {"Find", "UserStep"} /\ \A r \in DOMAIN runs : runs[r].hook = "User" => runs[r].at = 1

PageFor(msg) == cells.page[msg.home].spilled

\* The entries of the message's bucket in its page.
EntriesFor(msg) == {j \in 1..PageSize : PageFor(msg)[j].mark # "Vacant" /\ PageFor(msg)[j].slot = msg.slot}

EntryFor(msg, key) ==
  LET having == {j \in EntriesFor(msg) : PageFor(msg)[j].key = key}
  IN  IF having = {} THEN 0 ELSE CHOOSE j \in having : TRUE

\* An entry of the key, or of the one that is to make room for it, is on its way into the page or out of it.
IsOnItsWay(msg) ==
  \E j \in EntriesFor(msg) :
    /\ PageFor(msg)[j].mark # "Held"
    /\ PageFor(msg)[j].key = msg.key \/ (msg.evicts /\ PageFor(msg)[j].key = msg.victim)

\* The message says whether the page has the key, the entry that is to go, one that is free, and the filter without what is to go.
SaysWhatIsThere(given, msg) ==
  LET page == PageFor(given)
      own == EntryFor(given, given.key)
  IN  /\ msg.found = (own # 0)
      /\ msg.old = CASE given.kind = "Delete" -> own [] given.evicts -> EntryFor(given, given.victim) [] OTHER -> 0
      /\ IF msg.entry = 0 THEN \A j \in 1..PageSize : page[j].mark # "Vacant" ELSE page[msg.entry].mark = "Vacant"
      /\ msg.filter = {page[j].bit : j \in EntriesFor(given) \ {msg.old}}
      /\ own # 0 => msg.version = page[own].entry.version

(***************************************************************************)
(* Several operations in one message                                       *)
(***************************************************************************)

\* A request that is sent again is told what was noted of it, or nothing once a later one is noted.
ToldAsNoted ==
  [][/\ event'.step = "Recollect" =>
          event'.message.overtaken = (event'.given.overtaken \/ cells.noted[event'.given.note].tag # TagOf(event'.given))
     /\ event'.step = "Recalled" /\ event'.given.kind = "Gathered" =>
          event'.verdict = IF event'.given.overtaken THEN "Drop" ELSE "Reply"]_event

\* Whatever was left alone, the message is answered.
SeveralAreAnswered ==
  [][event'.step = "Conclude" =>
       event'.message.kind = CASE event'.given.kind = "Fetch" -> "Fetched"
                               [] event'.given.kind = "Gather" -> "Gathered"
                               [] OTHER -> event'.given.kind]_event

(***************************************************************************)
(* Invariants of the tables *)
(***************************************************************************)

\* No key has two entries in its bucket, or two in its page.
NoEntryTwice ==
  /\ \A key \in Keys : Cardinality(Spilled(key)) <= 1
  /\ \A slot \in 0..(Buckets - 1) :
       LET bucket == cells.bucket[slot]
       IN  \A i, j \in 1..Ways :
             i # j /\ bucket.marks[i] # "Empty" /\ bucket.marks[j] # "Empty" => bucket.keys[i] # bucket.keys[j]

\* A Dirty or Gone entry in the kernel is not older than the page's entry of that key.
KernelIsNewer ==
  \A key \in Keys :
    LET way == WayOf(BucketOf(key), key)
        version == BucketOf(key).entries[way].version
    IN  way > 0 =>
          \A j \in Spilled(key) :
            CASE BucketOf(key).marks[way] = "Dirty" -> SpilledEntry(key, j).version < version
              [] OTHER -> SpilledEntry(key, j).version <= version

\* The filter of a bucket has the bits of all keys that its page has for it: it gives no false negative.
FilterCovers == \A key \in Keys : Spilled(key) # {} => BitOf(key) \in BucketOf(key).filter

\* An entry that may be overwritten is in the page as well, the same.
CleanIsSpilled ==
  \A key \in Keys :
    LET way == WayOf(BucketOf(key), key)
    IN  way > 0 /\ BucketOf(key).marks[way] = "Clean"
          => \E j \in Spilled(key) : SpilledEntry(key, j) = BucketOf(key).entries[way]

\* Where all is written through, no bucket has anything that its page lacks.
ThroughIsClean ==
  WriteBack \/ \A slot \in 0..(Buckets - 1), i \in 1..Ways : cells.bucket[slot].marks[i] \in {"Empty", "Clean"}

\* An entry has a spot just if its value is long.
SpotsFit ==
  LET Fits(entry) == (entry.spot # 0) = IsLong(entry.length)
  IN  /\ \A slot \in 0..(Buckets - 1), i \in 1..Ways :
           IsLive(cells.bucket[slot], i) => Fits(cells.bucket[slot].entries[i])
      /\ \A home \in 0..(Pages - 1), j \in 1..PageSize :
           cells.page[home].spilled[j].mark # "Vacant" => Fits(cells.page[home].spilled[j].entry)

\* The entries of a page are where they belong.
EntriesAreAtHome ==
  \A home \in 0..(Pages - 1), j \in 1..PageSize :
    LET one == cells.page[home].spilled[j]
    IN  one.mark # "Vacant" => one.slot = SlotOf(one.key) /\ one.bit = BitOf(one.key) /\ home = HomeOf(one.slot)

\* When nothing is in flight, nothing waits for a run, a packet or a daemon that was lost: no session is busy, and no
\* entry of a page is on its way.
NothingStuck ==
  NobodyInFlight =>
    /\ \A client \in Clients : cells.session[client].state # "Busy"
    /\ \A home \in 0..(Pages - 1), j \in 1..PageSize : cells.page[home].spilled[j].mark \in {"Vacant", "Held"}

\* Cells stay within their layout: fewer versions and epochs than numbers for them, and positions of the page.
CellsFit ==
  \A slot \in 0..(Buckets - 1) :
    LET bucket == cells.bucket[slot]
    IN  /\ bucket.epoch < EpochModulus - 1
        /\ bucket.floor < VersionModulus - 1
        /\ \A i \in 1..Ways : bucket.entries[i].version < VersionModulus - 1
        /\ bucket.filter \subseteq 0..(FilterBits - 1)
=================================================================================
