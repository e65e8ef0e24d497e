"""A user's own protocol conforms whose hooks hand fields over, with cells that are arrays of records under locks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.conform import __main__ as command
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign
from harness.conform.domain import DomainError
from harness.data.cells import FORMS, LAYOUT
from harness.data.packing import fields_size, message_size

STEPS = """---- MODULE CloakroomSteps ----
EXTENDS Offload
CONSTANTS Pegs, Boxes, Rounds
\\* A coat hangs on a peg of the hall, or lies in a box of the cellar.
PegOf(hall, coat) == FirstIndex(1, Pegs, 0, LAMBDA i : hall.pegs[i].taken /\\ hall.pegs[i].coat = coat)
OnRequest(hall, msg) ==
  LET peg == PegOf(hall, msg.coat)
  IN  CASE msg.kind # "Fetch" -> NotARequest :: Drop(hall, msg)
        [] peg > 0 -> Reply([hall EXCEPT !.pegs[peg].taken = FALSE, !.round = (@ + 1) % Rounds],
                            [msg EXCEPT !.kind = "Fetched", !.label = hall.pegs[peg].label])
        [] OTHER -> Forward(hall, [msg EXCEPT !.round = hall.round,
                                              !.free = {i \\in 0..Pegs - 1 : ~ hall.pegs[i + 1].taken}])
Find(cellar, msg, env) ==
  LET box == FirstIndex(1, Boxes, 0, LAMBDA j : cellar.boxes[j].coat = msg.coat /\\ cellar.boxes[j].hash = msg.hash)
  IN  CASE msg.kind # "Fetch" -> NotForwarded :: Drop(cellar, msg)
        [] msg.free = {} -> Crowded :: Drop(cellar, msg)
        [] box = 0 -> Reply(cellar, [msg EXCEPT !.box = 0])
        [] OTHER -> Reply(cellar, [msg EXCEPT !.box = box, !.label = cellar.boxes[box].label])
OnAnswer(hall, msg) ==
  CASE msg.kind # "Fetch" \\/ msg.round # hall.round -> Late :: Drop(hall, msg)
    [] msg.box = 0 -> Reply(hall, [msg EXCEPT !.kind = "Nothing"])
    [] OTHER -> Reply([hall EXCEPT !.round = (@ + 1) % Rounds], [msg EXCEPT !.kind = "Fetched", !.free = {}])
====
"""
LAYOUT_TEXT = """
protocol: cloakroom
module: CloakroomSteps
constants: {Pegs: 3, Boxes: 2, Rounds: 100}
types: {label: {bytes: 11}}
message: {kind: {enum: [Fetch, Fetched, Nothing]}, coat: u64, label: label}
handover: {round: u7, box: u3, free: {bits: Pegs}}
local:
  slot: {type: u32, from: "hash(msg.coat, hall.capacity)"}
  hash: {type: u2, from: "hash(msg.coat, 4, lower)"}
  place: {type: u32, from: "hash(msg.slot, cellar.capacity)"}
tables:
  hall:
    cell: {round: u7, pegs: {array: {record: {taken: bool, coat: u64, label: label}}, size: Pegs}}
    map: array
    capacity: 64
    index: msg.slot
    atomic: res_spin_lock
  cellar:
    cell: {boxes: {array: {record: {hash: u2, coat: u64, label: label}}, size: Boxes}}
    map: array
    capacity: 16
    index: msg.place
    atomic: spin_lock
hooks: {xdp: [{hall: OnRequest}], user: {cellar: Find, reads: cell}, tc: [{hall: OnAnswer}]}
wire: {transport: udp, port: 20298, order: [kind, coat, label]}
budget: {xdp: {insns: 3000, states: 200, stack: 384}, tc: {insns: 3000, states: 200, stack: 384}}
"""
CONFORM = """
small: {tables: {hall: {capacity: 3}, cellar: {capacity: 2}}}
variants:
  one peg: {constants: {Pegs: 1}}
values:
  hall.round: [0, 5, 99]
  hall.pegs.coat: [=message.coat, 1, 2]
  cellar.boxes.coat: [=message.coat, =message.coat, 5]
  cellar.boxes.hash: [=message.hash, 1]
  message.round: [0, 5, 99, 127]
families:
  - name: at the door
    hook: xdp
    vary: {message.kind: all, message.coat: all, message.label: [0, 3], hall.round: all, hall.pegs.2.taken: all, hall.pegs.2.coat: all}
    together:
      - - {hall.pegs.1.taken: true, hall.pegs.1.label: 4}
        - {hall.pegs.1.taken: false, hall.pegs.1.label: 0}
  - name: any hall
    hook: xdp
    sample: 300
    vary: {message.coat: all, hall.round: all, hall.pegs: all}
  - name: in the cellar
    hook: user
    sample: 600
    vary: {message.kind: [Fetch, Fetch, Fetch, Nothing], message.coat: [0, 1, 7], message.round: all, message.free: [[], [0], [0, 2]],
           cellar.boxes: all}
  - name: on the way out
    hook: tc
    given: {message.coat: 4, message.label: 2}
    vary: {message.kind: all, message.round: all, message.box: [0, 1, 7], message.free: all, hall.round: all, hall.pegs.1.taken: all}
  - name: the hall is crowded
    hook: xdp
    contended: 1
    vary: {message.kind: all, hall.pegs.1.taken: all}
samples: 60
variant_samples: 40
pairs_min: 500
"""


@pytest.fixture(scope="module")
def cloakroom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The protocol, in a spec/ of its own."""
    folder = tmp_path_factory.mktemp("handover")
    shutil.copytree(ROOT / "spec/lib", folder / "spec/lib")
    spec = folder / "spec/cloakroom"
    spec.mkdir()
    for name, text in (("CloakroomSteps.tla", STEPS), ("layout.yaml", LAYOUT_TEXT), ("conform.yaml", CONFORM)):
        (spec / name).write_text(text)
    return spec


def test_it_conforms_in_every_form_and_variant(cloakroom, work):
    campaign = Campaign(cloakroom, work)
    results = campaign.results()
    assert [result.name for result in results] == [*FORMS, "one peg", "as shipped, seed 1"]
    assert [command.show("cloakroom", result) for result in results] == [[]] * 5
    assert command.show_pairs("cloakroom", results[:3], campaign.text.pairs_min) == []
    assert results[0].inputs["xdp"] == results[1].inputs["xdp"] + 6, "a spin_lock is never lost to another"
    assert results[3].inputs == {"xdp": 86, "user": 40, "tc": 40}
    assert results[4].inputs == {"xdp": 120, "user": 60, "tc": 60}


def test_handed_over_fields_follow_the_others(cloakroom):
    shipped = Campaign(cloakroom, cloakroom).shipped
    assert fields_size(shipped, shipped.wire) == 1 + 8 + 11
    assert message_size(shipped) == 1 + 8 + 11 + 1 + 1 + 1


DECODED = "\treturn message->kind <= CLOAKROOM_MESSAGE_KIND_NOTHING"
STORE = "stepwise_correct_checksum(udp,\n\t\t\t\t  cloakroom_store_handover((unsigned char *)(udp + 1), message));"


@pytest.mark.parametrize(
    "file, old, new, said",
    [
        (
            "cloakroom_codec.h",
            DECODED,
            f"\tmessage->box = payload[CLOAKROOM_WIRE_BOX] & 7;\n{DECODED}",
            "message found",
        ),
        ("cloakroom.bpf.c", STORE, f"if (0)\n\t\t{STORE}", "packet: payload: expected"),
        (
            "cloakroom.bpf.c",
            STORE,
            "cloakroom_store_handover((unsigned char *)(udp + 1), message);",
            "packet: UDP checksum: expected",
        ),
        (
            "cloakroom_codec.h",
            "\tmessage->box = stepwise_read(payload + CLOAKROOM_WIRE_BOX, 1);\n",
            "",
            "family 'on the way out'",
        ),
        ("cloakroom_codec.h", "\tstepwise_write(payload + CLOAKROOM_WIRE_BOX, 1, message->box);\n", "", "userspace"),
        ("cloakroom_user.c", "message.place, &element", "message.place ^ 1, &element", "family 'in the cellar'"),
        ("cloakroom_codec.h", "stepwise_hash(slot, 2)", "stepwise_hash(slot, 1)", "family 'in the cellar'"),
        ("cloakroom_codec.h", "stepwise_hash_lower(coat, 4)", "stepwise_hash(coat, 4)", "family 'in the cellar'"),
    ],
)
def test_what_is_handed_over_wrongly_is_found_out(cloakroom, work, tmp_path, file, old, new, said):
    (work / "oracle").mkdir(exist_ok=True)
    # in a folder of its own, since a library is loaded once by its path
    (tmp_path / "oracle").symlink_to(work / "oracle")
    result = Campaign(cloakroom, tmp_path, stop_early=True, edits=((file, old, new),)).small(LAYOUT)
    assert result.mismatches, "it conforms"
    assert said in str(result.mismatches[0])


def test_what_a_client_hands_over_cannot_be_given(cloakroom, work):
    path = cloakroom / "conform.yaml"
    path.write_text(CONFORM.replace("hook: xdp\n    sample", "hook: xdp\n    given: {message.round: 5}\n    sample"))
    try:
        with pytest.raises(
            DomainError, match="message.round is a handover field, zero in xdp, whatever the packet has there"
        ):
            Campaign(cloakroom, work).stage(LAYOUT)
    finally:
        path.write_text(CONFORM)
