---- MODULE MadeSteps ----
EXTENDS Offload

Step1(row, msg) ==
  CASE msg.kind = "Tell" -> Forward(row, msg)
    [] row.left = 6 \/ 6 # row.left \/ row.left >= row.right -> Reply(row, [msg EXCEPT !.kind = "Tell"])
    [] OTHER -> Drop(row, msg)

Step2(row, msg) ==
  CASE msg.kind = "Ask" -> Drop(row, msg)
    [] ~ (row.left = 6 \/ 6 # row.left \/ row.left >= row.right) -> Reply(row, msg)
    [] OTHER -> Drop(row, msg)

Step3(row, msg) == Drop(row, msg)
====
