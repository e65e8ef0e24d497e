--------------------------------- MODULE MCLog ---------------------------------
(* Bounds of the log's models: what models.yaml cannot say. *)
EXTENDS LogGuarantees, TLC

\* The requests of client 0, and of every other client.
Of(first, others) == [client \in Clients |-> IF client = 0 THEN first ELSE others]

Asks1 == Of(1, 1)
Asks2 == Of(2, 2)
Asks3 == Of(3, 3)
Asks21 == Of(2, 1)
Asks10 == Of(1, 0)
Asks02 == Of(0, 2)
Asks03 == Of(0, 3)

InMemory == Of({"Memory"}, {"Memory"})
OnDisk == Of({"Disk"}, {"Disk"})
Either == Of({"Memory", "Disk"}, {"Memory", "Disk"})
Both == Of({"Disk"}, {"Memory"})

\* The second processor has the second of two logs; a third one shares the first.
SecondAndThird == {1, 2}
OnlySecond == {1}

\* A client that puts a place into its requests.
RequestWithPlace(client, level, sequence) ==
  [RequestOf(client, level, sequence, SecretOf(client, clients[client].opens)) EXCEPT !.epoch = 7, !.log = 1, !.number = 5]

\* The messages that one client can send for another: with its own secret.
Forgeries ==
  {Packet(1 - client, [BlankMessage EXCEPT !.kind = "Append", !.client = client, !.sequence = 1, !.secret = 2 - client]) :
     client \in {0, 1}}

\* A stranger without a session asks for one, with the number of client 1.
Openings ==
  {Packet(1, [BlankMessage EXCEPT !.kind = kind, !.client = 1, !.sequence = 40, !.secret = OwnTerms]) : kind \in Opening}
=================================================================================
