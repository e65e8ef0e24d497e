---- MODULE SampleSteps ----
EXTENDS Offload

Step(cell, msg) ==
  CASE cell.open /\ Cardinality(cell.members) <= 4
         -> Reply([cell EXCEPT !.members = @ \cup {msg.client}], msg)  \* error: members may get 5 elements, but holds at most 4; test its size first, for example `Cardinality(S) < N`, or give it a greater `max` in the layout
    [] cell.count = 7
         -> Reply([cell EXCEPT !.members = ({1, 2} \cup @) \ {1, 2}], msg)  \* error: members may get 6 elements, but holds at most 4; test its size first
    [] Len(cell.queue) # 3
         -> Reply([cell EXCEPT !.queue = Append(@, msg.client)], msg)  \* error: queue may get 5 elements, but holds at most 4; test its length first
    [] OTHER -> Drop(cell, msg)
====
