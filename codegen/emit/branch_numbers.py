"""Numbers leaves, choices and counters.

A leaf is the end of one branch of a step. First come leaves that can end only the xdp hook, then those
that can end both hooks, then those that can end only the tc hook, then the rest. So a hook's counter
of a leaf is the leaf's number, plus a constant for tc.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from codegen.analysis.step_facts import step_facts
from codegen.c.names import Names
from codegen.ir import Bind, Body, Decide, If, Leaf, Protocol, Section, Span, Step
from codegen.ir.locations import is_path
from codegen.ir.walk import leaves, rewrite, substitute, uses

XDP_FIXED = ("foreign", "malformed", "malformed.checksum", "contended", "skipped", "lost")
"""Counters of the xdp hook besides those of its leaves: see the comment in templates/protocol.h.j2."""

ARRIVING_ONLY = ("malformed.checksum",)
"""Counters of XDP_FIXED that tc lacks. It checks no checksums, because the device fills those of replies."""

TC_FIXED = (*(f"tc.{name}" for name in XDP_FIXED if name not in ARRIVING_ONLY), "tc.stranger")
"""Counters of the tc hook besides those of its leaves."""

SWEEP_FIXED = ("sweep.contended", "sweep.skipped", "sweep.lost")


@dataclass(frozen=True, kw_only=True)
class Choice(If):
    """An If whose arms coverage counts."""

    macro: str
    """Macro of the branch of the first arm; the second arm's is the next branch."""


@dataclass(frozen=True)
class Branch:
    """A branch that coverage counts: a leaf, or an arm of a choice."""

    macro: str
    label: str
    span: Span


@dataclass(frozen=True)
class Counter:
    name: str
    macro: str
    leaf: str | None


class Leaves:
    """Numbers the leaves, choices and counters of one protocol.

    `steps` has each of its steps once, with choices marked and binds sunk, and what is known of it then.
    """

    def __init__(self, protocol: Protocol, names: Names):
        self._names = names
        original = unique_steps(protocol)
        ordered = self._ordered(protocol, original)
        self.numbers = {names.leaf(step, leaf): number for number, (step, leaf) in enumerate(ordered)}
        if len(self.numbers) != len(ordered):
            raise ValueError("two leaves of one step have the same name")
        self.ordered = [(names.leaf(step, leaf), step, leaf) for step, leaf in ordered]
        self.branches = [Branch(names.leaf(step, leaf), names.counter(step, leaf), leaf.span) for step, leaf in ordered]
        """All branches: the leaves in the order of their numbers, then the choices, two arms each."""
        self.steps = {step.name: step_facts(self._marked(step)) for step in original}
        self.counters = self._counters()

    def _ordered(self, protocol: Protocol, steps: list[Step]) -> list[tuple[Step, Leaf]]:
        xdp, tc = _ending(protocol.xdp), _ending(protocol.tc)
        groups: dict[tuple[bool, bool], list[tuple[Step, Leaf]]] = {}
        for step in steps:
            for leaf in leaves(step.body):
                key = (step.name, leaf.name)
                groups.setdefault((key in xdp, key in tc), []).append((step, leaf))
        order = [groups.get(key, []) for key in ((True, False), (True, True), (False, True), (False, False))]
        self.xdp_count = len(order[0]) + len(order[1])
        self.tc_first = len(order[0])
        self.tc_count = len(order[1]) + len(order[2])
        return [entry for group in order for entry in group]

    def _marked(self, step: Step) -> Step:
        """Returns a step with numbered choices. It sinks binds first, because an unused bind has no branches."""

        found = 0

        def mark(node: object) -> object:
            nonlocal found
            if not isinstance(node, If):
                return node
            found += 1
            macro = self._names.macro("choice", step.name, str(found))
            label = self._names.counter(step, Leaf(f"{step.name}.choice", "", (), (), "", node.span))
            self.branches.append(Branch(macro, f"{label}.then", node.then.span))
            self.branches.append(Branch(f"{macro}_ELSE", f"{label}.else", node.otherwise.span))
            return Choice(node.condition, node.then, node.otherwise, node.type, node.span, node.interval, macro=macro)

        return replace(step, body=rewrite(sink_binds(step.body), mark))

    def _counters(self) -> list[Counter]:
        """Returns all counters. The xdp hook's leaves come first, so a leaf's number is that of its counter there."""
        names = self._names

        def leaves_of(prefix: str, first: int, count: int) -> list[Counter]:
            found = []
            for macro, step, leaf in self.ordered[first : first + count]:
                label = prefix + names.counter(step, leaf)
                found.append(Counter(label, names.macro("counter", label), macro))
            return found

        entries = leaves_of("", 0, self.xdp_count)
        self.tc_base = len(entries) - self.tc_first
        entries += leaves_of("tc.", self.tc_first, self.tc_count)
        return entries + [
            Counter(name, names.macro("counter", name), None) for name in (*XDP_FIXED, *TC_FIXED, *SWEEP_FIXED)
        ]


def unique_steps(protocol: Protocol) -> list[Step]:
    """Returns each step once: first those of xdp, tc, user and the sweep, then those of the drain and of recovery."""
    sections = [*protocol.xdp, *protocol.tc, *protocol.user]
    sections += [section for one in protocol.sweep for section in one.sections]
    found: dict[str, Step] = {}
    for section in sections:
        found.setdefault(section.step.name, section.step)
    found |= {step.name: step for step in protocol.daemon_steps}
    return list(found.values())


def _ending(sections: tuple[Section, ...]) -> set[tuple[str, str]]:
    """Returns the leaves that can end a hook: those of the last section, and those with a verdict but Continue."""
    return {
        (section.step.name, leaf.name)
        for position, section in enumerate(sections)
        for leaf in leaves(section.step.body)
        if leaf.verdict != "Continue" or position == len(sections) - 1
    }


def sink_binds(body: Body) -> Body:
    """Moves each Bind as far down as possible, so that only branches that use it compute it. Paths replace uses."""
    match body:
        case Leaf():
            return body
        case Decide():
            return replace(body, then=sink_binds(body.then), otherwise=sink_binds(body.otherwise))
        case Bind(name=name, value=value, body=inner):
            if is_path(value):
                return sink_binds(substitute(inner, name, value))
            return _sink(body, sink_binds(inner))
    raise TypeError(body)


def _sink(bind: Bind, body: Body) -> Body:
    if not uses(body, bind.name):
        return body
    if isinstance(body, Decide) and not uses(body.condition, bind.name):
        if not uses(body.otherwise, bind.name):
            return replace(body, then=_sink(bind, body.then))
        if not uses(body.then, bind.name):
            return replace(body, otherwise=_sink(bind, body.otherwise))
    if isinstance(body, Bind) and not uses(body.value, bind.name):
        return replace(body, body=_sink(bind, body.body))
    return replace(bind, body=body)
