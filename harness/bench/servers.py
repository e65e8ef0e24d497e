"""Who answers on the link: the reflector, the generated program, the same steps as a kernel-UDP server."""

from __future__ import annotations

import contextlib
import os
import select
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

from harness.bench.build import BenchError
from harness.bench.link import PORT_FIRST, Link, SlotStates
from harness.rig import bpf

START_S_MAX = 20
ANSWER_S_MAX = 2


class Server(Protocol):
    """One of those that are compared. `name` is how the report calls it.

    polls_itself: packets are processed in the server's own process.
    """

    name: str
    polls_itself: bool

    def attach(self) -> None:
        """Begin to answer on the server's end of the link."""

    def detach(self) -> None:
        """Leave the link to the next one; tables keep what they hold."""

    def states(self, clients: list[int]) -> SlotStates:
        """Slots for these clients, their sessions open. The server is attached."""

    def counters(self) -> dict[str, int]:
        """What it has counted so far, by name; those that are not zero."""

    def run_ns(self) -> int:
        """CPU time that it has used outside of softirqs."""

    def close(self) -> None: ...


class XdpServer:
    """A program on the server's interface. Attaching replaces what was there."""

    polls_itself = False

    def __init__(self, name: str, link: Link, path: Path, program: str) -> None:
        self.name = name
        self.link = link
        self.object = bpf.Object.open(path, only=program)
        self.program = self.object.program(program)

    def attach(self) -> None:
        with self.link.rig.server.entered():
            self.program.attach_xdp(self.link.rig.server.ifindex)

    def detach(self) -> None:
        """Nothing to do: the next one replaces it."""

    def run_ns(self) -> int:
        return 0

    def close(self) -> None:
        self.object.close()


class Reflector(XdpServer):
    """The bound of the rig. It knows no sessions."""

    def __init__(self, link: Link) -> None:
        super().__init__("reflector", link, link.build.reflector_object, "bench_reflector")

    def states(self, clients: list[int]) -> SlotStates:
        return self.link.blank_states([[client] + [0] * 4 for client in clients])

    def counters(self) -> dict[str, int]:
        return {}


class Generated(XdpServer):
    """The generated XDP program, over tables of its own."""

    def __init__(self, link: Link) -> None:
        build = link.build
        super().__init__("generated", link, build.server_object, f"{build.protocol}_xdp")

    def states(self, clients: list[int]) -> SlotStates:
        plugin, codec = self.link.build.plugin, self.link.build.codec
        return self.link.blank_states(plugin.open_in_tables(self.object.map, clients, codec))

    def counters(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for values in self.object.map("counters").lookup(0):
            for name, (value,) in zip(self.link.build.counter_names, struct.iter_unpack("<Q", values), strict=True):
                total[name] += value
        return dict(+total)


class KernelUdp:
    """The same generated steps behind a socket: recvmmsg, sendmmsg, one thread on the packets' own core."""

    name = "kernel UDP"
    polls_itself = True

    def __init__(self, link: Link, cpu: int) -> None:
        self.link = link
        self.cpu = cpu
        self._pass = bpf.load_xdp_pass()
        self._process: subprocess.Popen[Any] | None = None

    def attach(self) -> None:
        rig = self.link.rig
        with rig.server.entered():
            self._pass.attach_xdp(rig.server.ifindex)
        if self._process is None:
            command = ["chrt", "--fifo", "1", "taskset", "--cpu-list", str(self.cpu), str(self.link.build.udp_server), "-t", "1"]
            self._process = rig.server.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            ready, _, _ = select.select([self._process.stdout, self._process.stderr], [], [], START_S_MAX)
            if not ready or self._process.poll() is not None:
                self._process.kill()
                raise BenchError(f"{self.link.build.udp_server} does not start: {self._process.communicate()[1].strip()}")

    def detach(self) -> None:
        """It goes on waiting for datagrams, and nobody sends any."""

    def states(self, clients: list[int]) -> SlotStates:
        rig, build = self.link.rig, self.link.build
        with rig.client.socket() as sock:
            sock.settimeout(ANSWER_S_MAX)
            sock.bind((rig.client.ipv4, PORT_FIRST - 1))  # the client's program takes those from PORT_FIRST on
            sock.connect((rig.server.ipv4, build.codec.PORT))

            def exchange(request: bytes) -> bytes:
                sock.send(request)
                try:
                    return sock.recv(2048)
                except TimeoutError:
                    raise BenchError(f"{build.udp_server.name} does not answer") from None

            return self.link.blank_states(build.plugin.open_by_messages(exchange, clients, build.codec))

    def counters(self) -> dict[str, int]:
        return {}

    def run_ns(self) -> int:
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks)

    def close(self) -> None:
        if self._process:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(3)
        os.close(self._pass.fd)
