"""A campaign runs every form of a protocol's programs on the whole domain and collects the results."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.c import names as c_names
from codegen.emit.branch_numbers import Branch, Leaves
from harness.builds.program_variants import merged
from harness.conform import drain_cases
from harness.conform.build import ROOT, Build, Sources, compile_build, override, write
from harness.conform.campaign_cache import Ground, Shared
from harness.conform.cases import Case
from harness.conform.compare import Comparison, Mismatch
from harness.conform.domain import Domain
from harness.conform.gathered import count_of
from harness.conform.kernel import Input, Output, Runner, cells_not_zero
from harness.conform.native import Native
from harness.conform.oracle import EVERYTHING, Oracle, Part
from harness.data.btf import Shapes
from harness.data.cells import FORMS, LAYOUT, cell_codecs
from harness.data.model_values import Patterns
from harness.rig import bpf

CONTROLS = ("stepwise_conform_env", "conform_interference")
MISMATCHES_MAX = 20
BATCH = 4000
EARLY_PARTS = Part(8), Part(8, others=True)


@dataclass
class Result:
    """The result of one build.

    inputs: how many inputs were run, by hook.
    taken: how often each branch was taken.
    calmly: the same, but only in cases in which no section lost its races.

    complete: whether the build has every family. A build lacks those with a lost race if its tables are under
    spin_lock.
    mismatches: at most MISMATCHES_MAX.
    """

    name: str
    inputs: dict[str, int] = field(default_factory=dict)
    branches: list[Branch] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    calmly: list[int] = field(default_factory=list)
    complete: bool = True
    mismatches: list[Mismatch] = field(default_factory=list)
    stray: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def evaluations(self) -> dict[str, int]:
        """Counts how often each step was evaluated, which is how often its leaves were reached."""
        counts: dict[str, int] = {}
        for branch, times in zip(self.branches, self.taken):
            step, _, rest = branch.label.partition(".")
            counts[step] = counts.get(step, 0) + (0 if rest.startswith("choice.") else times)
        return counts

    def pairs(self) -> int:
        """Counts the evaluations of all steps."""
        return sum(self.evaluations().values())

    def covered(self, without: int = 0) -> str:
        """Describes how many branches were taken, for people. without: branches that this form cannot take."""
        total = len(self.branches) - without
        missed = len(self.uncovered()) - without
        return f"{100 * (total - missed) / total:.4g}% of {total} branches"

    def uncovered(self) -> list[Branch]:
        """The branches that no input took."""
        return [branch for branch, times in zip(self.branches, self.taken) if not times]

    def after_a_loss(self) -> set[Branch]:
        """The branches that were taken, but only after a section had lost its races."""
        return {
            branch
            for branch, times, calm in zip(self.branches, self.taken, self.calmly, strict=True)
            if times and not calm
        }


@dataclass(frozen=True)
class Stage:
    """A build and the cases to run on it.

    noise: the contents of cells that a case does not name; zero if empty.
    complete: whether it has every family.
    """

    build: Build
    patterns: Patterns
    noise: dict[str, list[dict[str, Any]]]
    cases: list[Case]
    complete: bool = True


class Campaign:
    """Runs the comparison of one protocol.

    spec: its folder.
    work: the folder for builds.
    report: receives messages about progress.
    stop_early: whether to stop after the first mismatch.
    edits, program: see Sources.
    shared: results of the protocol's other campaigns to reuse.
    """

    def __init__(
        self,
        spec: Path,
        work: Path,
        report: Callable[[str], None] = lambda _: None,
        stop_early: bool = False,
        edits: tuple[tuple[str, str, str], ...] = (),
        program: Path | None = None,
        shared: Shared | None = None,
    ) -> None:
        self.sources = Sources(ROOT, spec, work, edits, program)
        self._shared = shared or Shared(spec)
        self.text = self._shared.text
        self.shipped = self._shared.shipped
        self._report = report
        self._stop_early = stop_early

    # --- Builds ----------------------------------------------------------------------------

    def stage(self, form: str, variant: str = "", part: Part = EVERYTHING) -> Stage:
        """Compiles the small build of one form, or a variant of it, and gathers the cases to run on it."""
        build = self._written(form, variant)
        compile_build(self.sources, build)
        ground = self._ground(build, variant)
        cases = self._shared.cases(ground, part, self.sources.work / "oracle")
        return Stage(build, ground.patterns, ground.noise, cases, ground.complete)

    def make_ready(self, oracles: Path) -> None:
        """Prepares what campaigns need first if they share it and stop early. oracles: their folder of TLC's output."""
        build = self._written(LAYOUT)
        self._shared.cases(self._ground(build), EARLY_PARTS[0], oracles)

    def _written(self, form: str, variant: str = "") -> Build:
        small = merged(self.text.small, self.text.variants[variant]) if variant else self.text.small
        return self._generated(
            form, override(small, self.shipped, form), "small-" + (variant or form).replace(" ", "-")
        )

    def _generated(self, form: str, over: dict[str, Any], name: str) -> Build:
        protocol, texts = self._shared.generated(self.sources.program or self.sources.spec, over)
        return write(self.sources, protocol, texts, form, name)

    def _ground(self, build: Build, variant: str = "") -> Ground:
        return self._shared.ground(build.protocol, self.sources, build.generated, variant or "small")

    def small(self, form: str, variant: str = "") -> Result:
        """Runs the small build of one form, or a variant of it, on every case of the domain."""
        started = time.monotonic()
        # A fault shows in many cases. If the first one is enough, a few cases of every kind run before the rest.
        for part in EARLY_PARTS if self._stop_early else (EVERYTHING,):
            stage = self.stage(form, variant, part)
            result = Trial(stage, variant or form, self._stop_early).run(stage.cases)
            if result.mismatches:
                break
        result.seconds = time.monotonic() - started
        return result

    def sampled(self, seed: int) -> Result:
        """Runs the layout as shipped on random cases."""
        started = time.monotonic()
        build = self._generated("as shipped", self.text.shipped, "shipped")
        compile_build(self.sources, build)
        patterns = Patterns(build.protocol)
        domain = Domain(self.text, build.protocol, patterns, str(self.sources.spec / "conform.yaml"), "shipped")
        generator = random.Random(seed)
        families = [
            domain.sample(each, self.text.samples, generator) for each in domain.families if not each.trouble.section
        ]
        oracle = Oracle(build.protocol, families, {}, self.sources.search_path(build.generated), patterns)
        cases = list(oracle.cases(self.sources.work / "oracle"))
        stage = Stage(build, patterns, {}, cases)
        result = Trial(stage, f"as shipped, seed {seed}", self._stop_early).run(cases)
        result.seconds = time.monotonic() - started
        return result

    def results(self, forms: tuple[str, ...] = FORMS, seed: int = 1) -> list[Result]:
        """Runs everything in order: the forms, the variants, the layout as shipped."""
        found: list[Result] = []
        for form in forms:
            self._report(f"{self.shipped.name}: the small build, {form}")
            found.append(self.small(form))
        for variant in self.text.variants:
            self._report(f"{self.shipped.name}: the small build, {variant}")
            found.append(self.small(LAYOUT, variant))
        self._report(f"{self.shipped.name}: the layout as shipped, sampled")
        return [*found, self.sampled(seed)]


class Trial:
    """Runs one loaded build on cases."""

    def __init__(self, stage: Stage, name: str, stop_early: bool = False) -> None:
        build, patterns, noise = stage.build, stage.patterns, stage.noise
        self.build = build
        self.protocol = build.protocol
        self.result = Result(name, complete=stage.complete)
        self._stop_early = stop_early
        self._clear = not noise
        shapes = Shapes(build.object)
        self._codecs = cell_codecs(self.protocol, shapes, patterns)
        names = c_names.Names(self.protocol.name)
        record = shapes.struct(names.tag(self.protocol.message)) if self.protocol.sweep else None
        self._native = Native(build.library, self.protocol, {name: codec.size for name, codec in self._codecs.items()})
        with bpf.Object.open(build.object) as programs:
            data = self._data(programs)
            first = bytes(data.mmap()[: data.value_size]) if data else b""
            variables = self._controls(programs)
        self.comparison = Comparison(
            self.protocol,
            name,
            patterns,
            self._codecs,
            record,
            noise,
            self._native.counters(),
            first,
            variables,
        )

    def runner(self, programs: bpf.Object, hook: str, sweep_pass: int, columns: list[str]) -> Runner:
        """Returns the runner of a hook's program, which watches cells of the columns' tables."""
        name = f"{self.protocol.name}_{self.protocol.sweep[sweep_pass - 1].program if sweep_pass else hook}"
        maps = [programs.map(name) for name in columns]
        return Runner(programs.program(name), maps, programs.map("counters"), self._data(programs), self._clear)

    @staticmethod
    def _controls(programs: bpf.Object) -> dict[str, tuple[int, int]]:
        """Finds the variables that a case sets. A protocol without a clock lacks the clock's variable."""
        found = {}
        for name in CONTROLS:
            with contextlib.suppress(KeyError):
                variable = programs.variable(name)
                found[name] = (variable.offset, variable.size)
        return found

    @staticmethod
    def _data(programs: bpf.Object) -> bpf.Map | None:
        """The map of the variables that a case sets; None for a shipped layout without a clock."""
        return next((each for each in programs.maps() if each.name.endswith(".data")), None)

    def run(self, cases: list[Case]) -> Result:
        """Runs and compares the cases, hook by hook."""
        groups: dict[tuple[bool, str, int], list[Case]] = {}
        for case in cases:
            groups.setdefault((bool(case.family.trouble.section), case.family.hook, case.family.sweep_pass), []).append(
                case
            )
        self.result.branches = Leaves(self.protocol, c_names.Names(self.protocol.name)).branches
        before = self._native_coverage()
        measured = self.build.form in FORMS
        with bpf.Object.open(self.build.object) as programs:
            for losing in (False, True):
                for (_, hook, sweep_pass), group in ((key, group) for key, group in groups.items() if key[0] == losing):
                    if not self._enough():
                        self._group(programs, hook, sweep_pass, group)
                if measured and not losing:
                    self.result.calmly = self._taken(programs, before)
            if self._clear and not self._enough():
                for name in self._codecs:
                    if stray := cells_not_zero(programs.map(name)):
                        self.result.stray.append(f"{stray} elements of {name} were written, but no case names them")
            if measured:
                self.result.taken = self._taken(programs, before)
        return self.result

    def _enough(self) -> bool:
        return len(self.result.mismatches) >= (1 if self._stop_early else MISMATCHES_MAX)

    def _group(self, programs: bpf.Object, hook: str, sweep_pass: int, cases: list[Case]) -> None:
        columns = self.comparison.columns(cases)
        runners = self._runners(programs, hook, sweep_pass, columns)
        label = self.protocol.sweep[sweep_pass - 1].program.replace("_", " ") if sweep_pass else hook
        for start in range(0, len(cases), BATCH):
            if not self._enough():
                batch = cases[start : start + BATCH]
                self.result.inputs[label] = self.result.inputs.get(label, 0) + len(batch)
                self._batch(runners, hook, columns, batch)

    def _runners(self, programs: bpf.Object, hook: str, sweep_pass: int, columns: list[str]) -> dict[str, Runner]:
        """The runners of a hook in the kernel, by side."""
        if hook == "user" or hook in drain_cases.HOOKS:
            return {}
        sides = [hook, "ahead"] if hook == "xdp" and self.protocol.ahead else [hook]
        return {side: self.runner(programs, side, sweep_pass, columns) for side in sides}

    def _batch(self, runners: dict[str, Runner], hook: str, columns: list[str], cases: list[Case]) -> None:
        inputs = self.comparison.inputs(cases, columns)
        sides = [*runners, *(["native"] if hook in self._native.hooks else [])]
        for side in sides:
            if self._enough():
                return
            taken = [at for at, case in enumerate(cases) if self._takes(side, case)]
            given = [inputs[at] for at in taken]
            if side == "native":
                environments = [self.comparison.surroundings(cases[at]) for at in taken]
                found = self._native.run(hook, columns, given, environments)
            else:
                found = runners[side].run(given)
            outputs = dict(zip(taken, found, strict=True))
            self._compare(cases, columns, inputs, [outputs.get(at) for at in range(len(cases))], side)

    def _takes(self, side: str, case: Case) -> bool:
        """Whether a side runs a case: nobody gets in userspace's way, and a packet with operations is never put off."""
        if side == "native":
            return not case.family.trouble.section
        return side != "ahead" or not count_of(self.protocol, case.message)

    def _compare(
        self, cases: list[Case], columns: list[str], inputs: list[Input], outputs: list[Output | None], side: str
    ) -> None:
        found = self.result.mismatches
        limit = 1 if self._stop_early else MISMATCHES_MAX
        room = limit - len(found)
        fresh: list[Mismatch] = []

        def stop(mismatch: Mismatch) -> bool:
            fresh.append(mismatch)
            return len(fresh) >= room

        self.comparison.compare(cases, columns, inputs, outputs, side, stop)
        found += fresh

    def _native_coverage(self) -> list[int]:
        """The userspace library's counts. They include all trials of this process, which loads the library once."""
        return self._native.coverage(len(self.result.branches)) if self.build.form in FORMS else []

    def _taken(self, programs: bpf.Object, before: list[int]) -> list[int]:
        """Counts how often each branch was taken, in the kernel and in userspace, since `before`."""
        raw = programs.variable("stepwise_coverage").read()
        kernel = [int.from_bytes(raw[at : at + 8], "little") for at in range(0, 8 * len(self.result.branches), 8)]
        native = self._native_coverage()
        return [a + b - c for a, b, c in zip(kernel, native, before, strict=True)]
