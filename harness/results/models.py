"""Defines the findings that commands keep: the commands write them, and `just report` reads them."""

from __future__ import annotations

import pydantic


class Found(pydantic.BaseModel):
    """The findings of a command, or a part of them."""

    model_config = pydantic.ConfigDict(frozen=True, allow_inf_nan=False)


# --- check ---------------------------------------------------------------------------------------


class Step(Found):
    """One step of a counterexample: see harness/tla/trace.py."""

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
    """One model. violated: None if it holds. surprises: differences from the expected result."""

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
    """A branch of the TLA+ and how often it was taken.

    excused: only a lost race leads to the branch, and its build has no races.
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
    """One build. branches: empty if the build does not count them. steps: evaluations of each step."""

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
        """Number of branches that must be taken."""
        return sum(not branch.excused for branch in self.branches)

    @property
    def taken(self) -> int:
        return sum(bool(branch.times) for branch in self.branches)


class Conform(Found):
    """One protocol. sources: the TLA+ that contains the branches, by file."""

    protocol: str
    seed: int
    problems: list[str]
    builds: list[Build]
    sources: dict[str, str]


# --- prove ---------------------------------------------------------------------------------------


class ProvedLeaf(Found):
    """A leaf of a step. arms: the arms of the decisions that lead to it. why: the reason if it is not proved."""

    arms: str
    name: str
    verdict: str
    proved: bool
    seconds: float
    jumps: int
    why: str


class ProvedStep(Found):
    """A step. why: the reason if no proof was tried."""

    step: str
    seconds: float
    leaves: list[ProvedLeaf]
    why: str

    @property
    def proved(self) -> int:
        """The number of its leaves that are proved."""
        return sum(leaf.proved for leaf in self.leaves)

    @property
    def is_proved(self) -> bool:
        """Whether every leaf is proved."""
        return bool(self.leaves) and not self.why and self.proved == len(self.leaves)

    @property
    def jumps(self) -> int:
        """The most jumps at which ways parted, of all leaves."""
        return max((leaf.jumps for leaf in self.leaves), default=0)


class Prove(Found):
    """One protocol's steps."""

    protocol: str
    problems: list[str]
    steps: list[ProvedStep]

    @property
    def leaves(self) -> int:
        """The number of all steps' leaves."""
        return sum(len(step.leaves) for step in self.steps)

    @property
    def proved(self) -> int:
        """The number of leaves that are proved."""
        return sum(step.proved for step in self.steps)

    @property
    def steps_proved(self) -> int:
        """The number of steps of which every leaf is proved."""
        return sum(step.is_proved for step in self.steps)

    @property
    def left(self) -> list[tuple[str, str]]:
        """Steps and leaves that are not proved, each with the reason."""
        steps = [(step.step, step.why) for step in self.steps if step.why]
        leaves = [(step.step, leaf) for step in self.steps for leaf in step.leaves if not leaf.proved]
        return [*steps, *((f"{step}, leaf {leaf.arms} {leaf.name}", leaf.why) for step, leaf in leaves)]


# --- mutants -------------------------------------------------------------------------------------


class Mutant(Found):
    """One seeded fault. named: the check that must notice it. how: the check's message, or what is wrong."""

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


# --- mutants --steps -----------------------------------------------------------------------------


class FaultKind(Found):
    """The faults of one kind in the steps, by their verdicts."""

    name: str
    faults: int
    killed: int
    stopped: int
    refused: int
    survive: int


class StoppedFault(Found):
    """A fault with which TLC cannot evaluate the steps. model: where it tried to. complaint: the last line of TLC's."""

    name: str
    place: str
    model: str
    complaint: str


class RefusedFault(Found):
    """A fault that no model noticed, and that the generator refuses. complaint: the first of the generator's."""

    name: str
    place: str
    complaint: str


class Survivor(Found):
    """A fault that no model noticed, and that the generator accepts.

    models: how many models were run with it; it made a difference in each. given_up: how many of these did not end in
    time. reason: from unseen.yaml; empty if there is none.
    """

    name: str
    place: str
    models: int
    given_up: int
    reason: str


class StepFaults(Found):
    """All faults in one protocol's steps.

    seconds: how long models ran with faults. stale: entries of unseen.yaml that fit no survivor.
    """

    protocol: str
    seconds: float
    kinds: list[FaultKind]
    stopped: list[StoppedFault]
    refused: list[RefusedFault]
    survivors: list[Survivor]
    stale: list[str]

    @property
    def total(self) -> FaultKind:
        """The faults of all kinds."""
        return FaultKind(
            name="all",
            faults=sum(kind.faults for kind in self.kinds),
            killed=sum(kind.killed for kind in self.kinds),
            stopped=sum(kind.stopped for kind in self.kinds),
            refused=sum(kind.refused for kind in self.kinds),
            survive=sum(kind.survive for kind in self.kinds),
        )

    @property
    def unexplained(self) -> list[Survivor]:
        """The survivors without a reason."""
        return [survivor for survivor in self.survivors if not survivor.reason]

    @property
    def explained(self) -> list[Survivor]:
        return [survivor for survivor in self.survivors if survivor.reason]

    @property
    def problems(self) -> list[str]:
        """The problems, a sentence each."""
        alive = [f"{each.name} ({each.place}): survives without a reason" for each in self.unexplained]
        return alive + [f"{entry!r} in unseen.yaml fits no fault that survives" for entry in self.stale]


# --- kernels -------------------------------------------------------------------------------------


class Program(Found):
    """One program on one kernel's verifier. Its figures mean nothing if it did not load.

    form: the form of the layout that was compiled for this kernel. declared: whether the layout has the program for
    this kernel.
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
        """The problems, a sentence each."""
        wrong = [f"{self.mismatches:,} of {self.inputs:,} inputs have another result"] if self.mismatches else []
        return wrong + self.faults


class Kernel(Found):
    """One kernel. kernel: its release."""

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
    """One axis. title: the quantity. unit: in words, or "" for a share or a count. log: whether it is logarithmic."""

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


# --- veristat ------------------------------------------------------------------------------------


class Verified(Found):
    """One program on the running kernel's verifier. faults: a sentence each."""

    program: str
    verdict: str
    insns: int
    states: int
    stack: int
    budget: dict[str, int] | None
    faults: list[str]

    @property
    def loads(self) -> bool:
        return self.verdict == "success"


class Veristat(Found):
    protocol: str
    programs: list[Verified]


# --- fill ----------------------------------------------------------------------------------------


class FillPass(Found):
    """One pass over all keys. complaints: counts of what was not right. again: requests that were sent again."""

    title: str
    seconds: float
    requests: int
    complaints: dict[str, int]
    again: int
    rare_share: float


class Fill(Found):
    """Full tables. load_seconds, reload_seconds: until the daemon serves empty tables, and full ones."""

    protocol: str
    keys: int
    table_bytes: int
    load_seconds: float
    reload_seconds: float
    kills: int
    passes: list[FillPass]


# --- docker --------------------------------------------------------------------------------------


class ContainerStep(Found):
    """One check, or the build of an image. status: of its command; 0 if it passed."""

    name: str
    status: int
    seconds: float


class Containers(Found):
    """The checks in containers. smoke: only a little of each ran."""

    smoke: bool
    engine: str
    image_bytes: dict[str, int | None]
    capabilities: dict[str, list[str]]
    steps: list[ContainerStep]
