------------------------------- MODULE Offload -------------------------------
(***************************************************************************)
(* The vocabulary of a step.  A step is a pure operator                    *)
(*                                                                         *)
(*     Step(cell, msg)   or   Step(cell, msg, env)                         *)
(*                                                                         *)
(* that says what becomes of one cell of one table, and of the message,    *)
(* in one atomic section of a hook.  env holds what is not in the message  *)
(* or the cell: env.now (clock ticks), env.random, env.index (the index of *)
(* the cell), and whatever else the layout lists under env.  A hook is a   *)
(* row of sections, given in the layout; the message is handed from one to *)
(* the next.                                                               *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

Result(verdict, cell, msg) == [verdict |-> verdict, cell |-> cell, msg |-> msg]

\* Go on with the next section of the hook.
Continue(cell, msg) == Result("Continue", cell, msg)

\* Answer the sender: XDP_TX in XDP, on to the wire in TC, send in userspace.
Reply(cell, msg) == Result("Reply", cell, msg)

\* Leave it to the rare path: XDP_PASS to the daemon's socket.
Forward(cell, msg) == Result("Forward", cell, msg)

\* Nobody gets an answer: XDP_DROP in XDP, TC_ACT_SHOT in TC.
Drop(cell, msg) == Result("Drop", cell, msg)

\* The least i of low..high for which Test(i) holds; otherwise none.
FirstIndex(low, high, none, Test(_)) ==
  IF \E i \in low..high : Test(i)
    THEN CHOOSE i \in low..high : Test(i) /\ \A j \in low..(i - 1) : ~ Test(j)
    ELSE none

\* How many i of low..high there are for which Test(i) holds.
CountIndex(low, high, Test(_)) == Cardinality({i \in low..high : Test(i)})
==============================================================================
