--------------------------------- MODULE KvMap ---------------------------------
(***************************************************************************)
(* A store as its clients see it: a map, on which requests are executed *)
(* one at a time, writes of a client in their order and each at most once. *)
(* Whether an answer arrives is not said here: a request that is executed  *)
(* somewhere between its sending and its answer is linearizable.           *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
  Keys,
  Clients,
  LengthMax,  \* of a value
  Nothing     \* the operation of a client that has none yet

VARIABLES
  map,    \* key -> [there, version, length, value]; the version of one that is not there is the last that it had
  writes, \* client -> the last write of it that was executed, with its answer
  reads   \* client -> the last read

Init ==
  /\ \A key \in Keys : map[key].there \in BOOLEAN
  /\ writes = [client \in Clients |-> Nothing]
  /\ reads = [client \in Clients |-> Nothing]

\* The answer to an operation.
Answer(op) ==
  LET there == map[op.key].there
  IN  CASE op.request = "Get" -> IF there THEN "Value" ELSE "Missing"
        [] op.length > LengthMax -> "TooLong"
        [] op.request = "Insert" -> IF there THEN "Exists" ELSE "Inserted"
        [] op.request = "Update" -> IF there THEN "Updated" ELSE "Absent"
        [] op.request = "Delete" -> IF there THEN "Deleted" ELSE "Absent"

\* The store may be full, for what needs a place.
Refused(op) == op.answer = "NoRoom" /\ Answer(op) \in {"Inserted", "Updated"}

\* An update's version is the next one, also over a deletion and an insertion it only goes up.
VersionIsRight(op) ==
  LET version == map[op.key].version
  IN  CASE op.answer \in {"Value", "Exists", "Deleted"} -> op.version = version
        [] op.answer = "Updated" -> op.version = version + 1
        [] op.answer = "Inserted" -> op.version > version
        [] OTHER -> TRUE

After(op) ==
  CASE op.answer \in {"Inserted", "Updated"} ->
         [map EXCEPT ![op.key] = [there |-> TRUE, version |-> op.version, length |-> op.length, value |-> op.value]]
    [] op.answer = "Deleted" ->
         [map EXCEPT ![op.key] = [there |-> FALSE, version |-> op.version, length |-> 0, value |-> 0]]
    [] OTHER -> map

Write(client) ==
  LET op == writes'[client]
  IN  /\ op # writes[client]
      /\ \/ op.sequence > writes[client].sequence
         \/ op.sequence = writes[client].sequence /\ op.place > writes[client].place
      /\ op.answer = Answer(op) \/ Refused(op)
      /\ VersionIsRight(op)
      /\ map' = After(op)
      /\ writes' = [writes EXCEPT ![client] = op]
      /\ UNCHANGED reads

Read(client) ==
  LET op == reads'[client]
  IN  /\ op # reads[client]
      /\ op.answer = Answer(op)
      /\ VersionIsRight(op)
      /\ op.answer = "Value" => op.length = map[op.key].length /\ op.value = map[op.key].value
      /\ reads' = [reads EXCEPT ![client] = op]
      /\ UNCHANGED <<map, writes>>

Next == \E client \in Clients : Write(client) \/ Read(client)

vars == <<map, writes, reads>>

Spec == Init /\ [][Next]_vars
=================================================================================
