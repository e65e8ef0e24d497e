---- MODULE SampleSteps ----
EXTENDS Offload

Xdp(cell, msg) == Continue(cell, msg)
MessageDecode(cell, msg) == Continue(cell, msg)
MessageAnything(cell, msg) == Continue(cell, msg)
HashWhere(cell, msg) == Continue(cell, msg)
CellAt(cell, msg) == Continue(cell, msg)
SlotEqual(cell, msg) == Continue(cell, msg)
XdpStep(cell, msg) == Continue(cell, msg)
Sweep_2(cell, msg) == Continue(cell, msg)
OnRequest(cell, msg) == Continue(cell, msg)
On_Request(cell, msg) == Continue(cell, msg)
U14_Set_4_Has(cell, msg) == Continue(cell, msg)
Tc(entry, msg) == Continue(entry, msg)
Take(cell, msg) == Continue(cell, msg)
TakeOnCell(cell, msg) == Drop(cell, msg)
====
