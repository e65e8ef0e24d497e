"""A user's own protocol conforms whose daemon steps its own cells and words, and keeps what follows a message."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.conform import __main__ as command
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign
from harness.conform.malformed_packets import GarbageRun
from harness.conform.tails import ShortPatterns
from harness.data.cells import FORMS, LAYOUT
from harness.data.model_values import Patterns, tail_size

SPEC = ROOT / "tests/golden/locker/spec"
CONFORM = """
small: {constants: {Turns: 1000}, tables: {rack: {capacity: 2}, boxes: {capacity: 2}, content: {capacity: 2}}}
shipped: {}
variants:
  one box: {constants: {Boxes: 1}}
values:
  message.length: [0, 5, 12, 13, 20, 47, 48, 49]
  message.body: [0, 1, 2]
  message.turn: [0, 5, 999, 1000]
  rack.length: [0, 12, 30, 48]
  rack.row: [0, 1, 2]
  boxes.turn: [0, 5, 999]
  content.bytes: [0, 1, 3, =message.body]
families:
  - name: at the counter
    hook: xdp
    vary: {message.kind: all, message.number: all, message.length: all, message.version: [0, 255], rack.length: all, rack.version: [0, 9, 255]}
  - name: something is put away
    hook: user
    sample: 2500
    given: {message.kind: Put}
    vary: {message.number: [0, 1, 99], message.length: all, message.body: all, rack.row: all, boxes.0.turn: all, boxes.1.marks: all,
           content.0.bytes: all, content.1.bytes: all, content.0.last: [0, 7], env.now: [0, 9]}
  - name: something is fetched
    hook: user
    sample: 1500
    given: {message.kind: Get}
    vary: {message.number: [0, 1], message.box: [0, 1, 3], message.length: all, message.body: [0, 2], rack.row: [0, 1], content.0.bytes: all, content.1.bytes: all}
  - name: anything else
    hook: user
    vary: {message.kind: all, message.length: [0, 20], message.body: [0, 1], boxes.0.marks: all, content.0.bytes.1: [0, 1]}
  - name: on the way out
    hook: tc
    vary: {message.kind: [Get, Done, Put], message.box: [0, 1, 3], message.turn: all, message.length: all, boxes.0.turn: all, boxes.0.marks: all}
samples: 120
variant_samples: 100
pairs_min: 4000
"""


@pytest.fixture(scope="module")
def locker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The protocol, in a spec/ of its own."""
    folder = tmp_path_factory.mktemp("tail")
    shutil.copytree(ROOT / "spec/lib", folder / "spec/lib")
    shutil.copytree(SPEC, folder / "spec/locker")
    (folder / "spec/locker/conform.yaml").write_text(CONFORM)
    return folder / "spec/locker"


def test_it_conforms_in_every_form_and_variant(locker: Path, work: Path) -> None:
    campaign = Campaign(locker, work)
    results = campaign.results()
    assert [result.name for result in results] == [*FORMS, "one box", "as shipped, seed 1"]
    for result in results:
        assert [str(each) for each in result.mismatches] == []
    assert [command.show("locker", result) for result in results] == [[]] * 5
    assert command.show_pairs("locker", results[:3], campaign.text.pairs_min) == []
    assert len({result.inputs["user"] for result in results[:3]}) == 1, (
        "what the daemon steps stays as it is in every form"
    )


FORWARDED = "\tlocker_message_encode_handover(payload, message);\n\tstepwise_write(payload + LOCKER_WIRE_LENGTH, 2, message->length);\n"
STORED = "\tchange += stepwise_replace(payload, LOCKER_WIRE_VERSION, 1, message->version);\n\tchange += stepwise_replace(payload, LOCKER_WIRE_BOX"


@pytest.mark.parametrize(
    "file, old, new, said",
    [
        (
            "locker_user.c",
            "\tmemset(payload + *size, 0, LOCKER_WIRE_SIZE + LOCKER_TAIL_MAX - *size);\n",
            "",
            "userspace",
        ),
        (
            "locker_user.c",
            "*size == LOCKER_WIRE_SIZE ? locker_message_tail_size(payload) : 0",
            "locker_message_tail_size(payload)",
            "packet: payload",
        ),
        ("locker_user.c", "*size == LOCKER_WIRE_SIZE ? locker_message_tail_size(payload) : 0", "0", "packet: payload"),
        ("locker_user.c", "\t\t*message = after;\n", "", "userspace"),
        (
            "locker_user.c",
            "stepwise_is_changed(outcome) &&\n\t\t    "
            "!stepwise_compare_and_swap(element, before, locker_boxes_cell_pack(&boxes))",
            "false",
            "boxes[",
        ),
        ("locker_user.c", "LOCKER_TABLE_CONTENT, message->row)", "LOCKER_TABLE_CONTENT, message->row ^ 1)", "content["),
        (
            "locker_user.c",
            "LOCKER_TABLE_RACK, message->place, &rack",
            "LOCKER_TABLE_RACK, message->place ^ 1, &rack",
            "userspace",
        ),
        (
            "locker_user.c",
            "\tif (stepwise_verdict(outcome) == STEPWISE_CONTINUE)\n\t\toutcome = locker_keep",
            "\toutcome = locker_keep",
            "userspace",
        ),
        (
            "locker_steps.h",
            "content->bytes.items[stepwise_position(message->box, 3)] = *message->body;",
            "content->bytes.items[0] = *message->body;",
            "content[",
        ),
        ("locker_codec.h", "size > LOCKER_TAIL_OVER", "size >= LOCKER_TAIL_OVER", "family 'at the counter'"),
        ("locker_codec.h", "size <= LOCKER_TAIL_MAX", "size < LOCKER_TAIL_MAX", "family 'at the counter'"),
        ("locker_codec.h", FORWARDED, FORWARDED.partition("\n")[0], "userspace"),
        ("locker.bpf.c", STORED, STORED.partition("\n")[2], "message found"),
    ],
)
def test_what_is_done_wrongly_is_found_out(
    locker: Path, work: Path, tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    (work / "oracle").mkdir(exist_ok=True)
    # in a folder of its own, since a library is loaded once by its path
    (tmp_path / "oracle").symlink_to(work / "oracle")
    result = Campaign(locker, tmp_path, stop_early=True, edits=((file, old, new),)).small(LAYOUT)
    assert result.mismatches, "it conforms"
    assert said in str(result.mismatches[0])


def test_garbage_of_any_length_changes_nothing(locker: Path, work: Path) -> None:
    tally = GarbageRun(Campaign(locker, work).stage(LAYOUT), 3).run(20_000)
    assert tally.problems == []
    assert tally.packets == 20_000 and min(tally.foreign, tally.malformed, *tally.by_kind.values()) > 50


def test_a_tail_of_the_model_is_as_long_as_the_message_says(locker: Path, work: Path) -> None:
    stage = Campaign(locker, work).stage(LAYOUT)
    message = stage.build.protocol.message
    patterns, tail = Patterns(stage.build.protocol), stage.build.protocol.tail
    whole = patterns.real(message.field("body"), 1)
    for size in (13, 20, 48):
        short = ShortPatterns(patterns, message.field("body"), size)
        assert short.real(message.field("body"), 1) == whole & (1 << 8 * size) - 1
        assert short.model(message.field("body"), whole & (1 << 8 * size) - 1) == 1
        assert short.model(message.field("body"), whole & 0xFFFF) == hex(whole & 0xFFFF), (
            "of another length it is nothing that a case has"
        )
        assert (short.real(message.field("body"), 0), short.model(message.field("body"), 0)) == (0, 0)
        assert short.real(message.field("slip"), 1) == patterns.real(message.field("slip"), 1)
    assert [tail_size(tail, {"length": length}) for length in (0, 12, 13, 48, 49)] == [0, 0, 13, 48, 0]
