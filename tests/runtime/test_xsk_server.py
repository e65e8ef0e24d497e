"""Runs the same steps as a server of an AF_XDP socket."""

from __future__ import annotations

import select
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.base.protocols import RUNTIME_INCLUDE
from harness.bench.build import compile_bpf
from harness.rig import Rig, bpf
from tests.runtime.conftest import ADD, ADDED, ASK, COMPLETED, HERE, MESSAGE, PORT, ROOT, Client


@pytest.fixture(scope="module")
def frames(built: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The server of echo/, and the program that hands it what is for its port."""
    folder = built()
    make = [
        "make",
        "-s",
        "-C",
        ROOT / "runtime",
        "PROTOCOL=echo",
        f"GENERATED={HERE / 'echo'}",
        f"BUILD={folder}",
        "frames",
    ]
    done = subprocess.run(make, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    program = compile_bpf(ROOT / "harness/bench/frames.bpf.c", tmp_path_factory.mktemp("frames"), RUNTIME_INCLUDE)
    return folder / "echo-frames", program


@pytest.fixture
def server(rig: Rig, frames: tuple[Path, Path]) -> Iterator[subprocess.Popen[str]]:
    path, program = frames
    with bpf.Object.open(program) as opened:
        opened.variable("port").write(struct.pack("<Q", PORT))
        with rig.server.entered():
            opened.program("bench_frames").attach_xdp(rig.server.ifindex)
        sockets = opened.map("sockets").fd
        command = [str(path), str(rig.server.ifindex), "0", str(sockets)]
        process = rig.server.popen(command, stdout=subprocess.PIPE, text=True, pass_fds=[sockets])
        assert process.stdout and select.select([process.stdout], [], [], 10)[0]
        assert process.stdout.readline() == f"READY echo interface {rig.server.ifindex} pid {process.pid}\n"
        yield process


def test_serves_both_paths(rig: Rig, server: subprocess.Popen[str], client: Client) -> None:
    assert client.ask(ADD, 5, 1, rig.server.ipv4)[0] == ADDED
    assert client.ask(ADD, 5, 2, rig.server.ipv4) == (ADDED, 5, 3)
    assert client.ask(ASK, 0, 0, rig.server.ipv4)[:2] == (COMPLETED, 5)


def test_garbage_does_not_end_it(rig: Rig, server: subprocess.Popen[str], client: Client) -> None:
    for payload in (b"", b"x", b"x" * 1400, MESSAGE.pack(ADD, 10_000, 1), MESSAGE.pack(99, 0, 0)):
        client.send(payload, rig.server.ipv4)
    assert client.receive(0.1) is None
    assert client.ask(ADD, 0, 1, rig.server.ipv4) == (ADDED, 0, 1)
    assert server.poll() is None


def test_what_cannot_be_had_is_said(rig: Rig, frames: tuple[Path, Path]) -> None:
    path, _ = frames
    for arguments in ([], ["1", "0"], ["one", "0", "3"]):
        done = rig.server.run([str(path), *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and "usage: echo-frames INTERFACE_INDEX QUEUE FD_OF_SOCKETS" in done.stderr
    done = rig.server.run([str(path), "9999", "0", "3"], capture_output=True, text=True)
    assert (
        done.returncode == 1
        and "cannot open an AF_XDP socket on queue 0 of interface 9999: No such device" in done.stderr
    )
