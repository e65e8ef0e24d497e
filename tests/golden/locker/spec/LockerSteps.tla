----------------------------- MODULE LockerSteps ------------------------------
EXTENDS Offload

CONSTANTS Short, Long, Boxes, Turns

OnRequest(rack, msg) ==
  CASE msg.kind = "Put" ->
         Forward([rack EXCEPT !.length = msg.length, !.version = (@ + 1) % 256],
                 [msg EXCEPT !.version = (rack.version + 1) % 256])
    [] msg.kind = "Get" ->
         Forward(rack, [msg EXCEPT !.version = rack.version, !.length = rack.length, !.turn = 7, !.box = 1])
    [] msg.kind = "Ask" -> Reply(rack, [msg EXCEPT !.kind = "Done"])
    [] OTHER -> Drop(rack, msg)

Find(rack, msg) ==
  IF msg.kind \notin {"Put", "Get"} \/ msg.number = 99
    THEN Drop(rack, msg)
    ELSE Continue(rack, [msg EXCEPT !.row = rack.row])

Reserve(boxes, msg) ==
  LET loose == FirstIndex(1, Boxes, 0, LAMBDA i : boxes.marks[i] = "Loose")
  IN
  CASE msg.kind = "Get" -> Taken :: Continue(boxes, msg)
    [] loose = 0 -> NoBox :: Reply(boxes, [msg EXCEPT !.kind = "Full"])
    [] OTHER -> Continue([boxes EXCEPT !.turn = (@ + 1) % Turns],
                         [msg EXCEPT !.box = loose, !.turn = (boxes.turn + 1) % Turns])

Keep(content, msg, env) ==
  CASE msg.box \notin 1..Boxes -> Drop(content, msg)
    [] msg.kind = "Get" -> Reply(content, [msg EXCEPT !.body = content.bytes[msg.box]])
    [] msg.body = content.bytes[msg.box] -> Same :: Reply(content, [msg EXCEPT !.kind = "Done"])
    [] OTHER -> Reply([content EXCEPT !.bytes[msg.box] = msg.body, !.last = env.now],
                      [msg EXCEPT !.kind = "Done"])

Close(boxes, msg) ==
  IF msg.kind \in {"Get", "Done", "Full"} /\ msg.box \in 1..Boxes /\ msg.turn = boxes.turn
    THEN Reply([boxes EXCEPT !.marks[msg.box] = "Held"], msg)
    ELSE Drop(boxes, msg)
===============================================================================
