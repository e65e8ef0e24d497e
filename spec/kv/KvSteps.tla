-------------------------------- MODULE KvSteps --------------------------------
(* The store of one server: StoreSteps, for requests alone and for several in one message. *)
EXTENDS StoreSteps

Alone == {"Get", "Insert", "Update", "Delete"}

OnRequest(bucket, msg) ==
  IF msg.kind \in Alone
    THEN RequestIn(bucket, msg, RoomIn(bucket), Victim)
    ELSE NotAlone :: Continue(bucket, msg)

(***************************************************************************)
(* Several at once                                                         *)
(***************************************************************************)

\* An operation that the bucket cannot answer stays as it came: the daemon does not hear of it.
Answerable(bucket, msg) ==
  RequestElse(bucket, msg, RoomIn(bucket), LAMBDA way : Continue(bucket, msg), LAMBDA room : Continue(bucket, msg))

OnFetched(bucket, msg) ==
  IF msg.kind = "Get" THEN Answerable(bucket, msg) ELSE NotAGet :: Continue(bucket, msg)

OnOperation(bucket, msg) ==
  IF msg.kind \in Alone THEN Answerable(bucket, msg) ELSE Neither :: Continue(bucket, msg)

Note(noted, msg) ==
  NoteAs(noted, msg, CASE msg.kind \in {"Inserted", "Updated", "Deleted"} -> "Done"
                       [] msg.kind \in {"Exists", "Absent"} -> "Refused"
                       [] msg.kind = "TooLong" -> "TooLong"
                       [] OTHER -> "Alone")

Recollect(noted, msg) ==
  RecollectAs(noted, msg,
              CASE msg.kind = "Insert" -> "Inserted" [] msg.kind = "Update" -> "Updated" [] OTHER -> "Deleted",
              IF msg.kind = "Insert" THEN "Exists" ELSE "Absent")
================================================================================
