"""Finds the wide integers that a protocol computes with: there a model's small integers stand for themselves.

All others are only copied and compared, so that a small integer can stand for any value. The analysis goes by types. If
integers of two types meet in an assignment or a comparison, the types are of one class. If a protocol computes with one
type of a class, it computes with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen import ir
from codegen.ir.walk import walk


def computed(protocol: ir.Protocol, steps: list[ir.Step]) -> frozenset[ir.UInt]:
    """The types of more than 32 bits whose values are added, ordered or otherwise computed with."""
    found: set[ir.UInt] = set()
    classes: list[set[ir.UInt]] = []
    for step in steps:
        for node in walk(step.body):
            found |= _operands(node)
            classes += _met(node, step, protocol.message)
    if found and any(_binds(step) for step in steps):  # names are not followed
        return frozenset(_wide_types((protocol.message, *(table.cell for table in protocol.tables))))
    while missing := {kind for one in classes if found & one for kind in one} - found:
        found |= missing
    return frozenset(found)


def wide_type(node: object) -> ir.UInt | None:
    """Returns an operand's type if it has more than 32 bits.

    The values of a name may be fewer than its type has: a position in an array, say.
    """
    if not isinstance(node, (ir.Field, ir.Index, ir.Var)) or not isinstance(node.type, ir.UInt):
        return None
    if isinstance(node, ir.Var) and node.interval is not None and node.interval.high < 2**32:
        return None
    return node.type if node.type.width > 32 else None


def _wide_of(nodes: Iterable[object]) -> set[ir.UInt]:
    return {kind for node in nodes if (kind := wide_type(node))}


def _operands(node: object) -> set[ir.UInt]:
    """The types of wide integers that a node computes with.

    A comparison with a number other than 0 counts, because a pattern differs from the number that it stands for.
    """
    if not isinstance(node, (ir.Arith, ir.Compare)):
        return set()
    sides = (node.left, node.right)
    equal_or_not = node.op == "=" and not any(isinstance(side, ir.Int) and side.value for side in sides)
    return set() if equal_or_not else _wide_of(sides)


def _met(node: object, step: ir.Step, message: ir.Record) -> list[set[ir.UInt]]:
    """The types of wide integers that meet in a node: in a comparison, or in each place that it assigns."""
    if isinstance(node, (ir.Compare, ir.In, ir.Subset)):
        return [_wide_of(walk(node))]
    if not isinstance(node, ir.Leaf):
        return []
    places = [(step.cell_type, assign) for assign in node.cell] + [(message, assign) for assign in node.message]
    return [_wide_of(walk(assign.value)) | set(_wide_types((_at(kind, assign.path),))) for kind, assign in places]


def _at(kind: ir.Type, path: ir.Path) -> ir.Type:
    """The type at the end of a path."""
    for part in path:
        match kind:
            case ir.Record() if isinstance(part, str):
                kind = kind.field(part)
            case ir.Array() | ir.Sequence():
                kind = kind.element
            case _:
                raise TypeError(f"{kind} has no part {part!r}")
    return kind


def _binds(step: ir.Step) -> bool:
    """Whether a name other than a parameter's stands for a wide integer."""
    return any(isinstance(node, ir.Var) and wide_type(node) for node in walk(step.body))


def _wide_types(kinds: Iterable[ir.Type]) -> Iterator[ir.UInt]:
    for kind in kinds:
        match kind:
            case ir.UInt(width) if width > 32:
                yield kind
            case ir.Record(_, fields):
                yield from _wide_types(inner for _, inner in fields)
            case ir.Array(element, _) | ir.Set(element, _) | ir.Sequence(element, _):
                yield from _wide_types((element,))
