------------------------------ MODULE LimiterSteps ------------------------------
(***************************************************************************)
(* A token bucket for each key.  A bucket gains Rate tokens a clock tick,  *)
(* never has more than Burst, and starts empty at tick 0.  A request takes *)
(* an amount of tokens, or is denied and takes none.                       *)
(*                                                                         *)
(* A request that the network delivers twice takes twice: the limit holds  *)
(* all the same, and a session would cost more than a token is worth.      *)
(*                                                                         *)
(* Cell: bucket [tokens, filled].                                          *)
(***************************************************************************)
EXTENDS Offload

CONSTANTS
  Burst,       \* tokens in a full bucket
  Rate,        \* tokens a tick
  TimeModulus  \* clock ticks count modulo this

Least(a, b) == IF a < b THEN a ELSE b

\* A bucket that was last filled more than TimeModulus ticks ago looks younger
\* than it is, and so emptier: the limit still holds.
Elapsed(now, filled) == (now + TimeModulus - filled) % TimeModulus

OnTake(bucket, msg, env) ==
  LET level == Least(Burst, bucket.tokens + Rate * Elapsed(env.now, bucket.filled))
  IN
  CASE msg.kind # "Take" ->
         NotARequest :: Drop(bucket, msg)
    [] msg.amount > level ->
         Reply(bucket, [msg EXCEPT !.kind = "Denied"])
    [] OTHER ->
         Reply([bucket EXCEPT !.tokens = level - msg.amount, !.filled = env.now], [msg EXCEPT !.kind = "Allowed"])
==================================================================================
