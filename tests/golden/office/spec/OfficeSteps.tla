---- MODULE OfficeSteps ----
EXTENDS Offload
CONSTANTS Turns, Cabinets
\* A desk's sheet and the note that its turn names belong to whoever made it Busy, or Away, until it is neither.
Sit(desk, msg, env) ==
  CASE msg.kind \notin {"Write", "Ask"} -> NotARequest :: Drop(desk, msg)
    [] desk.state # "Free" -> Taken :: Reply(desk, [msg EXCEPT !.kind = "Refused"])
    [] OTHER -> Continue([desk EXCEPT !.state = "Busy", !.turn = (@ + 1) % Turns],
                         [msg EXCEPT !.cabinet = env.cpu % Cabinets, !.note = desk.turn % Cabinets])
Write(sheet, msg) ==
  IF msg.kind = "Write"
    THEN Continue([sheet EXCEPT !.title = msg.title, !.number = msg.number, !.pages[1] = msg.number], msg)
    ELSE Continue(sheet, [msg EXCEPT !.number = sheet.pages[1]])
File(note, msg) == Continue([note EXCEPT !.title = msg.title, !.cabinet = msg.cabinet], [msg EXCEPT !.former = note.number])
Rise(desk, msg) ==
  IF msg.kind = "Ask"
    THEN Forward([desk EXCEPT !.state = "Away"], msg)
    ELSE Reply([desk EXCEPT !.state = "Free"], [msg EXCEPT !.kind = "Written"])
\* The daemon's.
Look(desk, msg) ==
  CASE msg.kind # "Ask" -> NotForwarded :: Drop(desk, msg)
    [] desk.state = "Away" -> Continue(desk, msg)
    [] OTHER -> Gone :: Drop(desk, msg)
Fill(sheet, msg, env) ==
  Continue([sheet EXCEPT !.number = msg.number, !.pages[2] = sheet.pages[1]], [msg EXCEPT !.title = sheet.title])
Lay(desk, msg) == Reply([desk EXCEPT !.turn = (@ + 1) % Turns], [msg EXCEPT !.kind = "Written"])
\* tc.
Back(desk, msg) ==
  IF msg.kind = "Written" /\ desk.state = "Away"
    THEN Continue(desk, [msg EXCEPT !.note = desk.turn % Cabinets])
    ELSE NotAway :: Drop(desk, msg)
Sign(note, msg) == Continue([note EXCEPT !.number = msg.number], msg)
Free(desk, msg) == Reply([desk EXCEPT !.state = "Free"], msg)
\* In the evening.
Close(desk, msg) ==
  IF desk.state = "Away" THEN Continue([desk EXCEPT !.state = "Busy"], [msg EXCEPT !.note = desk.turn % Cabinets]) ELSE Drop(desk, msg)
Clear(note, msg) == Continue([note EXCEPT !.title = 0, !.number = msg.number], [msg EXCEPT !.number = note.number])
Open(desk, msg) == Continue([desk EXCEPT !.state = "Free"], msg)
Weed(sheet, msg) ==
  IF sheet.number = 0 THEN Drop(sheet, msg) ELSE Continue([sheet EXCEPT !.number = 0], [msg EXCEPT !.desk = sheet.number % 2])
Note(desk, msg) == Continue([desk EXCEPT !.turn = 0], msg)
====
