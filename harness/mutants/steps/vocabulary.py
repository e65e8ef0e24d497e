"""Gives the names in a step the types of the layout: the fields of its records, and which of them are alike."""

from __future__ import annotations

from dataclasses import dataclass

from codegen import ir
from codegen.tla import sany


@dataclass(frozen=True)
class Vocabulary:
    """The types of a protocol's layout.

    kind: the kinds of messages.
    records: the records that a step's parameters stand for, by the names that the steps give them.
    verdicts: those with which a step may end.
    """

    kind: ir.Enum
    records: dict[str, ir.Record]
    verdicts: tuple[str, ...] = ir.VERDICTS

    @staticmethod
    def of(protocol: ir.Protocol) -> Vocabulary:
        records = {"msg": protocol.message, "env": protocol.environment}
        records |= {table.name: table.cell for table in protocol.tables}
        return Vocabulary(ir.expect(protocol.message.field("kind"), ir.Enum), records)

    @staticmethod
    def shared(vocabularies: list[Vocabulary]) -> Vocabulary:
        """Returns what these have in common: the words of a module that several protocols use."""
        first, *others = vocabularies
        records = {}
        for name, record in first.records.items():
            theirs = [dict(other.records[name].fields) for other in others if name in other.records]
            if len(theirs) == len(others):
                common = [(field, type_) for field, type_ in record.fields if all(field in each for each in theirs)]
                records[name] = ir.Record(record.name, tuple(common))
        members = tuple(each for each in first.kind.members if all(each in other.kind.members for other in others))
        return Vocabulary(ir.Enum(first.kind.name, members), records)

    def type_of(self, node: sany.Node) -> ir.Type | None:
        """Returns the type of a path like `msg.carried.version` or `bucket.entries[way]`; None if it is another."""
        match node:
            case sany.Apply(operator=sany.Reference(name="$RcdSelect"), operands=(base, sany.Text(value=field))):
                record = self.type_of(base)
                return dict(record.fields).get(field) if isinstance(record, ir.Record) else None
            case sany.Apply(operator=sany.Reference(name="$FcnApply"), operands=(base, _)):
                array = self.type_of(base)
                if isinstance(array, ir.Table):
                    return array.cell
                return array.element if isinstance(array, ir.Array) else None
            case sany.Apply(operator=sany.Reference(name=name), operands=()):
                return self.records.get(name)
        return None

    def type_at(self, base: sany.Node, path: list[sany.Node]) -> ir.Type | None:
        """Returns the type of what an EXCEPT changes: `!.carried.version` or `!.entries[way]` of a record."""
        found = self.type_of(base)
        for part in path:
            if isinstance(found, ir.Record) and isinstance(part, sany.Text):
                found = dict(found.fields).get(part.value)
            else:
                found = found.element if isinstance(found, ir.Array) else None
        return found


def alike(one: ir.Type, other: ir.Type) -> bool:
    """Returns whether somebody may confuse two types: integers of any width, or types with the same values."""
    if isinstance(one, ir.UInt) and isinstance(other, ir.UInt):
        return True
    return one == other and not isinstance(one, ir.Record)
