-------------------------------- MODULE KvSteps --------------------------------
(***************************************************************************)
(* The store of one server: StoreSteps, and several operations in one      *)
(* message.  Each operation is a request of its own, on its own key.  One  *)
(* that the bucket cannot answer stays as it is, and its client asks for   *)
(* it alone.                                                               *)
(*                                                                         *)
(* Fetch gets keys, any number of times and in no order.  Gather may write *)
(* as well, at most once: what became of each operation is noted with the  *)
(* session, for when the request is sent again.  A value is not noted, so  *)
(* what a Gather gets is told once.                                        *)
(*                                                                         *)
(* Cells: noted [sequence, version, outcome].                              *)
(***************************************************************************)
EXTENDS StoreSteps

CONSTANTS
  Operations  \* of one message

Alone == {"Get", "Insert", "Update", "Delete"}

OnRequest(bucket, msg) ==
  IF msg.kind \in Alone
    THEN RequestIn(bucket, msg, RoomIn(bucket), Victim)
    ELSE NotAlone :: Continue(bucket, msg)

(***************************************************************************)
(* Several at once                                                         *)
(***************************************************************************)

\* Each session has a place for each operation of a message.
NotePlace(answer, msg, env) == Continue(answer, [msg EXCEPT !.note = Operations * msg.client + env.position])

\* An operation that the bucket cannot answer stays as it came: the daemon does not hear of it.
Answerable(bucket, msg) ==
  RequestElse(bucket, msg, RoomIn(bucket), LAMBDA way : Continue(bucket, msg), LAMBDA room : Continue(bucket, msg))

OnFetched(bucket, msg) ==
  IF msg.kind = "Get" THEN Answerable(bucket, msg) ELSE NotAGet :: Continue(bucket, msg)

OnOperation(bucket, msg) ==
  IF msg.kind \in Alone THEN Answerable(bucket, msg) ELSE Neither :: Continue(bucket, msg)

Note(noted, msg) ==
  Continue([noted EXCEPT !.sequence = msg.sequence,
                         !.version = msg.version,
                         !.outcome = CASE msg.kind \in {"Inserted", "Updated", "Deleted"} -> "Done"
                                       [] msg.kind \in {"Exists", "Absent"} -> "Refused"
                                       [] msg.kind = "TooLong" -> "TooLong"
                                       [] OTHER -> "Alone"],
           msg)

\* The request was sent again: its operations are answered as they were, unless another one was noted since.
Recollect(noted, msg) ==
  LET told == [msg EXCEPT !.version = noted.version]
  IN
  CASE noted.sequence # msg.sequence -> Overtaken :: Continue(noted, [msg EXCEPT !.overtaken = TRUE])
    [] noted.outcome = "TooLong" -> Continue(noted, [msg EXCEPT !.kind = "TooLong"])
    [] noted.outcome = "Done" ->
         Continue(noted, [told EXCEPT !.kind = CASE msg.kind = "Insert" -> "Inserted"
                                                 [] msg.kind = "Update" -> "Updated"
                                                 [] OTHER -> "Deleted"])
    [] noted.outcome = "Refused" ->
         Continue(noted, [told EXCEPT !.kind = IF msg.kind = "Insert" THEN "Exists" ELSE "Absent"])
    [] OTHER -> StillAlone :: Continue(noted, msg)

RecallOne(answer, msg) == IF msg.kind = "Gathered" THEN Several :: Continue(answer, msg) ELSE Recall(answer, msg)

Recalled(answer, msg) ==
  CASE msg.kind # "Gathered" -> NotRecalled :: Continue(answer, msg)
    [] msg.overtaken -> MovedPast :: Drop(answer, msg)
    [] OTHER -> Reply(answer, msg)

Conclude(answer, msg) ==
  CASE msg.kind = "Fetch" -> Continue(answer, [msg EXCEPT !.kind = "Fetched"])
    [] msg.kind = "Gather" -> Continue(answer, [msg EXCEPT !.kind = "Gathered"])
    [] OTHER -> NotGathered :: Continue(answer, msg)
================================================================================
