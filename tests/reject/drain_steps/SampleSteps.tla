---- MODULE SampleSteps ----
EXTENDS Offload

Step(row, msg) == Continue(row, msg)
Next(mark, msg) ==
  IF mark.epoch = 0
    THEN Reply(mark, msg) \* error: Next ends with Reply in the drain; it must end with Continue or Drop there
    ELSE Continue([mark EXCEPT !.number = 0], \* error: Next changes a cell of drained, which the drain only reads
                  [msg EXCEPT !.number = 1, !.lane = 2]) \* error: Next changes msg.lane, which names the lane that is drained
Take(row, msg) == Continue(row, [msg EXCEPT !.value = row.value]) \* error: Take ends with Continue in the drain; it must end with Reply or Drop there
Reached(mark, msg) == Continue([mark EXCEPT !.number = msg.value], msg) \* error: Reached reads msg.value, which is zero there: the drain sets only epoch, lane, number
Begun(mark, msg) == Continue([mark EXCEPT !.epoch = msg.epoch, !.number = msg.number], msg) \* error: Begun reads msg.number, which is zero there: the drain sets only epoch, lane
Newer(found, msg) == Continue([found EXCEPT !.stored = msg.other], msg) \* error: Newer reads msg.other, which is not in `drain.entry`
====
