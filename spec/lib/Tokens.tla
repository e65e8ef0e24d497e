-------------------------------- MODULE Tokens --------------------------------
(***************************************************************************)
(* env.token and env.validated in the models: a token is a number that     *)
(* says whom it was made for.  In the program it is from a keyed hash of   *)
(* the address (runtime/base/peers.c), and nobody else can tell.                *)
(***************************************************************************)
EXTENDS Integers

PeersMax == 16

\* The n-th token that was made for a peer of 0..PeersMax-1.  0 means no token.
TokenOf(peer, n) == PeersMax * n + peer + 1

MadeFor(token, peer) == token > 0 /\ (token - 1) % PeersMax = peer
===============================================================================
