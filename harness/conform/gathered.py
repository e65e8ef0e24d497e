"""The operations of a message, and how the oracle evaluates a hook that runs a group of sections for each.

A case's message has room for all operations that a message can have. The packet has only as many as its count says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from codegen import ir
from harness.conform.cases import Family
from harness.conform.places import Place
from harness.data.model_values import Patterns, hash_index
from harness.data.packing import WireCodec


def with_operations(protocol: ir.Protocol) -> ir.Protocol:
    """Returns the protocol with a message that has its operations as one more field, an array."""
    operations = protocol.operations
    if operations is None or ir.OPERATIONS in dict(protocol.message.fields):
        return protocol
    array = ir.Array(protocol.operation, operations.max)
    message = replace(protocol.message, fields=(*protocol.message.fields, (ir.OPERATIONS, array)))
    return replace(protocol, message=message)


def count_of(protocol: ir.Protocol, message: dict[str, Any]) -> int:
    """Returns how many operations a message says that it has; 0 if its kind has none."""
    operations = protocol.operations
    if operations is None or message[operations.when.field] not in operations.when.members:
        return 0
    return int(message[operations.count])


def field_of(place: Place) -> str:
    """Returns the field of the message that a place has a value for, be it the message's own or an operation's."""
    return str(place.rest[1]) if place.field == ir.OPERATIONS and len(place.rest) == 2 else place.field


@dataclass(frozen=True)
class Time:
    """When a section runs: for which operation, from 1; 0 if it runs for the message itself."""

    section: int
    operation: int

    @classmethod
    def of(cls, sections: tuple[ir.Section, ...], number: int) -> Time:
        """Splits the number of a section in a case's writes: see RunGathered in Oracle.tla."""
        operation, section = divmod(number - 1, len(sections))
        return cls(section + 1, operation)

    def before(self, other: Time, sections: tuple[ir.Section, ...]) -> bool:
        """Whether it comes before another time of the same run."""
        one, two = sections[self.section - 1].group, sections[other.section - 1].group
        if one and one == two:
            return (self.operation, self.section) < (other.operation, other.section)
        return self.section < other.section


class Gathered:
    """Operations in packets, and the cells that they fall on."""

    def __init__(self, protocol: ir.Protocol, patterns: Patterns) -> None:
        self._protocol = protocol
        self._patterns = patterns
        self._codec = WireCodec(protocol, patterns, protocol.operations.fields) if protocol.operations else None

    def encode(self, message: dict[str, Any], kind_of: dict[str, Any]) -> bytes:
        """Encodes a message's operations; as many as `kind_of`, the message of the request, says.

        Operations beyond those that a message can have are blank.
        """
        if self._codec is None:
            return b""
        count = count_of(self._protocol, kind_of)
        parts = list(map(self._codec.encode, message[ir.OPERATIONS][:count]))
        return b"".join(parts).ljust(count * len(parts[0]), b"\0") if parts else b""

    def index(self, message: dict[str, Any], section: ir.Section, number: int) -> int:
        """Returns the index of the cell that a section works on, for an operation if its number is not 0."""
        name = ir.expect(section.index, str)
        if not number or name not in self._protocol.of_operation():
            return int(message[name])
        values = {**message, **message[ir.OPERATIONS][number - 1]}
        for one in self._protocol.hashes:
            if one.field in self._protocol.of_operation():
                kind = self._protocol.message.field(one.source)
                values[one.field] = hash_index(self._patterns.real(kind, values[one.source]), one.capacity, one.lower)
        return int(values[name])


# --- The oracle ---------------------------------------------------------------------------------


def definitions(protocol: ir.Protocol, patterns: Patterns, families: list[Family]) -> Iterator[str]:
    """Yields the TLA+ that an operation's message needs: its hashes, and how many there are."""
    operations = protocol.operations
    if operations is None:
        return
    own = [one for one in protocol.hashes if one.field in protocol.of_operation()]
    known: dict[str, set[int]] = {}
    for one in own:
        kind = protocol.message.field(one.source)
        values = known.get(one.source) or {0, *_given(families, one.source)}
        hashed = {value: hash_index(patterns.real(kind, value), one.capacity, one.lower) for value in values}
        known[one.field] = set(hashed.values())
        cases = " [] ".join(f"n = {value} -> {index}" for value, index in sorted(hashed.items()))
        yield f"Hash_{one.field}(n) == CASE {cases}"
    hashed_message = "m"
    for one in own:
        hashed_message = f"LET h == {hashed_message} IN [h EXCEPT !.{one.field} = Hash_{one.field}(h.{one.source})]"
    yield f"ForOperation(m) == {hashed_message}"
    yield f"CountOf(m) == IF OperationsOf(m) > 0 THEN m.{operations.count} ELSE 0"


def _given(families: list[Family], name: str) -> Iterator[int]:
    """Yields the values of a field, of messages and of operations, in any case of the families."""
    for family in families:
        for dimension in family.dimensions:
            for assignment in dimension:
                for place, value in assignment:
                    if place.home != "message":
                        continue
                    if field_of(place) == name:
                        yield value
                    elif place.field == ir.OPERATIONS and len(place.rest) < 2:
                        yield from (each[name] for each in (value if isinstance(value, tuple) else (value,)))


def evaluation(protocol: ir.Protocol, checked: str, trouble: str) -> str:
    """Returns the TLA+ that evaluates xdp on a message that may have operations."""
    most = ir.expect(protocol.operations, ir.OperationsLayout).max
    group = 'LAMBDA at : GroupOf("XDP", at)'
    message = "LAMBDA m, number : ForOperation(OperationAt(m, number))"
    return (
        f"O!RunGathered(XdpSections, XdpStep, {group}, GroupIsFor, {message}, OwnOf, OperationDone, CountOf(msg), "
        f"{most}, {checked}, {trouble}, cells, msg, env)"
    )


def guards_taken(
    protocol: ir.Protocol,
    sections: tuple[ir.Section, ...],
    message: dict[str, Any],
    until: Time,
    is_guarded: Callable[[ir.Section], bool],
) -> int:
    """Counts the guarded sections of a run up to a time, with the one at that time."""
    count, taken = count_of(protocol, message), 0
    for at, section in enumerate(sections, 1):
        if is_guarded(section):
            times = (Time(at, number) for number in (range(1, count + 1) if section.group else (0,)))
            taken += sum(not until.before(time, sections) for time in times)
    return taken
