------------------------------ MODULE VotesSteps ------------------------------
EXTENDS Offload

CONSTANT MaxVoters

Answer(box, msg, kind) == Reply(box, [msg EXCEPT !.kind = kind])

Counted(box, msg) ==
  Answer([box EXCEPT !.voters = @ \cup {msg.voter}, !.total = (@ + msg.weight) % 256], msg, "Counted")

Cast(box, msg, env) ==
  CASE msg.kind # "Vote" -> NoVote :: Drop(box, msg)
    [] box.closing # 0 /\ env.now >= box.closing -> TooLate :: Answer(box, msg, "Late")
    [] msg.voter \in box.voters -> Answer(box, msg, "Again")
    [] Cardinality(box.voters) < MaxVoters -> Counted(box, msg)
    [] OTHER -> Full :: Forward(box, msg)

Find(spill, msg) ==
  LET free == FirstIndex(1, 15, 0, LAMBDA i : ~ spill[i].used)
  IN  IF msg.kind # "Vote" \/ free = 0 THEN Drop(spill, msg) ELSE Reply(spill, [msg EXCEPT !.weight = free])

Keep(spill, msg) ==
  IF msg.kind # "Vote" \/ spill.used
    THEN Drop(spill, msg)
    ELSE Reply([spill EXCEPT !.used = TRUE, !.box = msg.box], [msg EXCEPT !.kind = "Counted"])

Close(box, msg, env) ==
  IF box.closing # 0 /\ env.now >= box.closing
    THEN Continue([box EXCEPT !.voters = {}, !.closing = 0], msg)
    ELSE Drop(box, msg)

Look(spill, msg) ==
  IF spill.used THEN Continue(spill, [msg EXCEPT !.box = spill.box]) ELSE Drop(spill, msg)

Reopen(box, msg) == Continue([box EXCEPT !.total = 0], msg)
===============================================================================
