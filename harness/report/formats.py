"""What each command leaves in harness/results, as the report reads it: more than is named here may be there."""

from __future__ import annotations

from dataclasses import dataclass

import pydantic

from harness.results import Kept


class ReportError(RuntimeError):
    """The report cannot be made; the message says of what, and what would help."""


class Found(pydantic.BaseModel):
    """What a command found."""

    model_config = pydantic.ConfigDict(frozen=True, allow_inf_nan=False)


# --- check ---------------------------------------------------------------------------------------


class Step(Found):
    """One of a counterexample: harness/check/trace.py."""

    number: int
    source: str
    target: str
    title: str
    sent: str = ""
    changes: list[str] = []


class Property(Found):
    name: str
    sentence: str


class Model(Found):
    """violated: None where the model holds. surprises: how it differs from what is expected of it."""

    name: str
    module: str
    size: str
    must_fail: bool
    expected: str
    verdict: str
    violated: str | None
    surprises: list[str]
    shows: str
    states: int
    distinct: int
    depth: int
    seconds: float
    properties: list[str]
    steps: list[Step]


class Check(Found):
    protocol: str
    tlc: str
    properties: list[Property]
    models: list[Model]


# --- conform -------------------------------------------------------------------------------------


class Branch(Found):
    """A part of the TLA+ and how often it was taken. excused: only taken after a lost race, which its build does not
    have.
    """

    label: str
    file: str
    line: int
    column: int
    last_line: int
    last_column: int
    times: int
    excused: bool

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Build(Found):
    """branches: empty where the build does not count them. steps: evaluations of each."""

    name: str
    is_form: bool
    inputs: dict[str, int]
    seconds: float
    mismatches: list[str]
    steps: dict[str, int]
    branches: list[Branch]

    @property
    def pairs(self) -> int:
        return sum(self.steps.values())

    @property
    def asked(self) -> int:
        """How many branches have to be taken."""
        return sum(not branch.excused for branch in self.branches)

    @property
    def taken(self) -> int:
        return sum(bool(branch.times) for branch in self.branches)


class Conform(Found):
    """sources: the TLA+ that the branches are of, by file."""

    protocol: str
    seed: int
    problems: list[str]
    builds: list[Build]
    sources: dict[str, str]


# --- mutants -------------------------------------------------------------------------------------


class Mutant(Found):
    """named: the check that must notice. how: what it said, or what is wrong."""

    name: str
    protocol: str
    place: str
    named: str
    caught: bool
    how: str
    seconds: float


class Mutants(Found):
    witness: str
    mutants: list[Mutant]


# --- kernels -------------------------------------------------------------------------------------


class Program(Found):
    """What one verifier made of a program; its figures mean nothing where it did not load.

    form: which of the layout's forms was compiled for this kernel. declared: whether the layout says that the program
    is for it.
    """

    protocol: str
    program: str
    form: str = ""
    verdict: str
    insns: int | None
    states: int | None
    stack: int | None
    jited_bytes: int | None
    budget: dict[str, int] | None
    baseline: dict[str, int] | None
    declared: bool
    faults: list[str]

    @property
    def loads(self) -> bool:
        return self.verdict == "success"


class KernelConformance(Found):
    protocol: str
    form: str
    inputs: int
    mismatches: int
    seconds: float
    faults: list[str] = []

    @property
    def problems(self) -> list[str]:
        """A sentence each."""
        wrong = [f"{self.mismatches:,} of {self.inputs:,} inputs come out otherwise"] if self.mismatches else []
        return wrong + self.faults


class Kernel(Found):
    """kernel: its release."""

    kernel: str
    boot_seconds: float | None
    programs: list[Program]
    conformance: list[KernelConformance]


# --- bench ---------------------------------------------------------------------------------------


class Spread(Found):
    """Median and quartiles of `count` runs."""

    median: float
    low: float
    high: float
    count: int


class Row(Found):
    workload: str
    server: str
    figures: dict[str, Spread]
    notes: list[str] = []


class Axis(Found):
    title: str
    unit: str = ""
    log: bool = False

    @property
    def label(self) -> str:
        return f"{self.title} ({self.unit})" if self.unit else self.title


class Point(Found):
    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Curve(Found):
    title: str
    sentence: str = ""
    x: Axis
    y: Axis
    series: dict[str, list[Point]]
    notes: list[str] = []


class Bench(Found):
    protocol: str
    settings: dict[str, object]
    sections: dict[str, list[Row]]
    targets: list[str] = []
    curves: list[Curve] = []


# --- fuzz ----------------------------------------------------------------------------------------


class Stage(Found):
    name: str
    count: int
    unit: str
    seconds: float
    faults: int


class Failure(Found):
    text: str
    saved: str | None = None


class Fuzz(Found):
    seed: int
    minutes: float | None
    stages: list[Stage]
    failures: list[Failure]


# --- All of them ---------------------------------------------------------------------------------

KINDS: dict[str, type[Found]] = {
    "check": Check,
    "conform": Conform,
    "kernels": Kernel,
    "mutants": Mutants,
    "bench": Bench,
    "fuzz": Fuzz,
}


def figure(value: float) -> str:
    """Four digits, or more where they stand before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


@dataclass(frozen=True)
class Run:
    """One run of a command. found: one of KINDS; None of a command that the report has no part for."""

    kept: Kept
    found: Found | None


def understood(kept: Kept) -> Run:
    """Raises ReportError where the results are not as this version's command writes them."""
    kind = KINDS.get(kept.command)
    if kind is None:
        return Run(kept, None)
    try:
        return Run(kept, kind.model_validate(kept.found))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ReportError(
            f"the results of {kept.command} on {kept.subject} are not as this version of Stepwise writes them "
            f"({place}: {first['msg']}): run the command again, or remove {kept.command}/{kept.subject}.json"
        ) from None
