"""Tests in the kernel what hooks hand to one another in the packet.

In the protocol here, a desk says what it saw, and the daemon looks that up.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from codegen.compile import load
from codegen.emit import generate
from codegen.emit.codecs import handed_over_hashes
from harness.data.frames import Frame
from harness.rig import bpf
from tests.codegen.compiling import compile_bpf, compile_native, import_codec

PORT = 4245
BUDGET = {"insns": 10000, "states": 1000, "stack": 512}
LAYOUT = {
    "protocol": "desk",
    "module": "DeskSteps",
    "message": {
        "kind": {"enum": ["Ask", "Tell", "Leave", "Told"]},
        "number": "u32",
        "text": {"bytes": 20},
        "last": "u8",
    },
    "handover": {"seen": "u4", "marks": {"bits": 12}, "note": {"bytes": 12}, "sure": "bool", "key": "u64"},
    "local": {
        "place": {"type": "u16", "from": "hash(msg.number, desk.capacity)"},
        "shelf": {"type": "u8", "from": "hash(msg.place, shelf.capacity, lower)"},
        "box": {"type": "u4", "from": "hash(msg.key, 16, lower)"},
        "lid": {"type": "u2", "from": "hash(msg.box, 4)"},
    },
    "tables": {
        "desk": {
            "cell": {"text": {"bytes": 20}, "seen": "u4", "key": "u64"},
            "capacity": 64,
            "index": "msg.place",
            "atomic": "spin_lock",
        },
        "shelf": {
            "cell": {"text": {"bytes": 12}, "count": "u8"},
            "capacity": 8,
            "index": "msg.shelf",
            "atomic": "spin_lock",
        },
    },
    "hooks": {
        "xdp": [{"desk": "OnAsk"}],
        "user": {"shelf": "Find", "reads": "cell"},
        "tc": [{"shelf": "Complete"}],
    },
    "wire": {"transport": "udp", "port": PORT, "order": ["kind", "number", "text", "last"]},
    "budget": {"xdp": BUDGET, "tc": BUDGET},
}
STEPS = r"""---- MODULE DeskSteps ----
EXTENDS Offload

OnAsk(desk, msg) ==
  CASE msg.kind = "Ask" -> Reply(desk, [msg EXCEPT !.kind = "Told", !.text = desk.text])
    [] msg.kind = "Leave" -> Reply([desk EXCEPT !.text = msg.text, !.seen = (@ + 1) % 16, !.key = msg.number], msg)
    [] msg.kind = "Tell" -> Forward(desk, [msg EXCEPT !.seen = desk.seen, !.marks = {desk.seen % 8, 11}, !.key = desk.key])
    [] OTHER -> Drop(desk, msg)

Find(shelf, msg) ==
  IF msg.kind = "Tell"
    THEN Reply(shelf, [msg EXCEPT !.kind = "Told", !.sure = TRUE, !.note = shelf.text, !.marks = @ \cup {msg.lid}])
    ELSE Drop(shelf, msg)

Complete(shelf, msg) ==
  IF msg.kind = "Told" /\ msg.sure
    THEN Reply([shelf EXCEPT !.count = msg.box, !.text = msg.note], [msg EXCEPT !.seen = (@ + 1) % 16, !.last = shelf.count])
    ELSE Drop(shelf, msg)
====
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("desk")
    spec = out / "desk"
    spec.mkdir()
    (spec / "layout.yaml").write_text(yaml.safe_dump(LAYOUT, sort_keys=False))
    (spec / "DeskSteps.tla").write_text(STEPS)
    for name, text in generate(load(spec)).items():
        (out / name).write_text(text)
    return out


@pytest.fixture(scope="module")
def codec(folder: Path) -> ModuleType:
    return import_codec(folder, "desk")


@pytest.fixture
def desk(folder: Path) -> Iterator[bpf.Object]:
    with bpf.Object.open(compile_bpf(folder, "desk.bpf.c")) as loaded:
        yield loaded


TEXT = bytes(range(60, 80))
FORGED = {"seen": 9, "marks": 0xABC, "note": b"forged note!", "sure": True, "key": 1 << 60}


def leave(desk: bpf.Object, codec: ModuleType, number: int, times: int = 1) -> None:
    for _ in range(times):
        packet = Frame(codec.Message(kind=codec.Kind.LEAVE, number=number, text=TEXT).encode(), PORT)
        assert desk.program("desk_xdp").test_run(packet.to_bytes()).action == bpf.XDP_TX


@pytest.mark.parametrize("version", [4, 6])
def test_what_xdp_forwards_has_what_it_saw(desk: bpf.Object, codec: ModuleType, version: int) -> None:
    leave(desk, codec, 77, times=5)
    asked = codec.Message(kind=codec.Kind.TELL, number=77, text=TEXT, last=3)
    frame = Frame(replace(asked, **FORGED).encode(), PORT, version=version)
    ran = desk.program("desk_xdp").test_run(frame.to_bytes())
    expected = replace(asked, seen=5, marks=1 << 5 | 1 << 11, key=77)
    assert ran.action == bpf.XDP_PASS
    assert codec.Message.decode(ran.data[frame.payload_offset() :]) == expected
    assert ran.data == replace(frame, payload=expected.encode()).to_bytes(), "and its checksum is right"


def test_no_checksum_stays_none(desk: bpf.Object, codec: ModuleType) -> None:
    leave(desk, codec, 77)
    frame = Frame(codec.Message(kind=codec.Kind.TELL, number=77).encode(), PORT, udp_checksum=0)
    ran = desk.program("desk_xdp").test_run(frame.to_bytes())
    assert ran.data[frame.udp_offset() + 6 : frame.udp_offset() + 8] == b"\0\0"


@pytest.mark.parametrize("spoiled", [{"destination_port": PORT + 1}, {"protocol": 6}, {"fragment": 0x2000}])
def test_what_is_foreign_is_not_touched(desk: bpf.Object, codec: ModuleType, spoiled: dict[str, int]) -> None:
    frame = replace(Frame(codec.Message(kind=codec.Kind.TELL, **FORGED).encode(), PORT), **spoiled)
    ran = desk.program("desk_xdp").test_run(frame.to_bytes())
    assert (ran.action, ran.data) == (bpf.XDP_PASS, frame.to_bytes())


@pytest.mark.parametrize("forged", [{}, FORGED, *({name: value} for name, value in FORGED.items())])
def test_an_answer_of_xdp_has_nothing_handed_over(
    desk: bpf.Object, codec: ModuleType, forged: dict[str, object]
) -> None:
    leave(desk, codec, 5)
    asked = codec.Message(kind=codec.Kind.ASK, number=5, last=200)
    frame = Frame(replace(asked, **forged).encode(), PORT, version=6)
    ran = desk.program("desk_xdp").test_run(frame.to_bytes())
    expected = frame.turned(replace(asked, kind=codec.Kind.TOLD, text=TEXT).encode())
    assert (ran.action, ran.data) == (bpf.XDP_TX, expected.to_bytes())


def test_xdp_takes_values_out_of_range_for_zero(desk: bpf.Object, codec: ModuleType) -> None:
    payload = bytearray(codec.Message(kind=codec.Kind.TELL, number=1).encode())
    payload[-codec.WIRE_SIZE + 30 :] = bytes([255]) * (codec.WIRE_SIZE - 30)
    frame = Frame(bytes(payload), PORT)
    assert desk.program("desk_xdp").test_run(frame.to_bytes()).action == bpf.XDP_PASS
    assert (
        desk.program("desk_tc").test_run(replace(frame, source_port=PORT, destination_port=9).to_bytes()).action
        == bpf.TC_ACT_SHOT
    )


@pytest.mark.parametrize("version", [4, 6])
def test_tc_reads_it_and_keeps_it_from_the_client(desk: bpf.Object, codec: ModuleType, version: int) -> None:
    told = codec.Message(
        kind=codec.Kind.TOLD, number=4, text=TEXT, seen=15, marks=3, note=b"twelve bytes", sure=True, key=123456
    )
    frame = Frame(told.encode(), destination_port=40000, source_port=PORT, version=version)
    ran = desk.program("desk_tc").test_run(frame.to_bytes())
    assert ran.action == bpf.TC_ACT_OK
    assert codec.Message.decode(ran.data[frame.payload_offset() :]) == codec.Message(
        kind=codec.Kind.TOLD, number=4, text=TEXT
    )
    assert ran.data == replace(frame, payload=ran.data[frame.payload_offset() :]).to_bytes(), (
        "and its checksum is right"
    )
    again = desk.program("desk_tc").test_run(frame.to_bytes())
    box = codec.hash_box(123456)
    assert codec.Message.decode(again.data[frame.payload_offset() :]).last == box, (
        "an index is computed from what was handed over"
    )
    unsure = replace(frame, payload=replace(told, sure=False).encode())
    assert desk.program("desk_tc").test_run(unsure.to_bytes()).action == bpf.TC_ACT_SHOT


def test_the_hashes_of_the_codecs_agree(folder: Path, codec: ModuleType) -> None:
    numbers = [0, 1, 2, 255, 65536, (1 << 32) - 1, 123456789]
    lines = "\n".join(
        f'printf("%u %u %u %u\\n", desk_hash_place({number}u), desk_hash_shelf(desk_hash_place({number}u)), '
        f"desk_hash_box({number}ull),"
        f" desk_hash_lid(desk_hash_box({number}ull)));"
        for number in numbers
    )
    (folder / "run.c").write_text(
        f'#include <stdio.h>\n#include "desk_codec.h"\nint main(void)\n{{\n{lines}\nreturn 0;\n}}\n'
    )
    compile_native(folder)
    ran = subprocess.run([folder / "run"], capture_output=True, text=True, check=True)
    expected = [
        [
            codec.hash_place(number),
            codec.hash_shelf(codec.hash_place(number)),
            codec.hash_box(number),
            codec.hash_lid(codec.hash_box(number)),
        ]
        for number in numbers
    ]
    assert [list(map(int, line.split())) for line in ran.stdout.splitlines()] == expected
    assert len({tuple(row) for row in expected}) > 3


def test_which_hashes_wait_for_what_is_handed_over(folder: Path) -> None:
    assert handed_over_hashes(load(folder / "desk")) == {"box", "lid"}


def test_the_user_hook_reads_one_cell(folder: Path) -> None:
    user = (folder / "desk_user.c").read_text()
    assert "stepwise_read_cell(tables, DESK_TABLE_SHELF, message.shelf, &element)" in user
    assert "desk_message_decode_handed_over(payload, &message)" in user


def test_the_models_are_told(folder: Path) -> None:
    hooks = " ".join((folder / "DeskHooks.tla").read_text().split())
    assert (
        "[message EXCEPT !.seen = from.seen, !.marks = from.marks, !.note = from.note, !.sure = from.sure, !.key = "
        "from.key]" in hooks
    )
    assert 'UserSections == << UserSection("shelf", "Find", "cell") >>' in hooks
    assert "UserStep(at, cell, msg, env) == CASE at = 1 -> Find(cell, msg)" in hooks


def test_the_page_says_what_a_client_does_with_it(folder: Path) -> None:
    page = (folder / "wire.md").read_text()
    assert "A client sends zeros" in page and page.index("| `last` |") < page.index(
        "A client sends zeros"
    ) < page.index("| `seen` |")
