"""Loads a small build of a protocol, with requests that have an effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.protocols import protocols
from harness.conform.build import ROOT
from harness.conform.campaign import EARLY_PARTS, Campaign, Stage, Trial
from harness.conform.cases import Case
from harness.conform.kernel import Input, Output
from harness.data.cells import LAYOUT
from harness.data.frames import Frame
from harness.mutants.catalogue import sections_of
from harness.rig import bpf


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where builds go; TLC's results are kept there."""
    return tmp_path_factory.mktemp("work")


class Bench:
    """The XDP and TC programs of a build, to be run on any packet beside cells that a request would change.

    request: a case that XDP answers and that changes cells; payload: of it.
    """

    def __init__(self, stage: Stage, programs: bpf.Object) -> None:
        self.stage = stage
        self.trial = Trial(stage, LAYOUT)
        self.protocol = stage.build.protocol
        self._programs = programs
        self.request = self._first("xdp")
        self.columns = self.trial.comparison.columns([self.request])
        self.input = self.trial.comparison.inputs([self.request], self.columns)[0]
        self.payload = self.trial.comparison.frame(self.request, 0).payload
        self._xdp = self.trial.runner(programs, "xdp", 0, self.columns)

    def _first(self, hook: str) -> Case:
        """One that is answered, with a change of a cell, and of the packet as much as any."""
        answered = [
            case
            for case in self.stage.cases
            if case.family.hook == hook and case.verdict == "Reply" and case.writes and not case.family.trouble.section
        ]
        return max(
            answered, key=lambda case: sum(case.answer[name] != case.message[name] for name in self.protocol.wire)
        )

    def frame(self, version: int) -> Frame:
        """A right request."""
        return Frame(self.payload, self.protocol.port, version=version)

    def xdp(self, packet: bytes) -> Output:
        """Runs XDP on a packet."""
        return self._xdp.run([replace(self.input, packet=packet)])[0]

    def many(self, packets: list[bytes]) -> list[Output]:
        """Runs XDP on many packets."""
        return self._xdp.run([replace(self.input, packet=packet) for packet in packets])

    def tc(self) -> tuple[Case, Input]:
        """A right completion."""
        case = self._first("tc")
        return case, self.trial.comparison.inputs([case], self.columns)[0]

    def run_tc(self, given: Input) -> Output:
        """Runs TC on a packet of this host."""
        return self.trial.runner(self._programs, "tc", 0, self.columns).run([given])[0]

    def tc_program(self) -> bpf.Program:
        """The TC program, for other contexts."""
        return self._programs.program(f"{self.protocol.name}_tc")

    def counter(self, found: Output) -> str:
        """The one counter that rose."""
        assert found.rises == 1, f"counted {found.rises} times"
        return self.trial.comparison.counters[found.counter]


def staged(protocol: str, form: str = LAYOUT) -> Stage:
    """The small build of a protocol, with a few of its cases: for packets it takes one of each hook."""
    return Campaign(ROOT / "spec" / protocol, ROOT / "build" / "conform" / protocol).stage(form, part=EARLY_PARTS[0])


@pytest.fixture(scope="package", params=sorted(protocols(), key=sections_of))
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Each protocol's bench, that of the least one first: a mutant's test ends with the first one that notices."""
    stage = staged(request.param)
    with bpf.Object.open(stage.build.object) as programs:
        yield Bench(stage, programs)
