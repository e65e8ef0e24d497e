"""Checks what prove.yaml assumes of the messages that reach a step, against the hooks of the layout.

For each place in which a step is run, the kinds of messages are followed from the beginning of its hook, where any kind
may be. A section may change the kind: Z3 says for each leaf that continues which kinds it may leave.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import z3

from codegen import ir
from harness.prove import solving, values
from harness.prove.left import LeftFile
from harness.prove.memory import Unsupported
from harness.prove.programs import StepFunction
from harness.prove.proof import Setting, StepProof
from harness.prove.solving import LOGIC, Limit
from harness.prove.terms import Truth

KIND, CONTINUE = "kind", "Continue"
COST = 4_000_000
"""The most that a question may cost. A doubt counts as possible."""

Kinds = frozenset[str]


def hooks(protocol: ir.Protocol) -> Iterator[tuple[str, tuple[ir.Section, ...]]]:
    """All lists of sections that a message goes through, with a name for people."""
    yield "xdp", protocol.xdp
    yield "tc", protocol.tc
    yield "user", protocol.user
    for each in protocol.sweep:
        yield f"the pass {each.program}", each.sections
    if protocol.drain:
        for section in protocol.drain.sections:
            yield "the drain", (section,)


def unfounded(setting: Setting, steps: list[StepFunction], file: LeftFile) -> list[str]:
    """The assumptions on kinds that the layout does not keep, a sentence each."""
    if not file.reached_by:
        return []
    follow = Follow(setting, steps)
    recovery = setting.protocol.recovery
    found = []
    for name, sections in hooks(setting.protocol):
        assumed = [at for at, section in enumerate(sections) if section.step.name in file.reached_by]
        for _, (step, kinds) in zip(range(max(assumed, default=-1) + 1), follow.arriving(sections)):
            others = kinds - set(file.reached_by[step].kinds) if step in file.reached_by else frozenset()
            if others:
                found.append(f"{step} in {name} may get {', '.join(sorted(others))}, which prove.yaml leaves out")
    if recovery and recovery.step.name in file.reached_by:
        found.append(f"{recovery.step.name} gets any message in recovery, so prove.yaml may leave out none")
    return found


class Follow:
    """Follows the kinds of messages through sections."""

    def __init__(self, setting: Setting, steps: list[StepFunction]) -> None:
        self._setting = setting
        self._steps = {each.name: each for each in steps}
        kind = setting.protocol.message.field(KIND)
        self._all: Kinds = frozenset(kind.members) if isinstance(kind, ir.Enum) else frozenset()
        self._known: dict[tuple[str, Kinds], Kinds] = {}

    def arriving(self, sections: tuple[ir.Section, ...]) -> Iterator[tuple[str, Kinds]]:
        """Each step with the kinds that it may get."""
        kinds = self._all
        for section in sections:
            when = section.when
            inside = kinds & frozenset(when.members) if when is not None and when.field == KIND else kinds
            yield section.step.name, inside
            passed = kinds - inside if when is None or when.field == KIND else kinds
            if section.contended == "skip":  # then it may not be run
                passed = kinds
            kinds = passed | self._after(section.step.name, inside)

    def _after(self, step: str, kinds: Kinds) -> Kinds:
        """The kinds with which messages leave a step and go on."""
        key = step, kinds
        if key not in self._known:
            self._known[key] = self._left(step, kinds)
        return self._known[key]

    def _left(self, step: str, kinds: Kinds) -> Kinds:
        if not kinds:
            return kinds
        if self._steps[step].whole_reason:
            return self._all
        solving.forget()
        proof = StepProof(self._setting, self._steps[step], Limit(float("inf")), {}, tuple(sorted(kinds)))
        found: set[str] = set()
        try:
            for guard, kind in proof.kinds_left(CONTINUE):
                found |= {each for each in self._all - found if _possible([*guard, values.is_text(kind, each)])}
        except Unsupported:
            return self._all
        return frozenset(found)


def _possible(conditions: list[Truth]) -> bool:
    if any(z3.is_false(each) for each in conditions):
        return False
    solver = z3.SolverFor(LOGIC)
    solver.set("rlimit", COST)
    solver.add(*conditions)
    return cast(bool, solver.check() != z3.unsat)
