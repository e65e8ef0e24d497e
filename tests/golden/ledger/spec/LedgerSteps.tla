---- MODULE LedgerSteps ----
EXTENDS Offload, Integers
CONSTANTS Lanes, Slots, LastNumber
SlotOf(lane, number) == lane * Slots + (number % Slots)
\* XDP takes a number, writes the row of that number's slot, and says so.
Room(drained, msg) ==
  CASE msg.kind = "Add" -> Continue(drained, [msg EXCEPT !.epoch = drained.epoch, !.number = 0,
                                                         !.limit = IF drained.epoch = 0 THEN 0 ELSE drained.number + Slots])
    [] msg.kind = "Ask" -> Forward(drained, msg)
    [] OTHER -> NotARequest :: Drop(drained, msg)
Reserve(head, msg) ==
  IF head.given >= msg.limit \/ head.given >= LastNumber
    THEN NoRoom :: Continue(head, msg)
    ELSE Continue([head EXCEPT !.given = @ + 1],
                  [msg EXCEPT !.number = head.given + 1, !.slot = SlotOf(msg.lane, head.given + 1)])
Write(row, msg) ==
  IF msg.number = 0
    THEN Continue(row, msg)
    ELSE Continue([row EXCEPT !.account = msg.account, !.version = msg.version, !.mood = msg.mood, !.paid = msg.paid,
                              !.sign = msg.sign, !.text = msg.text], msg)
Stamp(stamp, msg) ==
  IF msg.number = 0
    THEN Reply(stamp, [msg EXCEPT !.kind = "Full"])
    ELSE Reply([stamp EXCEPT !.number = msg.number], [msg EXCEPT !.kind = "Added"])
\* The daemon's answer: is it on the disk?
Await(synced, msg) ==
  CASE msg.kind # "Ask" -> NotForwarded :: Drop(synced, msg)
    [] synced.epoch = msg.epoch /\ msg.number <= synced.number -> Reply(synced, [msg EXCEPT !.kind = "Stored"])
    [] OTHER -> NotYet :: Drop(synced, msg)
\* Its drain.
Next(drained, msg) ==
  LET before == IF msg.number > drained.number THEN msg.number ELSE drained.number
  IN  IF drained.epoch = 0 \/ before >= LastNumber
        THEN NoMore :: Drop(drained, msg)
        ELSE Continue(drained, [msg EXCEPT !.epoch = drained.epoch, !.number = before + 1, !.slot = SlotOf(msg.lane, before + 1)])
Look(stamp, msg) ==
  IF stamp.number = msg.number THEN Continue(stamp, msg) ELSE NotWritten :: Drop(stamp, msg)
Take(row, msg) ==
  Reply(row, [msg EXCEPT !.account = row.account, !.version = row.version, !.mood = row.mood, !.paid = row.paid,
                         !.sign = row.sign, !.text = row.text])
Reached(mark, msg) ==
  IF mark.epoch = msg.epoch /\ mark.number < msg.number
    THEN Continue([mark EXCEPT !.number = msg.number], msg)
    ELSE Drop(mark, msg)
Begun(mark, msg) ==
  IF mark.epoch = 0 THEN Continue([mark EXCEPT !.epoch = msg.epoch], msg) ELSE Drop(mark, msg)
\* Recovery.
Newer(entry, msg) ==
  IF entry.version < msg.version
    THEN Continue([entry EXCEPT !.version = msg.version, !.mood = msg.mood, !.paid = msg.paid, !.sign = msg.sign, !.text = msg.text], msg)
    ELSE Older :: Drop(entry, msg)
====
