"""Builds the hand-made protocols of echo/ and parcel/ in their variants, and operates them for the tests."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.rig import Rig
from harness.rig.netns import Endpoint

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PORT = 20999
EXIT_PRIVILEGE = 4
ADD, ADDED, ASK, TOLD, COMPLETED, IGNORED = range(1, 7)
MESSAGE = struct.Struct("=B3xIQ")  # struct echo_message
FLOCK = struct.Struct("@hhqqi4x")  # struct flock
READY_TIMEOUT_S = 10

Build = Callable[..., "Echo"]
Missing = Callable[[str], tuple[str, ...]]


def wait_for(condition: Callable[[], Any], what: str, timeout_s: float = 5) -> Any:
    """Returns the result of `condition` once it is true; fails the test if it stays false."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {timeout_s} s: {what}")


class Echo:
    """One build of a protocol, echo or another, used on a rig's server."""

    def __init__(self, folder: Path, rig: Rig, protocol: str = "echo", port: int = PORT) -> None:
        self.protocol = protocol
        self.port = port
        self.daemon = str(folder / f"{protocol}d")
        self.udp = str(folder / f"{protocol}-udp")
        self.rig = rig
        self.iface = rig.server.iface
        self.base = Path(rig.bpffs) / "stepwise" / protocol

    def run(self, *arguments: str, prefix: tuple[str, ...] = (), **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `echod ARGUMENTS`, in the server's namespace unless told otherwise."""
        endpoint: Endpoint = options.pop("endpoint", self.rig.server)
        command = [*prefix, self.daemon, *arguments]
        return endpoint.run(command, capture_output=True, text=True, timeout=60, **options)

    def succeed(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        done = self.run(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return done

    def refuse(self, *arguments: str, code: int = 1, **options: Any) -> str:
        """The sentence with which it refuses; there is just one, and nothing on standard output."""
        done = self.run(*arguments, **options)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        sentences = [line for line in done.stderr.splitlines() if "error:" in line]
        assert len(sentences) == 1, done.stderr
        assert done.stdout == ""
        return sentences[0]

    def status(self, **options: Any) -> dict[str, Any]:
        return json.loads(self.succeed("status", "--json", **options).stdout)

    def load(self, iface: str | None = None, *options: str) -> None:
        self.succeed("load", iface or self.iface, *options)

    def serve(self, *options: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """A daemon that has said READY."""
        process = self.rig.server.popen(
            [*prefix, self.daemon, "serve", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout and process.stderr
        readable, _, _ = select.select([process.stdout], [], [], READY_TIMEOUT_S)
        line = process.stdout.readline() if readable else ""
        # nsenter becomes the daemon: there is no process between.
        assert line == f"READY {self.protocol} port {self.port} pid {process.pid}\n", line or process.stderr.read()
        return process

    def load_and_serve(self, by_ring: bool) -> subprocess.Popen[str]:
        """By AF_XDP; or by the ring, which takes what arrives at an interface that was loaded after the daemon had
        begun.
        """
        if not by_ring:
            self.load()
            return self.serve()
        self.load("lo", "--generic")
        process = self.serve()
        self.load()
        return process

    def end(self, process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str]:
        process.send_signal(number)
        _, errors = process.communicate(timeout=10)
        return process.returncode, errors


class Client:
    """Sends messages from the rig's client."""

    def __init__(self, endpoint: Endpoint, family: int = socket.AF_INET, port: int = PORT) -> None:
        self.socket = endpoint.socket(family, socket.SOCK_DGRAM)
        self.port = port

    def send(self, payload: bytes, address: str) -> None:
        self.socket.sendto(payload, (address, self.port))

    def receive(self, timeout_s: float = 2) -> tuple[bytes, str] | None:
        """A datagram and who sent it, or None when none comes."""
        self.socket.settimeout(timeout_s)
        try:
            payload, sender = self.socket.recvfrom(2048)
        except TimeoutError:
            return None
        return payload, sender[0]

    def ask(self, kind: int, index: int, value: int, address: str) -> tuple[int, int, int]:
        """The (kind, index, value) that is answered, from the address that was asked."""
        self.send(MESSAGE.pack(kind, index, value), address)
        answer = self.receive()
        assert answer, f"no answer from {address}"
        payload, sender = answer
        assert sender == address
        return MESSAGE.unpack(payload)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A folder with a build of echo/, or of another; `defines` choose the variant."""
    folders: dict[tuple[str, ...], Path] = {}

    def build(
        *defines: str, make_variables: tuple[str, ...] = (), protocol: str = "echo", generated: Path | None = None
    ) -> Path:
        key = (protocol, *defines, "|", *make_variables)
        if key not in folders:
            name = hashlib.sha256(" ".join(key).encode()).hexdigest()[:8]
            folder = tmp_path_factory.mktemp(f"{protocol}-{name}-")
            command = [
                "make",
                "-s",
                "-C",
                str(ROOT / "runtime"),
                f"PROTOCOL={protocol}",
                f"GENERATED={generated or HERE / protocol}",
            ]
            command += [f"BUILD={folder}", "DEFINES=" + " ".join(f"-D{each}" for each in defines), *make_variables]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            assert done.stderr == "", "the build has something to say"
            folders[key] = folder
        return folders[key]

    return build


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder of root's that other users may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="stepwise-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("old-kernel") / "old_kernel.so"
    source = HERE / "old_kernel.c"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", source, "-o", target], check=True)
    return target


@pytest.fixture
def missing(library: Path) -> Missing:
    """A command's prefix that takes features away."""
    return lambda features: ("env", f"LD_PRELOAD={library}", f"OLD_KERNEL={features}")


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig("runtime") as opened:
        yield opened


@pytest.fixture
def build(rig: Rig, built: Callable[..., Path]) -> Build:
    return lambda *defines, **options: Echo(built(*defines, **options), rig)


@pytest.fixture
def echo(build: Build) -> Echo:
    return build()


@pytest.fixture
def client(rig: Rig) -> Iterator[Client]:
    made = Client(rig.client)
    yield made
    made.socket.close()


# Of the ring buffer, how far it was read and what is in it; and the limits that the daemon sets for it.
RING_MAPPINGS = ["r--s", "rw-s", "rw-s"]


def bpf_mappings(pid: int) -> list[str]:
    """Permissions of a daemon's mappings of maps."""
    return sorted(line.split()[1] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "bpf-map" in line)


def hold_port(endpoint: Endpoint) -> socket.socket:
    """Take the protocol's port."""
    taken = endpoint.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("0.0.0.0", PORT))
    return taken


def holder_of(path: Path) -> int:
    """The process that holds this claim, by what the kernel says; 0 where none does."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        claim = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, claim))
    return 0 if kind == fcntl.F_UNLCK else pid


def process_status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
