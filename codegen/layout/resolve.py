"""Resolves a layout: finds what its names refer to, and makes types and tables of the intermediate representation.

All checks of a layout that need no compiled steps run from here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from codegen import ir
from codegen.c.names import C_KEYWORDS
from codegen.errors import Errors
from codegen.ir import Span
from codegen.ir.measure import WORD_BITS, width_bits
from codegen.layout import consistency, names
from codegen.layout.context import Context
from codegen.layout.drain import DrainPlan, RecoveryPlan, plan_drain, plan_recovery
from codegen.layout.operations import resolve_operations
from codegen.layout.schema import (
    Age,
    Layout,
    Local,
)
from codegen.layout.sections import SectionPlan, Sections
from codegen.layout.source import Place, Source

CAPACITY_MAX = 2**31
TAIL_BYTES_MIN, TAIL_BYTES_MAX = 9, 1024
"""Values of up to 8 bytes are numbers in C and need no tail."""

PROCESSOR_BITS_MAX = 32
"""Width of the result of bpf_get_smp_processor_id()."""

TERMS_BYTES = 8
"""Size of env.terms, which is a hash."""

TOKEN_BYTES = 8
"""The size of env.token and of the field in which a client shows a token."""

PEER_BITS_MAX = 32
"""Greatest width of env.peer, because steps compute with it."""

AGE_MAX = 2**31 - 2
"""Greatest age that steps can tell from older ones: the type of env.age has at most 32 bits."""


@dataclass
class Resolved:
    """A layout with its names resolved."""

    layout: Layout
    source: Source
    constants: dict[str, int | bool | str | tuple[int | str, ...]]
    message: ir.Record
    env: ir.Record
    tables: dict[str, ir.TableLayout]
    hashes: tuple[ir.HashIndex, ...]
    xdp: list[SectionPlan]
    tc: list[SectionPlan]
    user: list[SectionPlan]
    sweep: list[tuple[str, list[SectionPlan]]]
    restored: tuple[str, list[SectionPlan]] | None
    tail: ir.TailLayout | None
    used: set[str] = field(default_factory=set)
    drain: DrainPlan | None = None
    recovery: RecoveryPlan | None = None
    age_until: int | None = None
    token: str | None = None
    operations: ir.OperationsLayout | None = None

    def of_operation(self) -> tuple[str, ...]:
        """Returns the message's fields that each operation has a value of its own for; none without operations."""
        return ir.of_operation(self.operations, self.hashes)

    def hooks(self) -> list[list[SectionPlan]]:
        """Returns the sections of each hook, and of each pass of the sweep and of restore."""
        return [self.xdp, self.tc, self.user, *(plans for _, plans in self.passes())]

    def plans(self) -> list[SectionPlan]:
        return [plan for hook in self.hooks() for plan in hook]

    def passes(self) -> list[tuple[str, list[SectionPlan]]]:
        """Returns the passes of the sweep, then the pass over rows to restore."""
        return [*self.sweep, *([self.restored] if self.restored else [])]


def resolve(layout: Layout, source: Source, errors: Errors) -> Resolved:
    """Resolves and checks a layout. After an error it goes on with a stand-in."""
    return Resolver(Context(layout, source, errors)).run()


class Resolver:
    """Makes types, tables and sections of a layout."""

    def __init__(self, context: Context):
        self.context = context
        self.age_until: int | None = None
        self.token: str | None = None

    def run(self) -> Resolved:
        tables = {name: self.table(name) for name in self.context.layout.tables}
        tail = self.tail()
        message = self.message(tail)
        operations = resolve_operations(self.context, message)
        env = self.environment(operations)
        names.check_module(self.context)
        names.check_names(self.context)
        consistency.check_indices(self.context, message, tables)
        consistency.check_wire(self.context, message)
        self.check_forwards()
        sections = Sections(self.context)
        xdp, tc = sections.xdp(message), sections.tc(message)
        user = sections.user()
        sweep, restored = sections.sweep(), sections.restored()
        consistency.check_restore(self.context, tables)
        consistency.check_budgets(self.context)
        consistency.check_older(self.context)
        hashes = self.hashes(message)
        consistency.check_ahead(self.context)
        drain, recovery = plan_drain(self.context, message, tables), plan_recovery(self.context, message)
        passes = [*sweep, *([restored] if restored else [])]
        daemon = [*(drain.plans if drain else ()), *([recovery.plan] if recovery else [])]
        names.check_steps(self.context, [*xdp, *user, *tc, *(one for _, plans in passes for one in plans), *daemon])
        return Resolved(
            self.context.layout,
            self.context.source,
            self.context.constants,
            message,
            env,
            tables,
            hashes,
            xdp,
            tc,
            user,
            sweep,
            restored,
            tail,
            self.context.used,
            drain,
            recovery,
            self.age_until,
            self.token,
            operations,
        )

    # --- Records and tables -------------------------------------------------------------------------------

    def table(self, name: str) -> ir.TableLayout:
        model = self.context.layout.tables[name]
        place: Place = ("tables", name)
        fields = []
        for inner, text in model.cell.items():
            fields.append(
                (inner, self.context.at((*place, "cell", inner), text, f"{name}.{inner}", (*place, "cell", inner)))
            )
        fields.sort(key=lambda each: isinstance(each[1], ir.Array) and isinstance(each[1].element, ir.Record))
        cell = ir.Record(f"{name}_cell", tuple(fields))
        capacity = self.context.bound(model.capacity, (*place, "capacity"), 1, CAPACITY_MAX, 1)
        bits = width_bits(cell)
        if model.atomic == "word" and bits > WORD_BITS and not self.context.types_refused:
            self.context.complain(
                (*place, "atomic"),
                f"a cell of {name} takes {bits} bits, but a word has {WORD_BITS}",
                "make its fields smaller, or choose spin_lock or res_spin_lock",
            )
        if model.own_line and model.atomic not in ("word", "owned"):
            reason = (
                "belong to the daemon alone"
                if model.atomic == "user"
                else "already get whole cache lines if that costs little"
            )
            self.context.complain(
                ("tables", name, "own_line"),
                f"cells of {name}, which is `atomic: {model.atomic}`, {reason}",
                "remove `own_line`, or choose `atomic: word` or `owned`",
            )
        return ir.TableLayout(
            name, cell, model.map, capacity, model.index.removeprefix("msg."), model.atomic, model.ahead, model.own_line
        )

    def message(self, tail: ir.TailLayout | None) -> ir.Record:
        fields: list[tuple[str, ir.Type]] = []
        for name, text in self.context.layout.message.items():
            fields.append((name, self.context.at(("message", name), text, f"message.{name}", ("message", name))))
        for name, text in self.context.layout.handover.items():
            if name in self.context.layout.message:
                self.context.complain(("handover", name), f"`message` already has a field {name}", "rename one of them")
                continue
            fields.append((name, self.context.at(("handover", name), text, f"message.{name}", ("handover", name))))
        for name in self.context.layout.local:
            if name in self.context.layout.message or name in self.context.layout.handover:
                self.context.complain(("local", name), f"the wire already has a field {name}", "rename one of them")
                continue
            place, text, enum_name = self.context.local_target(name)
            fields.append((name, self.context.at(place, text, enum_name, place)))
        if tail is not None:
            fields.append((tail.field, ir.Bytes(tail.max)))
        return ir.Record("message", tuple(fields))

    def tail(self) -> ir.TailLayout | None:
        """Returns the tail of a message, which follows its fixed part; None after reporting an error."""
        model, before = self.context.layout.tail, len(self.context.errors.found)
        if model is None:
            return None
        longest = self.context.bound(model.max, ("tail", "max"), TAIL_BYTES_MIN, TAIL_BYTES_MAX, TAIL_BYTES_MAX)
        over = self.context.bound(model.over, ("tail", "over"), 0, longest - 1, 0)
        for part in ("message", "handover", "local"):
            if model.field in getattr(self.context.layout, part):
                self.context.complain(
                    ("tail", "field"), f"`{part}` already has a field {model.field}", "rename one of them"
                )
        if model.field in C_KEYWORDS:
            self.context.complain(
                ("tail", "field"), f"{model.field} is a keyword of C or Python", "choose another name"
            )
        place: Place = ("tail", "length")
        if model.length not in self.context.layout.message:
            self.context.complain(
                place, f"`message` has no field {model.length}", f"it has {', '.join(self.context.layout.message)}"
            )
        else:
            kind = self.context.at(("message", model.length), self.context.layout.message[model.length], "", place)
            if not isinstance(kind, ir.UInt) or not longest < 2**kind.width <= 2**32:
                self.context.complain(
                    place,
                    f"message.{model.length} cannot be the length of a tail",
                    f"its type must be uN, and hold {longest}",
                )
        if self.context.layout.hooks.user is None:
            self.context.complain(
                ("tail",),
                "there is a tail, but no user hook, and nothing else reads it",
                "remove it, or add hooks.user",
            )
        return (
            ir.TailLayout(model.field, model.length, over, longest)
            if len(self.context.errors.found) == before
            else None
        )

    def check_forwards(self) -> None:
        for at, name in enumerate(self.context.layout.forwards):
            place: Place = ("forwards", at)
            if name in self.context.layout.handover:
                self.context.complain(place, f"{name} is a handover field, so it is forwarded already", "remove it")
            elif name not in self.context.layout.message:
                self.context.complain(
                    place, f"`message` has no field {name}", f"it has {', '.join(self.context.layout.message)}"
                )
            elif name in self.context.layout.forwards[:at]:
                self.context.complain(place, f"`forwards` has {name} twice", "keep one of them")
        if self.context.layout.forwards and self.context.layout.hooks.user is None:
            self.context.complain(
                ("forwards",), "there is `forwards`, but no user hook", "remove it, or add hooks.user"
            )

    def environment(self, operations: ir.OperationsLayout | None) -> ir.Record:
        fields: list[tuple[str, ir.Type]] = []
        clock = self.context.layout.env.now
        if clock is not None:
            kind = self.context.type(clock.type, ("env", "now", "type"), "now")
            if not isinstance(kind, ir.UInt):
                self.context.complain(("env", "now", "type"), f"the clock has the type {clock.type}", "it must be uN")
                kind = ir.UInt(64)
            if clock.tick_ns & (clock.tick_ns - 1):
                self.context.complain(
                    ("env", "now", "tick_ns"), f"the tick is {clock.tick_ns} ns", "it must be a power of two"
                )
            fields.append(("now", kind))
        if self.context.layout.env.cpu is not None:
            fields.append(
                (
                    "cpu",
                    self.number(
                        self.context.layout.env.cpu, ("env", "cpu"), "the processor's number", PROCESSOR_BITS_MAX
                    ),
                )
            )
        if self.context.layout.env.age is not None:
            fields.append(("age", self.age()))
        if self.context.layout.env.terms is not None:
            size = self.context.bound(
                self.context.layout.env.terms.bytes, ("env", "terms", "bytes"), 1, 1024, TERMS_BYTES
            )
            if size != TERMS_BYTES:
                self.context.complain(
                    ("env", "terms", "bytes"),
                    f"env.terms has {size} bytes",
                    f"write {{bytes: {TERMS_BYTES}}}: it is a hash",
                )
            fields.append(("terms", ir.Bytes(TERMS_BYTES)))
        if self.context.layout.env.peer is not None:
            self.for_user_hook("peer")
            fields.append(
                (
                    "peer",
                    self.number(
                        self.context.layout.env.peer.type, ("env", "peer", "type"), "the peer's number", PEER_BITS_MAX
                    ),
                )
            )
        if self.context.layout.env.token is not None:
            self.for_user_hook("token")
            self.token = self.shown(self.context.layout.env.token.field)
            fields += [("token", ir.Bytes(TOKEN_BYTES)), ("validated", ir.Bool())]
        if operations is not None:
            fields.append((ir.POSITION, ir.UInt(max(1, (operations.max - 1).bit_length()))))
        fields += [("random", ir.Bytes(8)), ("index", ir.UInt(32))]
        return ir.Record("env", tuple(fields))

    def number(self, text: str, place: Place, what: str, bits_max: int) -> ir.Type:
        """Returns the type of a field of env whose value is truncated to that type."""
        kind = self.context.type(text, place, str(place[1]))
        if isinstance(kind, ir.UInt) and kind.width <= bits_max:
            return kind
        self.context.complain(place, f"{what} has the type {text}", f"it must be u1 to u{bits_max}, such as u16")
        return ir.UInt(bits_max)

    def for_user_hook(self, name: str) -> None:
        if self.context.layout.hooks.user is None:
            self.context.complain(
                ("env", name),
                f"env.{name} is for steps of the user hook, but there is no user hook",
                "remove it, or add hooks.user",
            )

    def shown(self, text: str) -> str | None:
        """Returns the wire field in which a client shows a token."""
        place, name = ("env", "token", "field"), text.removeprefix("msg.")
        if name not in self.context.layout.message:
            self.context.complain(
                place, f"`message` has no field {name}", f"it has {', '.join(self.context.layout.message)}"
            )
            return None
        kind = self.context.type(self.context.layout.message[name], ("message", name), name)
        if kind != ir.Bytes(TOKEN_BYTES):
            self.context.complain(
                place,
                f"{name} cannot hold a token",
                f"name a field of the type {{bytes: {TOKEN_BYTES}}}",
            )
        return name

    def age(self) -> ir.Type:
        """Returns the smallest type that holds `until` + 1. The age stays at the type's greatest value."""
        place: Place = ("env", "age")
        asked = ir.expect(self.context.layout.env.age, Age)
        self.age_until = self.context.bound(asked.until, (*place, "until"), 0, AGE_MAX, 0)
        if self.context.layout.env.now is None:
            self.context.complain(
                place, "env.age counts ticks, but there is no env.now", "add env.now, which gives the length of a tick"
            )
        self.for_user_hook("age")
        return ir.UInt((self.age_until + 1).bit_length())

    def hashes(self, message: ir.Record) -> tuple[ir.HashIndex, ...]:
        """Returns the local fields that are computed when a packet arrives."""
        found: list[ir.HashIndex] = []
        kinds = dict(message.fields)
        for name, text in self.context.layout.local.items():
            if not isinstance(text, Local) or text.source is None:
                continue
            place: Place = ("local", name, "from")
            match = re.fullmatch(r"hash\(\s*msg\.(\w+)\s*,\s*(\w+(?:\.capacity)?)\s*(,\s*lower\s*)?\)", text.source)
            if match is None:
                self.context.complain(
                    place,
                    f"cannot compute {name} from {text.source}",
                    'write "hash(msg.field, table.capacity)", or "hash(msg.field, table.capacity, lower)"',
                )
                continue
            source, size, lower = match.groups()
            known = (
                source in self.context.layout.message
                or source in self.context.layout.handover
                or any(source == one.field for one in found)
            )
            if not known or not isinstance(kinds.get(source), ir.UInt):
                self.context.complain(
                    place,
                    f"msg.{source} cannot be hashed",
                    "choose a uN field of `message` or `handover`, or a hash that comes before this one",
                )
                continue
            capacity = self.hash_capacity(size, place)
            if capacity is None:
                continue
            kind = kinds[name]
            if self.context.types_refused:
                continue
            if not isinstance(kind, ir.UInt) or capacity - 1 >= 2**kind.width:
                self.context.complain(place, f"{name} cannot hold the indices 0..{capacity - 1}", "choose a wider uN")
                continue
            found.append(ir.HashIndex(name, source, capacity, lower is not None))
        return tuple(found)

    def hash_capacity(self, text: str, place: Place) -> int | None:
        table, dot, _ = text.partition(".")
        if dot:
            if table not in self.context.layout.tables:
                self.context.complain(
                    place, f"there is no table {table}", f"the tables are {', '.join(self.context.layout.tables)}"
                )
                return None
            return self.context.bound(self.context.layout.tables[table].capacity, place, 1, CAPACITY_MAX, 1)
        return self.context.bound(int(text) if text.isdigit() else text, place, 1, CAPACITY_MAX, 1)


def position(resolved: Resolved, plan: SectionPlan) -> Span:
    """Returns the place of a section in the layout."""
    return resolved.source.span(*plan.position)
