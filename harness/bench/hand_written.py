"""Runs XDP programs that others wrote by hand, beside the generated ones. They are not part of this repository."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from harness.bench.build import BenchError, Build, Client, compile_bpf
from harness.bench.link import Link, SlotStates
from harness.bench.servers import XdpServer
from harness.rig import Rig

CLIENT = Path(__file__).with_name("client.bpf.c")


@dataclass(frozen=True)
class HandWritten:
    """A program, and how it is asked.

    name: in the report. home: the environment variable that names the folder of its compiled programs.
    path: of the object file in that folder. program: its name in there.
    requests: the header, in the protocol's bench folder, with the requests that slots send to it.
    port: the server's. payload_size: bytes of a message.
    without: workloads that its XDP program leaves to another program, which is not run.
    """

    name: str
    home: str
    path: str
    program: str
    requests: str
    port: int
    payload_size: int
    without: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """A sentence that says why the program is not run; empty if it is there."""
        if os.environ.get(self.home):
            return ""
        return f"{self.name} is left out: set {self.home} to a folder with its compiled programs, such as {self.path}"

    def opened(self, rig: Rig, build: Build, cpu: int) -> HandWrittenServer:
        """Load the program into the kernel, over tables of its own.

        Raises BenchError if its object file is missing.
        """
        compiled = Path(os.environ[self.home]) / self.path
        if not compiled.is_file():
            raise BenchError(f"cannot run {self.name}: {self.home} names a folder without {self.path}")
        client = compile_bpf(CLIENT, build.home / self.name.lower(), build.include, self.requests)
        link = Link(rig, Client(client, self.port, self.payload_size), cpu)
        try:
            return HandWrittenServer(self, link, compiled)
        except BaseException:
            link.close()
            raise


class HandWrittenServer(XdpServer):
    """A server without sessions, whose counters are unknown. It owns its link."""

    def __init__(self, what: HandWritten, link: Link, compiled: Path) -> None:
        super().__init__(what.name, link, compiled, what.program, as_xdp=(what.program,))
        self.without = what.without

    def states(self, clients: list[int]) -> SlotStates:
        return self.link.blank_states([[client] + [0] * 4 for client in clients])

    def counters(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        super().close()
        self.link.close()
