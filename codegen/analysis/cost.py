"""Estimates how many instructions of a step the verifier follows, before clang compiles it.

The verifier follows both sides of each branch, and each iteration of each loop. Where paths meet in the same state, it
follows only one of them. The generated code makes paths meet, so the cost of a step is about the sum of its parts.

The numbers are fitted to measured steps (tests/codegen/emit/test_cost.py). An estimate may be wrong by a factor of
four, and may be ten times too much where loops over sets are nested. It is to tell a thousand instructions from a
million.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add

from codegen import ir
from codegen.ir.measure import is_packed, is_vector
from codegen.ir.walk import children
from codegen.tla.kinds import element_type

OPERATION = 2
ITERATION = 4
HIDDEN = 20
"""A number that is hidden from the verifier in each iteration."""

BIT = 30
"""The branch for an element of a set of bits."""

IN_WORD = 12
"""Work on a set that is in a word. The following four are for each item of a set that is not."""

SEARCHED = 7
REMOVED = 30
APPENDED = 30
MOVED = 3

UNROLLED_MAX = 200
"""Iterations of nested loops that clang unrolls."""

LEFT = 300
"""Each item of a set in a loop that is not unrolled: the loop around it goes on from there. It may be much less."""


@dataclass(frozen=True)
class Cost:
    """The cost of an expression or of a body.

    instructions: that the verifier follows.
    branches: whose other sides wait while it follows the longest path.
    dearest: the loop with most instructions, if there is a loop.
    """

    instructions: int
    branches: int = 0
    dearest: ir.Loop | None = None
    dearest_instructions: int = 0

    def __add__(self, other: Cost) -> Cost:
        dearest = self if self.dearest_instructions >= other.dearest_instructions else other
        return Cost(
            self.instructions + other.instructions,
            self.branches + other.branches,
            dearest.dearest,
            dearest.dearest_instructions,
        )


def total(costs: Iterable[Cost]) -> Cost:
    return reduce(add, costs, Cost(0))


@dataclass(frozen=True)
class Frame:
    """The instructions of a program and of each of its sections, without steps. retries: the cost of them, in steps."""

    program: int
    section: int
    retries: float


PACKETS = Frame(700, 200, 0.5)
"""xdp and tc. They look at the packet, and a step on a word is tried again."""

SWEEP = Frame(300, 100, 0)


def program_cost(frame: Frame, bodies: Iterable[ir.Body]) -> Cost:
    """Estimates the cost of a program whose sections have steps with these bodies."""
    costs = [cost(body) for body in bodies]
    steps = total(costs)
    return steps + Cost(frame.program + frame.section * len(costs) + int(frame.retries * steps.instructions))


def estimates(protocol: ir.Protocol) -> dict[str, int]:
    """Estimates the instructions of each program of the kernel; of the sweep, those of its dearest pass."""
    programs = {
        "xdp": (PACKETS, [tuple(section for section in protocol.xdp if not section.group)]),
        "gathered": (PACKETS, [protocol.xdp] if protocol.operations else []),
        "tc": (PACKETS, [protocol.tc]),
        "sweep": (SWEEP, [one.sections for one in protocol.sweep]),
    }
    return {
        name: max(program_cost(frame, (section.step.body for section in sections)).instructions for sections in made)
        for name, (frame, made) in programs.items()
        if any(made)
    }


def cost(node: ir.Expr | ir.Body | ir.Assign, around: int = 1) -> Cost:
    """Estimates the cost of an expression or of a body. around: the iterations of the loops around it."""
    if isinstance(node, ir.Loop):
        return _loop(node, around)
    below = total(cost(child, around) for child in children(node))
    match node:
        case ir.ArrayOf():
            return Cost(node.type.size * (ITERATION + below.instructions), node.type.size * below.branches)
        case ir.Int() | ir.Literal() | ir.Var():
            return Cost(0)
        case ir.Field():
            return below + Cost(1)
        case ir.Decide() | ir.If():
            return below + Cost(OPERATION, 1)
    return below + Cost(OPERATION + sum(_work_on_sets(node)))


def _loop(node: ir.Loop, around: int) -> Cost:
    rounds = iterations(node.domain)
    body = Cost(ITERATION + _made(node), 1)
    if isinstance(node.domain.type, ir.Bits):
        body += Cost(BIT, 1)
    elif _is_set(node.domain):
        body += Cost(LEFT if around > 1 and around * rounds > UNROLLED_MAX else OPERATION, 1)
    body += total(cost(child, around * rounds) for child in children(node) if child is not node.domain)
    instructions = rounds * body.instructions
    return cost(node.domain, around) + Cost(instructions, rounds * body.branches, node, instructions)


def _made(node: ir.Loop) -> int:
    """Returns the instructions of what an iteration adds to the loop's result."""
    if isinstance(node, ir.Count):
        return HIDDEN
    if isinstance(node, (ir.Filter, ir.Image)) and isinstance(node.type, ir.Set):
        return _append(node.type) + (_search(node.type) if isinstance(node, ir.Image) else 0)
    return 0


def iterations(domain: ir.Expr) -> int:
    """Returns the most iterations of a loop over a domain."""
    match domain:
        case ir.Range(bound=bound):
            return bound
        case ir.SetOf(elements=elements):
            return len(elements)
    return _size(domain.type)


def _is_set(domain: ir.Expr) -> bool:
    """Whether a loop goes over the items of a set."""
    return isinstance(domain.type, ir.Set) and not isinstance(domain, (ir.Range, ir.SetOf))


# --- Sets and sequences --------------------------------------------------------------------------


def _work_on_sets(node: ir.Expr | ir.Body | ir.Assign) -> Iterator[int]:
    """Yields the instructions of functions on sets and sequences that a node calls."""
    match node:
        case ir.In(set=within) if _is_set(within) and not isinstance(within, (ir.SetOp, ir.Filter)):
            yield _search(within.type)
        case ir.Subset(left=left, right=right) if isinstance(left.type, ir.Set):
            yield _size(left.type) * (ITERATION + _search(right.type))
        case ir.SetOp(op="minus", left=left, right=ir.SetOf(elements=elements), type=ir.Set()):
            yield len(elements) * (IN_WORD if _in_word(left.type) else REMOVED * _size(left.type))
        case ir.SetOp(op="union", right=right, type=ir.Set() as type_):
            yield iterations(right) * (ITERATION + _search(type_) + _append(type_))
        case ir.SetOp(left=left, right=right, type=ir.Set() as type_):
            yield _size(left.type) * (ITERATION + _search(right.type) + _append(type_))
        case ir.Compare(left=left) if is_vector(left.type):
            each = _search(left.type) if isinstance(left.type, ir.Set) else ITERATION
            yield OPERATION if _in_word(left.type) else _size(left.type) * each
        case ir.Tail(type=type_) if not _in_word(type_):
            yield MOVED * _size(type_)


def _in_word(type_: ir.Type) -> bool:
    return isinstance(type_, ir.Bits) or is_packed(element_type(type_), _size(type_))


def _search(type_: ir.Type) -> int:
    return IN_WORD if _in_word(type_) else SEARCHED * _size(type_)


def _append(type_: ir.Type) -> int:
    return IN_WORD if _in_word(type_) else APPENDED


def _size(type_: ir.Type) -> int:
    match type_:
        case ir.Set(max=size) | ir.Sequence(max=size) | ir.Array(size=size) | ir.Bits(size=size):
            return size
    return 1
