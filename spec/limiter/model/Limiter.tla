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
  spent,   \* tokens that were allowed since the start
  ideal    \* the bucket as it would be if the clock had not wrapped since something was last taken from it

vars == <<now, bucket, spent, ideal>>

Init ==
  /\ now = 0
  /\ bucket = InitialCell("bucket")
  /\ spent = 0
  /\ ideal = [tokens |-> 0, filled |-> 0]

Tick == now < TimeMax /\ now' = now + 1 /\ UNCHANGED <<bucket, spent, ideal>>

\* The result of the step for a message that arrives now.
Taken(message) == OnTake(bucket, message, [now |-> now % TimeModulus, index |-> 0, random |-> 0])

Take(amount) == [BlankMessage EXCEPT !.kind = "Take", !.amount = amount]

\* The tokens that the ideal bucket has now.
IdealLevel ==
  LET level == ideal.tokens + Rate * (now - ideal.filled)
  IN  IF level > Burst THEN Burst ELSE level

IsYoung == now - ideal.filled < TimeModulus

Request(message) ==
  LET result == Taken(message)
      allowed == result.msg.kind = "Allowed" /\ message.kind = "Take"
      left == IF IsYoung THEN IdealLevel - message.amount ELSE result.cell.tokens
  IN  /\ bucket' = result.cell
      /\ spent' = IF allowed THEN spent + message.amount ELSE spent
      /\ ideal' = IF allowed THEN [tokens |-> left, filled |-> now] ELSE ideal
      /\ UNCHANGED now

\* Answers come back as requests.
Echo(kind) == [BlankMessage EXCEPT !.kind = kind, !.amount = 1]

Next ==
  \/ Tick
  \/ \E amount \in Amounts : Request(Take(amount))
  \/ \E kind \in {"Allowed", "Denied"} : Request(Echo(kind))

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------

\* The cell has the type that the layout gives it.
TypeOK == CellOK("bucket", bucket)

\* A bucket never has more tokens than a full one.
Capped == bucket.tokens <= Burst

\* No more is allowed than the bucket gained.
Limited == spent <= Rate * now

\* A request is answered that it is allowed or denied, in a message that is otherwise the same. Only a request that is
\* allowed changes the bucket.
Answers ==
  \A amount \in Amounts :
    LET result == Taken(Take(amount))
    IN  /\ result.verdict = "Reply"
        /\ \E kind \in {"Allowed", "Denied"} : result.msg = [Take(amount) EXCEPT !.kind = kind]
        /\ result.msg.kind = "Denied" => result.cell = bucket

\* An answer that comes back as a request gets no answer, and changes nothing.
OthersChangeNothing ==
  \A kind \in {"Allowed", "Denied"} : Taken(Echo(kind)).verdict = "Drop" /\ Taken(Echo(kind)).cell = bucket

\* A request is allowed if and only if the bucket has gained the tokens that it asks for. A bucket from which nothing was
\* taken for a whole turn of the clock may have fewer.
Exact ==
  IsYoung => \A amount \in Amounts : (Taken(Take(amount)).msg.kind = "Allowed") = (amount <= IdealLevel)
================================================================================
