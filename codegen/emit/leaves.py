"""Numbers of leaves, choices and counters.

A leaf is where a step ends. Leaves are numbered so that those that can end the xdp hook come
first, then those that can end both hooks, then the tc hook's own, then the rest. A hook's counter
of a leaf is then the leaf's number, plus a constant for tc.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from codegen.c_names import Names
from codegen.emit.terms import Choice, leaves, rewrite, sink_binds
from codegen.ir import If, Leaf, Protocol, Section, Span, Step

CHECKSUM = "malformed.checksum"
XDP_FIXED = ("foreign", "malformed", CHECKSUM, "contended", "skipped", "lost")
"""Counters of the xdp hook beside its leaves: see the comment in templates/protocol.h.j2."""

TC_FIXED = (*(f"tc.{name}" for name in XDP_FIXED if name != CHECKSUM), "tc.stranger")
"""The daemon's replies leave their checksums to the device, so tc looks at none."""

SWEEP_FIXED = ("sweep.contended", "sweep.skipped", "sweep.lost")


@dataclass(frozen=True)
class Branch:
    """One thing that coverage counts: a leaf, or an arm of a choice."""

    number: int
    label: str
    span: Span


@dataclass(frozen=True)
class Counter:
    name: str
    macro: str
    leaf: str | None


class Leaves:
    """Of one protocol. `steps` are its steps, each once, with choices marked and binds sunk."""

    def __init__(self, protocol: Protocol, names: Names):
        self._names = names
        original = unique_steps(protocol)
        ordered = self._ordered(protocol, original)
        self.numbers = {names.leaf(step, leaf): number for number, (step, leaf) in enumerate(ordered)}
        if len(self.numbers) != len(ordered):
            raise ValueError("two leaves of one step have the same name")
        self.ordered = [(names.leaf(step, leaf), step, leaf) for step, leaf in ordered]
        self.branches = [Branch(n, f"{names.counter(step, leaf)}", leaf.span) for n, (step, leaf) in enumerate(ordered)]
        self.steps = {step.name: self._marked(step) for step in original}
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
        """The step with every choice's condition numbered, in what is left when binds are sunk: what nothing
        uses has no branches.
        """

        def mark(node: object) -> object:
            if not isinstance(node, If):
                return node
            number = len(self.branches)
            for arm, suffix in ((node.then, "then"), (node.otherwise, "else")):
                label = f"{self._names.counter(step, Leaf(f'{step.name}.choice', '', (), (), '', node.span))}.{suffix}"
                self.branches.append(Branch(len(self.branches), label, arm.span))
            return replace(node, condition=Choice(number, node.condition, node.condition.type, node.condition.span))

        return replace(step, body=rewrite(sink_binds(step.body), mark))

    def _counters(self) -> list[Counter]:
        """The xdp hook's leaves first: there, a leaf's number is its counter's."""
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
    """In the order of the hooks: xdp, tc, user, sweep; then what is only the drain's and recovery's."""
    sections = [*protocol.xdp, *protocol.tc, *protocol.user]
    sections += [section for one in protocol.sweep for section in one.sections]
    found: dict[str, Step] = {}
    for section in sections:
        found.setdefault(section.step.name, section.step)
    found |= {step.name: step for step in protocol.daemon_steps}
    return list(found.values())


def _ending(sections: tuple[Section, ...]) -> set[tuple[str, str]]:
    """Leaves that can end a hook: of another verdict than Continue, or of the last section."""
    return {
        (section.step.name, leaf.name)
        for position, section in enumerate(sections)
        for leaf in leaves(section.step.body)
        if leaf.verdict != "Continue" or position == len(sections) - 1
    }
