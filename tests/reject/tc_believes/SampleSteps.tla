---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  IF msg.state \in {"Ask", "Open"}
    THEN Forward(cell, [msg EXCEPT !.sure = IF cell.open THEN "Guessed" ELSE "Denied"])
    ELSE Drop(cell, msg)

Find(entries, msg) ==
  CASE msg.state = "Ask" /\ msg.sure # "Known" -> Reply(entries, [msg EXCEPT !.state = IF entries[0].used THEN "Told" ELSE "Late"])
    [] OTHER -> Drop(entries, msg)

\* A message of none of these ends here, with Drop or (which is refused in tc) Forward, or goes on unchanged.
First(cell, msg) ==
  CASE msg.state = "Open" -> Drop(cell, msg)
    [] msg.state = "Ask" /\ cell.open -> Forward(cell, msg)   \* error: First forwards, but only tc runs it, and tc has nobody to forward to; end with Drop, Reply or Continue
    [] OTHER -> Continue(cell, msg)
Second(entry, msg) ==
  CASE msg.state = "Lost" -> Continue([entry EXCEPT !.used = FALSE], msg)   \* error: Second changes its cell for messages whose state is Lost, but no section of user replies with these \* error: Second changes its cell for messages whose sure is Known
    [] msg.sure = "Known" /\ msg.state = "Told" -> Reply(entry, msg)   \* error: Second replies to messages whose sure is Known, but no section of user replies with these
    [] OTHER -> Continue(entry, msg)
\* The section before may be skipped, so that this one gets all that come to it.
Third(cell, msg) ==
  IF msg.state \in {"Ask", "Told"} THEN Reply(cell, msg) ELSE Drop(cell, msg)   \* error: Third replies to messages whose state is Ask, but no section of user replies with these
====
