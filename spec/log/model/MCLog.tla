--------------------------------- MODULE MCLog ---------------------------------
(* Bounds of the log's models: what models.yaml cannot say. *)
EXTENDS LogGuarantees, TLC

\* The requests of client 0, and of every other client.
Of(first, others) == [client \in Clients |-> IF client = 0 THEN first ELSE others]

Asks1 == Of(1, 1)
Asks2 == Of(2, 2)
Asks3 == Of(3, 3)
Asks21 == Of(2, 1)

InMemory == Of({"Memory"}, {"Memory"})
OnDisk == Of({"Disk"}, {"Disk"})
Either == Of({"Memory", "Disk"}, {"Memory", "Disk"})
Both == Of({"Disk"}, {"Memory"})

\* The messages that one client can send for another: with its own secret.
Forgeries ==
  {Packet(1 - client, [BlankMessage EXCEPT !.kind = "Append", !.client = client, !.sequence = 1, !.secret = 2 - client]) :
     client \in {0, 1}}
=================================================================================
