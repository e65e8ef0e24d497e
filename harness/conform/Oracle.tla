-------------------------------- MODULE Oracle --------------------------------
(***************************************************************************)
(* What a hook of any protocol does to tables and a message, evaluated by  *)
(* the model checker from the steps themselves: what the compiled program  *)
(* is compared with.  The conformance runner instantiates this module in   *)
(* one that extends the protocol's generated Hooks module.                 *)
(*                                                                         *)
(* cells[table][index] is a cell.  A result lists, in order, the cells     *)
(* that were written, so that big tables are never printed.                *)
(***************************************************************************)
LOCAL INSTANCE Integers
LOCAL INSTANCE Sequences

CONSTANTS
  Capacity,         \* [table |-> cells]
  TableIndex(_, _)  \* from the Hooks module: which cell a section works on

Found(table, index) == index < Capacity[table]

Outcome(verdict, ended, continued, cells, msg, writes) ==
  [verdict |-> verdict, ended |-> ended, continued |-> continued, cells |-> cells, msg |-> msg, writes |-> writes,
   through |-> FALSE]

\* A section that loses its races.  at: which, 0 for none.  Where it `always`
\* loses it need not write the cell (a spin_lock is taken before the step is
\* run); else only a write can lose.  rivals: the cell that another writer put
\* there, after which it wins; empty where it goes on losing.  operation: for
\* which operation it loses, where it runs for each.
Undisturbed == [at |-> 0, always |-> FALSE, rivals |-> <<>>, operation |-> 1]

\* The sections of one hook from `start` to `last`.  `through` says that none of
\* them ended the hook; the verdict is that of a hook that ends there.  `each` is
\* the table that a sweep goes over and `swept` where it is.  A packet whose last
\* section was left out is dropped as if that had lost its races: no leaf says
\* what to do with it.  In a sweep, such a section counts as one that continued.
RunPart(sections, Step(_, _, _, _), start, last, each, swept, trouble, continued0, cells0, msg0, env) ==
  LET RECURSIVE From(_, _, _, _, _)
      From(at, continued, cells, msg, writes) ==
        IF at > last
          THEN [Outcome(IF continued THEN "Drop" ELSE "Contended", at - 1, continued, cells, msg, writes)
                  EXCEPT !.through = TRUE]
          ELSE
            LET table == sections[at].table
                index == IF table = each THEN swept ELSE TableIndex(table, msg)
            IN
            IF ~ Found(table, index)
              THEN From(at + 1, each # "", cells, msg, writes)
              ELSE
                LET before == cells[table][index]
                    Run(cell) == Step(at, cell, msg, [env EXCEPT !.index = index])
                    first == Run(before)
                    lost == at = trouble.at /\ (trouble.always \/ first.cell # before)
                IN
                IF lost /\ trouble.rivals = <<>>
                  THEN CASE sections[at].contended = "skip" -> From(at + 1, FALSE, cells, msg, writes)
                         [] sections[at].contended = "drop" -> Outcome("Contended", at, FALSE, cells, msg, writes)
                         [] OTHER -> Outcome("Lost", at, FALSE, cells, msg, writes)
                  ELSE
                    LET result == IF lost THEN Run(trouble.rivals[1]) ELSE first
                        wrote == result.cell # before
                        after == IF wrote THEN [cells EXCEPT ![table][index] = result.cell] ELSE cells
                        \* Else TLC may print an array that it has not worked out as an expression.
                        known == result.cell = result.cell
                        log == IF wrote /\ known THEN Append(writes, <<table, index, result.cell, at>>) ELSE writes
                    IN
                    IF result.verdict = "Continue"
                      THEN From(at + 1, TRUE, after, result.msg, log)
                      ELSE Outcome(result.verdict, at, FALSE, after, result.msg, log)
  IN From(start, continued0, cells0, msg0, <<>>)

RunSections(sections, Step(_, _, _, _), each, swept, trouble, cells, msg, env) ==
  RunPart(sections, Step, 1, Len(sections), each, swept, trouble, FALSE, cells, msg, env)

\* XDP and TC.  The tables in `checked` must have a cell for the packet before
\* anything is run.
RunHook(sections, Step(_, _, _, _), checked, trouble, cells, msg, env) ==
  IF \E table \in checked : ~ Found(table, TableIndex(table, msg))
    THEN Outcome("Malformed", 0, FALSE, cells, msg, <<>>)
    ELSE RunSections(sections, Step, "", 0, trouble, cells, msg, env)

\* XDP, of a message with `count` operations, which may be none.  The sections of
\* a group (Group says which it is, from 1) run for one operation after the other,
\* if the group is for the message.  With(msg, number) is the message of an
\* operation.  Done(msg, number) writes it back into the message.  Own(msg, from)
\* takes the fields that each operation has of its own from another message.
\* A write says the section, and for an operation its number times the number of
\* sections more.
RunGathered(sections, Step(_, _, _, _), Group(_), IsFor(_, _), With(_, _), Own(_, _), Done(_, _), count, most, checked,
            trouble, cells0, msg0, env) ==
  LET Last(at) == CHOOSE last \in at..Len(sections) :
                    /\ \A other \in at..last : Group(other) = Group(at)
                    /\ last = Len(sections) \/ Group(last + 1) # Group(at)
      Of(writes, number) == [w \in DOMAIN writes |-> [writes[w] EXCEPT ![4] = @ + number * Len(sections)]]
      RECURSIVE Operations(_, _, _, _, _, _)
      Operations(at, number, continued, cells, msg, writes) ==
        IF number > count
          THEN [Outcome("Drop", Last(at), continued, cells, msg, writes) EXCEPT !.through = TRUE]
          ELSE LET run == RunPart(sections, Step, at, Last(at), "", 0,
                                  IF number = trouble.operation THEN trouble ELSE Undisturbed,
                                  continued, cells, With(msg, number), [env EXCEPT !.position = number - 1])
                   answered == Own(Done(run.msg, number), msg)
                   log == writes \o Of(run.writes, number)
               IN  IF run.through
                     THEN Operations(at, number + 1, run.continued, run.cells, answered, log)
                     ELSE [run EXCEPT !.msg = answered, !.writes = log]
      \* TLC works out a whole table where it first meets it in a record. So tables
      \* go from section to section by themselves, and a section reads a cell first.
      RECURSIVE From(_, _, _, _, _)
      From(at, continued, cells, msg, writes) ==
        CASE at > Len(sections) ->
               Outcome(IF continued THEN "Drop" ELSE "Contended", at - 1, continued, cells, msg, writes)
          [] at <= Len(sections) /\ Group(at) > 0 /\ (count = 0 \/ ~ IsFor(Group(at), msg)) ->
               From(Last(at) + 1, continued, cells, msg, writes)
          [] OTHER ->
               LET run == IF Group(at) = 0
                            THEN [RunPart(sections, Step, at, Last(at), "", 0, trouble, continued, cells, msg, env)
                                    EXCEPT !.writes = writes \o @]
                            ELSE Operations(at, 1, continued, cells, msg, writes)
               IN  IF run.through
                     THEN From(Last(at) + 1, run.continued, run.cells, run.msg, run.writes)
                     ELSE run
  IN  IF count > most \/ \E table \in checked : ~ Found(table, TableIndex(table, msg0))
        THEN Outcome("Malformed", 0, FALSE, cells0, msg0, <<>>)
        ELSE From(1, FALSE, cells0, msg0, <<>>)

\* The daemon's sections: each on one cell, which it may write where it reads none, or on a whole table, which it reads.
RunUser(sections, Step(_, _, _, _), cells0, msg0, env) ==
  LET RECURSIVE From(_, _, _, _)
      From(at, cells, msg, writes) ==
        IF at > Len(sections)
          THEN Outcome("Drop", at - 1, FALSE, cells, msg, writes)
          ELSE
            LET section == sections[at]
                table == section.table
                index == TableIndex(table, msg)
            IN
            IF section.reads # "table" /\ ~ Found(table, index)
              THEN Outcome("Drop", at, FALSE, cells, msg, writes)
              ELSE
                LET cell == IF section.reads = "table" THEN cells[table] ELSE cells[table][index]
                    result == Step(at, cell, msg, env)
                    wrote == section.reads = "none" /\ result.cell # cell
                    after == IF wrote THEN [cells EXCEPT ![table][index] = result.cell] ELSE cells
                    log == IF wrote THEN Append(writes, <<table, index, result.cell, at>>) ELSE writes
                IN
                IF result.verdict = "Continue"
                  THEN From(at + 1, after, result.msg, log)
                  ELSE Outcome(result.verdict, at, FALSE, after, result.msg, log)
  IN From(1, cells0, msg0, <<>>)

\* One chunk of a pass of the sweep: cells and record are handed from index to
\* index.  The verdict is how many indexes ended with Continue.
RunSweep(pass, Step(_, _, _, _), first, count, cells0, msg0, env) ==
  LET RECURSIVE Over(_, _, _, _, _)
      Over(index, continued, cells, msg, writes) ==
        IF index = first + count \/ ~ Found(pass.each, index)
          THEN Outcome(continued, index - first, FALSE, cells, msg, writes)
          ELSE
            LET run == RunSections(pass.sections, Step, pass.each, index, Undisturbed, cells, msg, env)
            IN  Over(index + 1, continued + (IF run.continued THEN 1 ELSE 0), run.cells, run.msg, writes \o run.writes)
  IN Over(first, 0, cells0, msg0, <<>>)

(***************************************************************************)
(* The drain and recovery, which the daemon runs: nobody is beside it on   *)
(* the cells that it swaps, so that no section loses.                      *)
(***************************************************************************)

\* At most `room` records, one after the other, of the lane that msg0 says.
\* The verdict is how many there were; the message is that of the last.
RunTakes(sections, Step(_, _, _), room, cells, msg0) ==
  LET RECURSIVE Sections(_, _)
      Sections(at, msg) ==
        IF at > Len(sections)
          THEN [taken |-> TRUE, msg |-> msg]
          ELSE LET table == sections[at].table
                   result == Step(at, cells[table][TableIndex(table, msg)], msg)
               IN  IF result.verdict = "Drop" THEN [taken |-> FALSE, msg |-> msg] ELSE Sections(at + 1, result.msg)
      RECURSIVE Records(_, _)
      Records(count, msg) ==
        LET next == Sections(1, msg)
        IN  IF count < room /\ next.taken
              THEN Records(count + 1, next.msg)
              ELSE Outcome(count, count, FALSE, cells, msg, <<>>)
  IN  Records(0, msg0)

\* Sections on the place that msg says, each for itself.  The verdict is how
\* many wrote their cells.
RunMarks(sections, Step(_, _, _), cells0, msg) ==
  LET RECURSIVE From(_, _, _)
      From(at, cells, writes) ==
        IF at > Len(sections)
          THEN Outcome(Len(writes), at - 1, FALSE, cells, msg, writes)
          ELSE LET table == sections[at].table
                   index == TableIndex(table, msg)
                   result == Step(at, cells[table][index], msg)
               IN  IF result.cell = cells[table][index]
                     THEN From(at + 1, cells, writes)
                     ELSE From(at + 1, [cells EXCEPT ![table][index] = result.cell],
                               Append(writes, <<table, index, result.cell, at>>))
  IN  From(1, cells0, <<>>)

\* One entry, on the cell of its key.
RunRecovery(table, Step(_, _), cells, msg) ==
  LET result == Step(cells[table][0], msg)
      writes == IF result.cell = cells[table][0] THEN <<>> ELSE << <<table, 0, result.cell, 1>> >>
  IN  Outcome(result.verdict, 1, FALSE, [cells EXCEPT ![table][0] = result.cell], msg, writes)
================================================================================
