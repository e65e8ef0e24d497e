"""Says of each step what it reads, what it writes and how it ends.

It is found once, and passes that ask it do not look at the step's body again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from codegen import ir
from codegen.ir.locations import Location, location, reads
from codegen.ir.walk import is_called, leaves


@dataclass(frozen=True)
class StepFacts:
    step: ir.Step
    ends: tuple[ir.Leaf, ...]
    """All leaves, in order."""
    changing: tuple[ir.Leaf, ...]
    """The leaves that change the cell."""
    verdicts: frozenset[str]
    reads: frozenset[Location]
    """Every location that the step reads, below its parameters and the names that it binds."""
    message_read: frozenset[str]
    """The message's fields that it reads."""
    environment_read: frozenset[str]
    """The fields of env that it reads."""
    written: tuple[str, ...]
    """The message's fields that it writes, in the order of the leaves."""
    written_with_cell: tuple[str, ...]
    """The message's fields that it writes in leaves that also change the cell."""
    assigned: dict[str, tuple[ir.Expr, ...]]
    """The values of the message's fields that every leaf gives a value when the hook goes on."""
    told_index: frozenset[str]
    """The message's fields that have the index of its cell (`env.index`) when the hook goes on."""

    @property
    def changes_cell(self) -> bool:
        return bool(self.changing)

    @property
    def touches_cell(self) -> bool:
        """True if the step reads or changes its cell."""
        return self.changes_cell or any(where[0] == self.step.cell for where in self.reads)

    @property
    def goes_on_changed(self) -> bool:
        """Whether a leaf changes the cell and lets the hook go on."""
        return any(leaf.verdict == "Continue" for leaf in self.changing)

    def called(self, label: str) -> tuple[ir.Leaf, ...]:
        """Returns the leaves that have a label; none if the label is empty."""
        return tuple(leaf for leaf in self.ends if label and is_called(self.step, leaf, label))


Steps = dict[str, StepFacts]
"""The steps of a protocol, by their names."""


def step_facts(step: ir.Step) -> StepFacts:
    ends = tuple(leaves(step.body))
    changing = tuple(leaf for leaf in ends if leaf.cell)
    read = frozenset(reads(step.body))
    return StepFacts(
        step=step,
        ends=ends,
        changing=changing,
        verdicts=frozenset(leaf.verdict for leaf in ends),
        reads=read,
        message_read=_fields_below(step.message, read),
        environment_read=frozenset() if step.env is None else _fields_below(step.env, read),
        written=_written(ends),
        written_with_cell=_written(changing),
        assigned=_assigned(ends),
        told_index=_told_index(step, ends),
    )


def facts_of(steps: dict[str, ir.Step]) -> Steps:
    return {name: step_facts(step) for name, step in steps.items()}


def _fields_below(root: str, read: Iterable[Location]) -> frozenset[str]:
    return frozenset(where[1] for where in read if where[0] == root and len(where) > 1)


def _written(ends: tuple[ir.Leaf, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(assign.path[0]) for leaf in ends for assign in leaf.message))


def _told_index(step: ir.Step, ends: tuple[ir.Leaf, ...]) -> frozenset[str]:
    """The fields to which every leaf that goes on assigns `env.index`."""
    told = [
        {str(assign.path[0]) for assign in leaf.message if location(assign.value) == (step.env, "index")}
        for leaf in ends
        if leaf.verdict == "Continue"
    ]
    return frozenset(set.intersection(*told)) if told else frozenset()


def _assigned(ends: tuple[ir.Leaf, ...]) -> dict[str, tuple[ir.Expr, ...]]:
    """The values of the fields that every leaf assigns if it goes on; a field that has parts is left out."""
    given = [
        {str(assign.path[0]): assign.value for assign in leaf.message if len(assign.path) == 1}
        for leaf in ends
        if leaf.verdict == "Continue"
    ]
    names = set.intersection(*map(set, given)) if given else set()
    return {name: tuple(values[name] for values in given) for name in sorted(names)}
