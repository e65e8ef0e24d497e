"""Tests the daemon's side of a protocol that keeps what follows a message: its steps, input and answers."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from codegen.compile import load
from codegen.emit import generate
from harness.data.frames import Frame
from harness.rig import bpf
from tests.codegen import locker
from tests.codegen.compiling import CONTESTED, FLAGS, UNDEFINED, compile_bpf, compile_shared, import_codec

REPLY, FORWARD, DROP = 1, 2, 3
PROGRAM = (
    CONTESTED
    + """
#include "locker_user.c"

struct locker_rack_cell racks[LOCKER_CAPACITY_RACK];
__u64 boxes[LOCKER_CAPACITY_BOXES];
struct locker_content_cell contents[LOCKER_CAPACITY_CONTENT];
struct asked { __u32 table, index; } asked[16];
unsigned int asked_count;

static const size_t sizes[] = { sizeof(racks[0]), sizeof(boxes[0]), sizeof(contents[0]) };
static const __u32 capacities[] = { LOCKER_CAPACITY_RACK, LOCKER_CAPACITY_BOXES, LOCKER_CAPACITY_CONTENT };
static void *const memory[] = { racks, boxes, contents };

static void *found(const struct stepwise_tables *tables, unsigned int table, __u32 index)
{
	asked[asked_count++ % 16] = (struct asked){ table, index };
	return index < capacities[table] ? (char *)tables->memory[table] + index * sizes[table] : NULL;
}

static void *cell(const struct stepwise_tables *tables, unsigned int table, __u32 index)
{
	return tables->memory[table] == racks ? NULL : found(tables, table, index);
}

static bool read_cell(const struct stepwise_tables *tables, unsigned int table, __u32 index, void *element)
{
	const void *from = found(tables, table, index);

	if (!from || tables->memory[table] != racks)
		return false;
	memcpy(element, from, sizes[table]);
	return true;
}

int run(int hook, __u64 now_ns, unsigned char *payload, size_t *size)
{
	const struct stepwise_environment environment = { .now_ns = now_ns };
	const struct stepwise_tables tables = { memory, read_cell, cell };
	const struct stepwise_protocol *locker = &stepwise_protocol;

	asked_count = 0;
	attempts = 0;
	return (hook == 0 ? locker->run_xdp : hook == 1 ? locker->on_forwarded : locker->run_tc)(&tables, &environment, payload, size);
}
"""
)
SKELETON = 'static const void *locker_bpf__elf_bytes(size_t *size)\n{\n\t*size = 0;\n\treturn "";\n}\n'
XDP, USER, TC = range(3)
STALE = 0xA5
RACK_BYTES, CONTENT_BYTES = 8, 152


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("locker")
    for name, text in generate(load(locker.write(out / "locker"))).items():
        (out / name).write_text(text)
    (out / "run.c").write_text(PROGRAM)
    (out / "locker.skel.h").write_text(SKELETON)
    compile_shared(out, *UNDEFINED)
    return out


@pytest.fixture(scope="module")
def codec(folder: Path) -> ModuleType:
    return import_codec(folder, "locker")


class Asked(ctypes.Structure):
    _fields_ = [("table", ctypes.c_uint32), ("index", ctypes.c_uint32)]


class Daemon:
    """The compiled functions over tables of their own."""

    def __init__(self, folder: Path, codec: ModuleType) -> None:
        self.library, self.codec = ctypes.CDLL(str(folder / "run.so")), codec
        self.boxes = (ctypes.c_uint64 * 4).in_dll(self.library, "boxes")
        self.racks = (ctypes.c_uint8 * (8 * RACK_BYTES)).in_dll(self.library, "racks")
        self.contents = (ctypes.c_uint8 * (4 * CONTENT_BYTES)).in_dll(self.library, "contents")
        for memory in (self.boxes, self.racks, self.contents):
            ctypes.memset(memory, 0, ctypes.sizeof(memory))

    def number(self, name: str) -> ctypes.c_uint:
        return ctypes.c_uint.in_dll(self.library, name)

    def asked(self) -> list[tuple[int, int]]:
        asked = (Asked * 16).in_dll(self.library, "asked")
        return [(one.table, one.index) for one in asked[: self.number("asked_count").value]]

    def content(self, row: int, box: int) -> bytes:
        start = row * CONTENT_BYTES + (box - 1) * 48
        return bytes(self.contents[start : start + 48])

    def run(self, hook: int, payload: bytes, now_ns: int = 0) -> tuple[int, bytes]:
        """Verdict and payload; what lies behind the payload is what an earlier packet has left."""
        room = (ctypes.c_uint8 * (self.codec.WIRE_SIZE + self.codec.TAIL_MAX))(
            *payload.ljust(self.codec.WIRE_SIZE + self.codec.TAIL_MAX, bytes([STALE]))
        )
        size = ctypes.c_size_t(len(payload))
        verdict = self.library.run(hook, ctypes.c_uint64(now_ns), room, ctypes.byref(size))
        return verdict, bytes(room[: size.value])

    def ask(self, message: object, hook: int = USER) -> tuple[int, object]:
        verdict, payload = self.run(hook, message.encode())
        return verdict, self.codec.Message.decode(payload)


@pytest.fixture
def daemon(folder: Path, codec: ModuleType) -> Daemon:
    return Daemon(folder, codec)


def put(codec: ModuleType, length: int = 20, **fields: object) -> object:
    body = bytes(range(1, length + 1)) if codec.tail_size(length) else b""
    return codec.Message(**{"kind": codec.Kind.PUT, "number": 5, "length": length, "body": body, **fields})


def test_what_came_behind_is_kept_as_it_came(daemon: Daemon, codec: ModuleType) -> None:
    message = put(codec, 20)
    verdict, answer = daemon.ask(message)
    assert verdict == REPLY
    assert answer == replace(message, kind=codec.Kind.DONE, box=1, turn=1, body=b""), "a tail goes one way"
    assert daemon.content(0, 1) == bytes(range(1, 21)) + bytes(28), "and nothing of what lay behind it"
    assert list(daemon.boxes) == [1, 0, 0, 0]


def test_it_is_given_back(daemon: Daemon, codec: ModuleType) -> None:
    daemon.ask(put(codec, 33))
    asked = codec.Message(kind=codec.Kind.GET, number=5, length=33, version=9, box=1)
    assert len(asked.encode()) == codec.WIRE_SIZE
    verdict, answer = daemon.ask(asked)
    assert (verdict, answer) == (REPLY, replace(asked, body=bytes(range(1, 34))))
    verdict, answer = daemon.ask(replace(asked, length=12))
    assert (verdict, answer) == (REPLY, replace(asked, length=12)), "short ones have none"


def test_none_is_all_zero(daemon: Daemon, codec: ModuleType) -> None:
    daemon.ask(put(codec, 33))
    assert daemon.ask(put(codec, 12))[0] == REPLY
    assert daemon.content(0, 1) == bytes(48)


@pytest.mark.parametrize("length", [12, 13, 47, 48])
@pytest.mark.parametrize("hook", [XDP, USER, TC])
def test_which_sizes_are_taken(daemon: Daemon, codec: ModuleType, hook: int, length: int) -> None:
    whole = put(codec, length, kind=codec.Kind.DONE if hook == TC else codec.Kind.PUT, number=5, turn=0, box=1).encode()
    full = codec.WIRE_SIZE + codec.tail_size(length)
    assert len(whole) == full
    for size in range(codec.WIRE_SIZE, codec.WIRE_SIZE + codec.TAIL_MAX + 1):
        daemon.boxes[0] = 0
        taken = daemon.run(hook, whole.ljust(size, b"!")[:size])[0] != DROP
        assert taken == (size == full or (hook != XDP and size == codec.WIRE_SIZE)), size


def test_a_length_that_no_tail_has(daemon: Daemon, codec: ModuleType) -> None:
    message = put(codec, 49)
    assert daemon.run(XDP, message.encode())[0] == FORWARD
    assert daemon.run(XDP, message.encode() + bytes(48))[0] == DROP
    verdict, answer = daemon.ask(message)
    assert (verdict, answer.body) == (REPLY, b"")


@pytest.mark.parametrize("losses", [0, 1, 3])
def test_a_word_that_is_lost_is_stepped_anew(daemon: Daemon, codec: ModuleType, losses: int) -> None:
    daemon.number("losses").value = losses
    verdict, answer = daemon.ask(put(codec))
    assert (verdict, answer.turn, daemon.boxes[0]) == (REPLY, losses + 1, losses + 1)
    assert daemon.number("attempts").value == losses + 1


def test_a_word_that_is_lost_again_and_again(daemon: Daemon, codec: ModuleType) -> None:
    daemon.number("losses").value = 4
    payload = put(codec).encode()
    assert daemon.run(USER, payload) == (DROP, payload)
    assert daemon.number("attempts").value == 4
    assert daemon.content(0, 1) == bytes(48), "what comes after it is not run"


def test_what_a_step_leaves_is_not_written(daemon: Daemon, codec: ModuleType) -> None:
    daemon.ask(codec.Message(kind=codec.Kind.GET, number=5))
    assert daemon.number("attempts").value == 0


def test_each_section_sees_what_the_one_before_left(daemon: Daemon, codec: ModuleType) -> None:
    place = codec.hash_place(5)
    daemon.racks[place * RACK_BYTES + 4 + 3] = 3  # the row, behind a guard, length and version
    message = put(codec)
    daemon.ask(message)
    assert daemon.asked() == [(0, place), (1, 3), (2, 3)], "and whoever calls is told of each cell"
    assert daemon.content(3, 1)[:20] == message.body
    daemon.boxes[3] = 0b111 << 20
    verdict, answer = daemon.ask(message)
    assert (verdict, answer.kind) == (REPLY, codec.Kind.FULL), "a section may end it"
    assert daemon.asked() == [(0, place), (1, 3)]
    assert daemon.run(USER, put(codec, number=99).encode())[0] == DROP
    assert len(daemon.asked()) == 1


def test_an_index_out_of_range(daemon: Daemon, codec: ModuleType) -> None:
    daemon.racks[codec.hash_place(5) * RACK_BYTES + 7] = 4
    assert daemon.run(USER, put(codec).encode())[0] == DROP
    assert daemon.asked() == [(0, codec.hash_place(5)), (1, 4)]


def test_the_time_is_handed_on(daemon: Daemon, codec: ModuleType) -> None:
    daemon.run(USER, put(codec).encode(), now_ns=77 * 1024)
    assert daemon.contents[144] == 77


def test_what_xdp_forwards_as_a_function(daemon: Daemon, codec: ModuleType) -> None:
    place = codec.hash_place(5)
    daemon.racks[place * RACK_BYTES + 4 : place * RACK_BYTES + 7] = [40, 0, 9]
    asked = codec.Message(kind=codec.Kind.GET, number=5, slip=b"twelve bytes", box=3)
    assert daemon.ask(asked, XDP) == (FORWARD, replace(asked, length=40, version=9, turn=7, box=1)), (
        "and no other field"
    )
    told = put(codec, kind=codec.Kind.ASK)
    assert daemon.ask(told, XDP) == (REPLY, replace(told, kind=codec.Kind.DONE)), "with the tail that it came with"


@pytest.mark.parametrize("body", [b"", bytes(range(1, 21))])
def test_what_tc_completes_as_a_function(daemon: Daemon, codec: ModuleType, body: bytes) -> None:
    done = put(codec, 20, kind=codec.Kind.DONE, body=body, box=2)
    assert daemon.ask(done, TC) == (REPLY, replace(done, box=0)), "what is handed over stays here"
    assert daemon.boxes[0] == 1 << 21


@pytest.mark.parametrize(("hook", "kinds"), [(USER, {"PUT", "GET"}), (TC, {"GET", "DONE", "FULL"})])
def test_what_comes_another_way_changes_nothing(daemon: Daemon, codec: ModuleType, hook: int, kinds: set[str]) -> None:
    for kind in codec.Kind:
        daemon.boxes[0] = 0
        verdict, _ = daemon.ask(put(codec, 20, kind=kind, box=2), hook)
        assert (verdict == REPLY) == (kind.name in kinds), kind
        if verdict != REPLY:
            assert (verdict, daemon.boxes[0]) == (DROP, 0), kind


# --- In the kernel ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def object_file(folder: Path) -> Path:
    return compile_bpf(folder, "locker.bpf.c")


@pytest.fixture
def programs(object_file: Path) -> Iterator[bpf.Object]:
    with bpf.Object.open(object_file) as loaded:
        yield loaded


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("length", [0, 13, 20, 48])
def test_a_program_leaves_the_tail_as_it_is(programs: bpf.Object, codec: ModuleType, version: int, length: int) -> None:
    message = put(codec, length, version=200)
    frame = Frame(message.encode(), locker.PORT, version=version)
    ran = programs.program("locker_xdp").test_run(frame.to_bytes())
    assert ran.action == bpf.XDP_PASS
    assert ran.data == replace(frame, payload=replace(message, version=1).encode()).to_bytes(), (
        "and its checksum is right"
    )
    asked = replace(message, kind=codec.Kind.ASK)
    ran = programs.program("locker_xdp").test_run(replace(frame, payload=asked.encode()).to_bytes())
    assert (ran.action, ran.data) == (
        bpf.XDP_TX,
        frame.turned(replace(asked, kind=codec.Kind.DONE).encode()).to_bytes(),
    )


@pytest.mark.parametrize("version", [4, 6])
def test_a_program_forwards_a_length_without_a_tail(programs: bpf.Object, codec: ModuleType, version: int) -> None:
    kept = Frame(put(codec, 40).encode(), locker.PORT, version=version)
    assert programs.program("locker_xdp").test_run(kept.to_bytes()).action == bpf.XDP_PASS
    asked = codec.Message(kind=codec.Kind.GET, number=5, slip=b"twelve bytes", box=3)
    ran = programs.program("locker_xdp").test_run(replace(kept, payload=asked.encode()).to_bytes())
    expected = replace(asked, length=40, version=1, turn=7, box=1)
    assert ran.data == replace(kept, payload=expected.encode()).to_bytes(), (
        "what is no field of `forwards` stays, and the checksum is right"
    )


def test_a_program_takes_no_other_size(programs: bpf.Object, codec: ModuleType) -> None:
    whole = put(codec, 20).encode()
    for payload in (whole[:-1], whole + b"!", whole[: codec.WIRE_SIZE], put(codec, 12).encode() + bytes(12)):
        assert programs.program("locker_xdp").test_run(Frame(payload, locker.PORT).to_bytes()).action == bpf.XDP_DROP


def test_what_only_the_daemon_has_is_a_map(programs: bpf.Object) -> None:
    content = programs.map("content")
    assert (content.value_size, content.capacity) == (CONTENT_BYTES, 4), (
        "elements of the mmapped array are 8 bytes' multiples"
    )
    memory = content.mmap()
    memory[2 * CONTENT_BYTES] = 7
    assert memory[2 * CONTENT_BYTES] in (7, b"\x07")


# --- Clients and models ----------------------------------------------------------------------------


def test_the_codecs_agree_on_the_size(folder: Path, codec: ModuleType) -> None:
    (folder / "sizes.c").write_text(
        '#include <stdio.h>\n#include "locker_codec.h"\nint main(void)\n{\n\tfor (unsigned int size = 0; size < 70; '
        "size++) {\n"
        "\t\tstruct locker_message message = { .length = size }, back;\n\t\tunsigned char "
        "payload[LOCKER_WIRE_SIZE];\n\n"
        "\t\tlocker_message_encode(payload, &message);\n"
        '\t\tprintf("%u %d\\n", locker_message_tail_size(payload), locker_message_decode(payload, &back) && !back.body '
        "&& back.length == size);\n"
        "\t}\n\treturn 0;\n}\n"
    )
    subprocess.run(["clang-19", *FLAGS, "sizes.c", "-o", "sizes"], cwd=folder, check=True)
    ran = subprocess.run([folder / "sizes"], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [f"{codec.tail_size(size)} 1" for size in range(70)]
    assert [codec.tail_size(size) for size in (0, 12, 13, 48, 49)] == [0, 0, 13, 48, 0]


def test_a_client_is_told_of_wrong_tails(codec: ModuleType) -> None:
    assert codec.Message.decode(put(codec, 30).encode()) == put(codec, 30)
    assert codec.Message.decode(put(codec, 30, body=b"").encode()).body == b""
    for size, body in ((30, bytes(29)), (12, bytes(12)), (49, bytes(49))):
        with pytest.raises(ValueError, match=f"body has {len(body)} bytes, and length is {size}"):
            put(codec, size, body=body).encode()
        with pytest.raises(codec.Malformed, match=f"{len(body)} bytes follow a message whose length is {size}"):
            codec.Message.decode(put(codec, size, body=b"").encode() + body)
    with pytest.raises(codec.Malformed, match="a message has .* bytes, not"):
        codec.Message.decode(bytes(codec.WIRE_SIZE - 1))


def test_the_page_says_where_it_is(folder: Path) -> None:
    page = (folder / "wire.md").read_text()
    assert "**The tail**, `body`, follows all fields: `length` bytes, if that is more than 12 and at most 48." in page


def test_the_programs_do_not_know_of_it(folder: Path) -> None:
    """Their struct has a member less, and the daemon's sweep hands on no less than they have; the daemon's
    steps are not theirs.
    """
    (folder / "tail.c").write_text(
        '#include <stddef.h>\n#include <stdio.h>\n#include "locker.h"\n'
        'int main(void)\n{\n\tprintf("%zu", offsetof(struct locker_message, body));\n\treturn 0;\n}\n'
    )
    subprocess.run(["clang-19", *FLAGS, "tail.c", "-o", "tail"], cwd=folder, check=True)
    size = int(subprocess.run([folder / "tail"], capture_output=True, text=True, check=True).stdout)
    (folder / "size.c").write_text(
        '#include "locker_steps.h"\nint locker_keep;\n'
        '_Static_assert(sizeof(struct locker_message) <= SIZE && sizeof(struct locker_message) + 8 > SIZE, "");\n'
    )
    assert compile_bpf(folder, "size.c", f"-DSIZE={size}").exists()
    assert ".sweep_size = offsetof(struct locker_message, body)," in (folder / "locker_user.c").read_text()
