---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE cell.count                                         \* error: expected bool, found u8
         -> Reply([cell EXCEPT !.open = 1], msg)          \* error: expected bool, found an integer
    [] msg.number \in cell.key                            \* error: expected a set, found bytes of 8
         -> Reply([cell EXCEPT !.count = "Idle"], msg)    \* error: expected u8, found the string "Idle"
    [] [cell EXCEPT !.members = cell.marks].open          \* error: expected a set of u14, found bits of 16
         -> Reply(cell, cell)                             \* error: expected record message, found record cell_cell
    [] cell.count.low = 3                                 \* error: field low is selected from u8; only a record has fields
         -> Reply([cell EXCEPT !.count[1] = 3], msg)      \* error: u8 has no index
    [] "Idle" \in cell.count -> Drop(cell, msg)            \* error: expected a set, found u8
    [] OTHER -> Drop(cell, msg)
====
