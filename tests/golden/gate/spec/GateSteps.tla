------------------------------- MODULE GateSteps -------------------------------
EXTENDS Offload

CONSTANTS Rows, Places

RowOf(env) == env.peer % Rows

AtGate(row, msg) ==
  CASE msg.kind = "Ask" -> Forward(row, msg)
    [] msg.kind = "Enter" /\ row.guests < Places -> Forward(row, msg)
    [] OTHER -> Drop(row, msg)

Look(row, msg, env) ==
  CASE msg.kind = "Ask" -> Reply(row, [msg EXCEPT !.kind = "Told", !.row = RowOf(env), !.ticket = env.token])
    [] msg.kind # "Enter" -> Drop(row, msg)
    [] env.validated /\ msg.row = RowOf(env) -> Reply(row, [msg EXCEPT !.kind = "Entered", !.ticket = env.token])
    [] OTHER -> Reply(row, [msg EXCEPT !.kind = "Refused"])

Seat(row, msg) ==
  CASE msg.kind \in {"Told", "Refused"} -> Reply(row, msg)
    [] msg.kind = "Entered" /\ row.guests < Places -> Reply([row EXCEPT !.guests = @ + 1], msg)
    [] OTHER -> Drop(row, msg)
===============================================================================
