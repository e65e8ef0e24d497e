-------------------------------- MODULE Limiter --------------------------------
(***************************************************************************)
(* One bucket, a clock, and a network that delivers requests at any time   *)
(* and any number of times.                                                *)
(***************************************************************************)
EXTENDS LimiterHooks

CONSTANTS
  TimeMax,  \* ticks that the model looks at; more than TimeModulus, so that the clock wraps
  Amounts   \* what a request may ask for

VARIABLES
  now,     \* ticks since the start, which do not wrap
  bucket,  \* the cell
  spent    \* tokens that were allowed since the start

vars == <<now, bucket, spent>>

Init ==
  /\ now = 0
  /\ bucket = InitialCell("bucket")
  /\ spent = 0

Tick == now < TimeMax /\ now' = now + 1 /\ UNCHANGED <<bucket, spent>>

Request(amount) ==
  LET result == OnTake(bucket, [BlankMessage EXCEPT !.amount = amount], [now |-> now % TimeModulus])
  IN  /\ bucket' = result.cell
      /\ spent' = IF result.msg.kind = "Allowed" THEN spent + amount ELSE spent
      /\ UNCHANGED now

Next == Tick \/ \E amount \in Amounts : Request(amount)

Spec == Init /\ [][Next]_vars /\ WF_vars(Tick)

----------------------------------------------------------------------------

\* The cell has the type that the layout gives it.
TypeOK == CellOK("bucket", bucket)

\* A bucket never has more tokens than a full one.
Capped == bucket.tokens <= Burst

\* No more is allowed than the bucket gained.
Limited == spent <= Rate * now

\* A bucket that is left alone fills up: a request for all of it is then allowed.
Fills == <>(OnTake(bucket, [BlankMessage EXCEPT !.amount = 1], [now |-> now % TimeModulus]).msg.kind = "Allowed")
================================================================================
