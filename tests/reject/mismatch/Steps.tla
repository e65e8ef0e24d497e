---- MODULE Steps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE cell.count                                         \* error: u8 where bool is needed
         -> Reply([cell EXCEPT !.open = 1], msg)          \* error: an integer where bool is needed
    [] msg.number \in cell.key                            \* error: bytes of 8 where a set is needed
         -> Reply([cell EXCEPT !.count = "Idle"], msg)    \* error: the string "Idle" where u8 is needed
    [] cell.members \cup cell.marks = {}                  \* error: bits of 16 where a set of u14 is needed
         -> Reply(cell, cell)                             \* error: record cell_cell where record message is needed
    [] cell.count.low = 3                                 \* error: field low of u8; only a record has fields
         -> Reply([cell EXCEPT !.count[1] = 3], msg)      \* error: an index into u8
    [] "Idle" \in cell.count -> Drop(cell, msg)            \* error: u8 where a set is needed
    [] OTHER -> Drop(cell, msg)
====
