"""Runs the servers that are compared: the reflector, the generated program, the same steps over UDP, and others."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Protocol

from harness.bench.build import BenchError, Build
from harness.bench.link import PORT_FIRST, Link, SlotStates
from harness.data.hash_seed import PLAIN
from harness.rig import Endpoint, bpf

START_S_MAX = 60
STOP_S_MAX = 10
ANSWER_S_MAX = 2
ADDRESS_SLOTS = ".data.stepwise_address_slots"


class Server(Protocol):
    """One of the servers that are compared. `name` is its name in the report.

    link: the link on which it gets requests.
    polls_itself: its own process processes the packets.
    keeps: it keeps data that clients store.
    forgets_sessions: it closes a session that nobody has used for some time.
    """

    name: str
    link: Link
    polls_itself: bool
    keeps: bool
    forgets_sessions: bool

    def attach(self) -> None:
        """Start to answer on the server's end of the link."""

    def detach(self) -> None:
        """Leave the link to the next server. Tables keep their contents."""

    def states(self, clients: list[int]) -> SlotStates:
        """Return slots for these clients, with open sessions. The server must be attached."""

    def counters(self) -> dict[str, int]:
        """Its counters by name, as far as they are not zero."""

    def run_ns(self) -> int:
        """CPU time that the server has used outside of softirqs."""

    def close(self) -> None: ...


class XdpServer:
    """An XDP program on the server's interface. Attaching it replaces the program before."""

    polls_itself = False
    keeps = True
    forgets_sessions = False

    def __init__(
        self, name: str, link: Link, path: Path, program: str, *more: str, as_xdp: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self.link = link
        self.object = bpf.Object.open(path, only=(program, *more), as_xdp=as_xdp)
        self.program = self.object.program(program)

    def attach(self) -> None:
        with self.link.rig.server.entered():
            self.program.attach_xdp(self.link.rig.server.ifindex)

    def detach(self) -> None:
        """Do nothing: the next program replaces this one."""

    def run_ns(self) -> int:
        return 0

    def close(self) -> None:
        self.object.close()


class Reflector(XdpServer):
    """Turns each packet round, which is the bound of the rig. It has no sessions."""

    keeps = False

    def __init__(self, link: Link, build: Build) -> None:
        super().__init__("reflector", link, build.reflector_object, "bench_reflector")

    def states(self, clients: list[int]) -> SlotStates:
        return self.link.blank_states([[client] + [0] * 4 for client in clients])

    def counters(self) -> dict[str, int]:
        return {}


class Generated(XdpServer):
    """The generated XDP program, and those that it hands packets to, if there are any, over tables of their own."""

    def __init__(self, link: Link, build: Build) -> None:
        self.build = build
        xdp, ahead, gathered = (f"{build.protocol}_{name}" for name in ("xdp", "ahead", "gathered"))
        super().__init__("generated", link, build.server_object, xdp, ahead, gathered)
        self._ahead = next((each for each in self.object.programs() if each.name == ahead), None)
        self._enter_address(link.rig.server.ipv4)

    def _enter_address(self, address: str) -> None:
        """Enter the host's own address, as the loader does, so that packets to it take their usual path.

        See runtime/abi/stepwise_addresses.h.
        """
        packed = ip_address(address).packed
        at = len(packed) * (packed[-1] % 16)
        for slots in self.object.maps():
            if slots.name == ADDRESS_SLOTS:  # missing in a protocol that does not look at the destination
                slots.update(0, bytes(at) + packed + bytes(slots.value_size - at - len(packed)))

    def attach(self) -> None:
        """Attach, and enter the interface in the map of devices under its own number, as the daemon would."""
        super().attach()
        if self._ahead is not None:
            server = self.link.rig.server
            with server.entered():
                self.object.map("stepwise_devices").update(
                    server.ifindex, struct.pack("<Ii", server.ifindex, self._ahead.fd)
                )

    def states(self, clients: list[int]) -> SlotStates:
        plugin, codec = self.build.plugin, self.build.codec
        return self.link.blank_states(plugin.open_in_tables(self.object.map, clients, codec))

    def counters(self) -> dict[str, int]:
        return counted_by(self.object.map("counters"), self.build)


class WithDaemon:
    """The generated program and its daemon, which serves the rare path and sweeps on a CPU of its own."""

    name = "generated"
    polls_itself = False
    keeps = True
    forgets_sessions = True

    def __init__(self, link: Link, build: Build, cpu: int) -> None:
        self.link = link
        self.build = build
        self._cpu = cpu
        self._process: subprocess.Popen[Any] | None = None
        self.segments = build.home / "segments"
        self._is_attached = False
        self._has_tables = False

    def attach(self) -> None:
        """Attach with the daemon's loader, which refuses an interface that has another program."""
        with self.link.rig.server.entered():
            bpf.detach_xdp(self.link.rig.server.ifindex)
        self._run("load", self.link.rig.server.iface, "--first", *self._seed_option())
        self._is_attached = self._has_tables = True
        if self._process is None:
            self._process = started(
                self.link.rig.server, self._cpu, [self.build.daemon, "serve", *self._segments_option()]
            )

    def detach(self) -> None:
        self._run("unload", self.link.rig.server.iface)
        self._is_attached = False

    def states(self, clients: list[int]) -> SlotStates:
        return opened_by_messages(self.link, self.build, clients)

    def counters(self) -> dict[str, int]:
        return {name: count for name, count in self._status()["counters"].items() if count}

    def forwarded(self) -> int:
        """Requests that reached the daemon, or were lost on the way because there was no room."""
        daemon: dict[str, int] = self._status()["daemon"]
        return daemon["received"] + daemon["overflowed"]

    def run_ns(self) -> int:
        """Zero, because the daemon runs on another CPU."""
        return 0

    def daemon_ns(self) -> int:
        return process_run_ns(running(self._process))

    def close(self) -> None:
        if self._is_attached:
            self.detach()
        if self._process:
            stop(self._process)
        if self._has_tables:
            self._run("purge")
        shutil.rmtree(self.segments, ignore_errors=True)

    def _seed_option(self) -> list[str]:
        """Choose the plain seed, if the protocol has one, so that runs can be compared.

        Crowded keys are chosen by the seed (spec/kv/bench/bench_workload.h).
        """
        return ["--seed", str(PLAIN)] if hasattr(self.build.codec, "seed") else []

    def _segments_option(self) -> list[object]:
        """Choose the folder of the drain, on the disk of the build, and remove what a former run left there."""
        shutil.rmtree(self.segments, ignore_errors=True)
        return ["--segments", self.segments] if self._status()["drains"] else []

    def _status(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self._run("status", "--json"))
        return said

    def _run(self, *arguments: str) -> str:
        done = self.link.rig.server.run([self.build.daemon, "--quiet", *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise BenchError(f"{self.build.daemon.name} {' '.join(arguments)}: {done.stderr.strip()}")
        said: str = done.stdout
        return said


class ProcessServer:
    """A server in userspace, on the core that processes the packets."""

    polls_itself = True
    keeps = True
    forgets_sessions = False

    def __init__(self, name: str, link: Link, cpu: int, command: list[object]) -> None:
        self.name = name
        self.link = link
        self._cpu = cpu
        self._command = command
        self._pass = bpf.load_xdp_pass()
        self._process: subprocess.Popen[Any] | None = None

    def attach(self) -> None:
        rig = self.link.rig
        with rig.server.entered():
            self._pass.attach_xdp(rig.server.ifindex)
        if self._process is None:
            self._process = self._start()

    def _start(self) -> subprocess.Popen[Any]:
        return started(self.link.rig.server, self._cpu, self._command)

    @property
    def pid(self) -> int:
        """The process id of a server that was attached."""
        return running(self._process).pid

    def detach(self) -> None:
        """Do nothing: the server waits for datagrams, and nobody sends any."""

    def states(self, clients: list[int]) -> SlotStates:
        """Return slots without sessions."""
        return self.link.blank_states([[client] + [0] * 4 for client in clients])

    def counters(self) -> dict[str, int]:
        return {}

    def run_ns(self) -> int:
        return process_run_ns(running(self._process))

    def close(self) -> None:
        if self._process:
            stop(self._process)
        os.close(self._pass.fd)


class KernelUdp(ProcessServer):
    """The same generated steps behind a socket: recvmmsg, sendmmsg, one thread."""

    def __init__(self, link: Link, build: Build, cpu: int) -> None:
        super().__init__("kernel UDP", link, cpu, [build.udp_server, "-t", "1", "-p", link.port])
        self.build = build

    def states(self, clients: list[int]) -> SlotStates:
        return opened_by_messages(self.link, self.build, clients)


class Frames(ProcessServer):
    """The same generated steps behind an AF_XDP socket. It is in copy mode, the only mode of a veth.

    Replies leave as frames. The server sleeps while no packet comes.
    """

    def __init__(self, link: Link, build: Build, cpu: int) -> None:
        self.object = bpf.Object.open(build.frames_object)
        self.object.variable("port").write(struct.pack("<Q", link.port))
        sockets = self.object.map("sockets")
        super().__init__("AF_XDP", link, cpu, [build.frames_server, link.rig.server.ifindex, 0, sockets.fd])
        self.build = build

    def attach(self) -> None:
        rig = self.link.rig
        with rig.server.entered():
            self.object.program("bench_frames").attach_xdp(rig.server.ifindex)
        if self._process is None:
            self._process = started(rig.server, self._cpu, self._command, pass_fds=[self.object.map("sockets").fd])

    def states(self, clients: list[int]) -> SlotStates:
        return opened_by_messages(self.link, self.build, clients)

    def close(self) -> None:
        super().close()
        self.object.close()


def opened_by_messages(link: Link, build: Build, clients: list[int]) -> SlotStates:
    """Open a session for each client by messages, as any client does, and return their slots."""
    with exchanging(link) as exchange:
        return link.blank_states(build.plugin.open_by_messages(exchange, clients, build.codec))


def counted_by(counters: bpf.Map, build: Build) -> dict[str, int]:
    """The generated programs' counters, summed over all CPUs."""
    total: Counter[str] = Counter()
    for values in counters.lookup_on_each_cpu(0):
        for name, (value,) in zip(build.counter_names, struct.iter_unpack("<Q", values), strict=True):
            total[name] += value
    return dict(+total)


def started(endpoint: Endpoint, cpu: int, command: list[object], pass_fds: Sequence[int] = ()) -> subprocess.Popen[Any]:
    """Start a real-time process on one CPU, and wait until it is ready. pass_fds: our descriptors that it inherits."""
    argv = [str(word) for word in ("chrt", "--fifo", 1, "taskset", "--cpu-list", cpu, *command)]
    process = endpoint.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=pass_fds)
    assert process.stdout is not None, "it is a pipe"
    ready, _, _ = select.select([process.stdout], [], [], START_S_MAX)
    if not ready or not process.stdout.readline():
        process.kill()
        raise BenchError(f"{Path(str(command[0])).name} did not start: {process.communicate()[1].strip()}")
    return process


def running(process: subprocess.Popen[Any] | None) -> subprocess.Popen[Any]:
    """Return a server's process. Raises BenchError if the server was never attached, and so has none."""
    if process is None:
        raise BenchError("looking for the process of a server: it must be attached first")
    return process


def stop(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S_MAX)
    process.kill()


def process_run_ns(process: subprocess.Popen[Any]) -> int:
    """CPU time of all threads of a process."""
    tasks = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks)


@contextlib.contextmanager
def exchanging(link: Link) -> Iterator[Callable[[bytes], bytes]]:
    """Yield a function that sends a datagram from the client's end, and returns the answer."""
    rig = link.rig
    with rig.client.socket() as sock:
        sock.settimeout(ANSWER_S_MAX)
        sock.bind((rig.client.ipv4, PORT_FIRST - 1))  # the client's program takes packets to ports from PORT_FIRST on
        sock.connect((rig.server.ipv4, link.port))

        def exchange(request: bytes) -> bytes:
            sock.send(request)
            try:
                return sock.recv(2048)
            except (TimeoutError, ConnectionRefusedError):
                raise BenchError("cannot open a session: the server does not answer") from None

        yield exchange
