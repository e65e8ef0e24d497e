"""Tests tests/golden/locker/ as generated: its daemon keeps tails, and steps words that TC steps as well."""

from __future__ import annotations

import random
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.bench.build import load_module
from harness.data.frames import Frame
from harness.rig import Rig, bpf
from tests.runtime.conftest import ROOT, Client, Echo, wait_for

GENERATED = ROOT / "tests/golden/locker/expected"
TURN_OF_READS = 7  # what XDP tells the daemon with a Get; TC takes an answer only in that turn
ROW = 0

versions = pytest.mark.parametrize("version", (4, 6))


codec: Any = load_module("codec_of_locker", GENERATED / "locker_codec.py")
SIZES = range(codec.TAIL_OVER + 1, codec.TAIL_MAX + 1)


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def boxes_word(turn: int, held: int = 0) -> bytes:
    return (turn | held << 20).to_bytes(8, "little")


@pytest.fixture(scope="module")
def folder(built: Callable[..., Path]) -> Path:
    return built(protocol="locker", generated=GENERATED)


# --- The programs ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def programs(built: Callable[..., Path]) -> Iterator[bpf.Object]:
    folder = built("STEPWISE_CONFORM", protocol="locker", generated=GENERATED)  # nobody sends what is test-run
    with bpf.Object.open(folder / "locker.bpf.o") as opened:
        yield opened


def request(message: Any, version: int) -> Frame:
    return Frame(message.encode(), codec.PORT, version=version)


def put(size: int) -> Any:
    return codec.Message(kind=codec.Kind.PUT, number=5, length=size, body=noise(size)[: codec.tail_size(size)])


@versions
def test_xdp_passes_on_a_tail_beside_what_it_writes(programs: bpf.Object, version: int) -> None:
    """The version, which the client does not say, and the checksum that goes with it."""
    xdp = programs.program("locker_xdp")
    seen = None
    for size in (0, 1, codec.TAIL_OVER, *SIZES, codec.TAIL_MAX + 1, 0xFFFF):
        frame = request(put(size), version)
        found = xdp.test_run(frame.to_bytes())
        assert found.action == bpf.XDP_PASS
        passed = codec.Message.decode(found.data[frame.payload_offset() :])
        assert (passed.length, passed.body) == (size, put(size).body)
        assert seen is None or passed.version == (seen + 1) % 256
        seen = passed.version
        assert found.data == request(passed, version).to_bytes()


@versions
def test_xdp_says_how_long_an_answer_will_be(programs: bpf.Object, version: int) -> None:
    xdp = programs.program("locker_xdp")
    for size in SIZES:
        xdp.test_run(request(put(size), version).to_bytes())
        frame = request(codec.Message(kind=codec.Kind.GET, number=5), version)
        found = xdp.test_run(frame.to_bytes())
        passed = codec.Message.decode(found.data[frame.payload_offset() :])
        assert (found.action, passed.length, passed.turn, passed.body) == (bpf.XDP_PASS, size, TURN_OF_READS, b"")
        assert found.data == request(passed, version).to_bytes()


@versions
def test_xdp_answers_with_the_tail_that_came(programs: bpf.Object, version: int) -> None:
    for size in SIZES:
        asked = codec.Message(kind=codec.Kind.ASK, number=3, length=size, body=noise(size))
        frame = request(asked, version)
        found = programs.program("locker_xdp").test_run(frame.to_bytes())
        answer = frame.turned(replace(asked, kind=codec.Kind.DONE).encode())
        assert (found.action, found.data) == (bpf.XDP_TX, answer.to_bytes())


@versions
def test_xdp_drops_what_has_another_size(programs: bpf.Object, version: int) -> None:
    xdp = programs.program("locker_xdp")
    for size in SIZES:
        whole = put(size).encode()
        for payload in (whole[: codec.WIRE_SIZE], whole[:-1], whole + b"\0"):
            assert xdp.test_run(Frame(payload, codec.PORT, version=version).to_bytes()).action == bpf.XDP_DROP
        wrong = bytearray(request(put(size), version).to_bytes())
        wrong[-1] ^= 1
        assert xdp.test_run(bytes(wrong)).action == bpf.XDP_DROP
    for size in (0, codec.TAIL_OVER, codec.TAIL_MAX + 1):
        assert (
            xdp.test_run(Frame(put(size).encode() + b"\0", codec.PORT, version=version).to_bytes()).action
            == bpf.XDP_DROP
        )


@versions
def test_tc_takes_an_answer_with_its_tail_and_without(programs: bpf.Object, version: int) -> None:
    tc = programs.program("locker_tc")
    for size in SIZES:
        for body, action in ((b"", bpf.TC_ACT_OK), (noise(size), bpf.TC_ACT_OK), (noise(size)[1:], bpf.TC_ACT_SHOT)):
            programs.map("boxes").update(ROW, boxes_word(9))
            payload = codec.Message(kind=codec.Kind.DONE, number=5, length=size, box=2, turn=9).encode() + body
            frame = Frame(payload, 40_000, source_port=codec.PORT, version=version)
            found = tc.test_run(frame.to_bytes())
            assert found.action == action, (size, len(body))
            held = 0b010 if action == bpf.TC_ACT_OK else 0
            assert programs.map("boxes").lookup(ROW) == boxes_word(9, held)
            if action == bpf.TC_ACT_OK:
                assert found.data[frame.payload_offset() + codec.WIRE_SIZE :] == body


# --- The daemon ----------------------------------------------------------------------------------------


@pytest.fixture
def service(folder: Path, rig: Rig) -> Echo:
    return Echo(folder, rig, "locker", codec.PORT)


def boxes(service: Echo) -> bpf.Map:
    [pin] = [each["pin"] for each in service.status()["tables"] if each["name"] == "boxes"]
    return bpf.Map.pinned(pin)


def ask(client: Client, address: str, message: Any) -> Any:
    client.send(message.encode(), address)
    answer = client.receive()
    assert answer, f"no answer to {message}"
    return codec.Message.decode(answer[0])


@pytest.mark.parametrize("by_ring", [False, True])
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_what_is_kept_is_what_comes_back(service: Echo, family: int, by_ring: bool) -> None:
    service.load_and_serve(by_ring)
    address = service.rig.server.ipv6 if family == socket.AF_INET6 else service.rig.server.ipv4
    table = boxes(service)
    with (client := Client(service.rig.client, family, codec.PORT)).socket:
        for size in SIZES:
            table.update(ROW, boxes_word(TURN_OF_READS - 1))
            done = ask(client, address, put(size))
            assert (done.kind, done.length, done.body) == (codec.Kind.DONE, size, b"")
            assert table.lookup(ROW) == boxes_word(TURN_OF_READS, 0b001), "the daemon took a turn, TC holds the box"
            found = ask(client, address, codec.Message(kind=codec.Kind.GET, number=5))
            assert (found.length, found.version, found.body) == (size, done.version, noise(size))
    assert service.status()["daemon"]["received_by_ring"] == (2 * len(SIZES) if by_ring else 0)


def test_what_is_kept_outlives_the_daemon(service: Echo) -> None:
    service.load()
    daemon = service.serve()
    boxes(service).update(ROW, boxes_word(TURN_OF_READS - 1))
    with (client := Client(service.rig.client, port=codec.PORT)).socket:
        assert ask(client, service.rig.server.ipv4, put(40)).kind == codec.Kind.DONE
        service.end(daemon, signal.SIGKILL)
        service.serve()
        found = ask(client, service.rig.server.ipv4, codec.Message(kind=codec.Kind.GET, number=5))
        assert (found.length, found.body) == (40, noise(40))


def test_a_batch_about_one_word_takes_its_turns(service: Echo) -> None:
    """TC drops what was decided in another turn: the daemon sends what waits before it takes the next."""
    service.load()
    daemon = service.serve()
    with (client := Client(service.rig.client, port=codec.PORT)).socket:
        daemon.send_signal(signal.SIGSTOP)
        for number in range(6):
            client.send(
                codec.Message(kind=codec.Kind.PUT, number=number, length=20, body=noise(20)).encode(),
                service.rig.server.ipv4,
            )
        daemon.send_signal(signal.SIGCONT)
        kinds = [codec.Message.decode(received[0]).kind for _ in range(3) if (received := client.receive(1))]
    assert kinds == [codec.Kind.DONE] * 3
    assert boxes(service).lookup(ROW) == boxes_word(3, 0b111)
    wait_for(lambda: service.status()["daemon"]["replied"] == 6, "the others found no box, and TC had nothing to close")
