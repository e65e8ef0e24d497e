----------------------------- MODULE MCLimiterFaults -----------------------------
(* Rules that are wrong, each for a model that must fail. *)
EXTENDS Limiter

\* A bucket that never overflows has no room for what it holds.
Uncapped(a, b) == b

\* Taken for a whole turn of the clock, whatever it was.
Unwrapped(later, earlier) == IF later >= earlier THEN later - earlier ELSE TimeModulus

===================================================================================
