"""Resolves a layout: finds what its names refer to, and makes types and tables of the intermediate representation.

All checks of a layout that need no compiled steps run from here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from codegen import ir, layout_checks
from codegen.c_names import C_KEYWORDS
from codegen.drain import DrainPlan, RecoveryPlan, plan_drain, plan_recovery
from codegen.errors import Errors, LayoutInconsistent
from codegen.ir import Span
from codegen.layout import (
    ArrayType,
    BitsType,
    BytesType,
    EnumType,
    Layout,
    Local,
    RecordType,
    SequenceType,
    SetType,
    Source,
    TypeText,
)
from codegen.sections import Place, SectionPlan, Sections

WORD_BITS = 64
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

    def hooks(self) -> list[list[SectionPlan]]:
        """Returns the sections of each hook, and of each pass of the sweep and of restore."""
        return [self.xdp, self.tc, self.user, *(plans for _, plans in self.passes())]

    def plans(self) -> list[SectionPlan]:
        return [plan for hook in self.hooks() for plan in hook]

    def passes(self) -> list[tuple[str, list[SectionPlan]]]:
        """Returns the passes of the sweep, then the pass over rows to restore."""
        return [*self.sweep, *([self.restored] if self.restored else [])]


def width_bits(kind: ir.Type) -> int:
    """Returns the number of bits that a value occupies in a word cell."""
    match kind:
        case ir.UInt(width):
            return width
        case ir.Bool():
            return 1
        case ir.Enum(_, members):
            return max(1, (len(members) - 1).bit_length())
        case ir.Bytes(size):
            return 8 * size
        case ir.Bits(size):
            return size
        case ir.Set(element, size) | ir.Sequence(element, size):
            return size.bit_length() + size * width_bits(element)
        case ir.Array(element, size):
            return size * width_bits(element)
        case ir.Record(_, fields):
            return sum(width_bits(inner) for _, inner in fields)
    raise ValueError(f"{kind} is no type of a cell")


def resolve(layout: Layout, source: Source, errors: Errors) -> Resolved:
    """Resolves and checks a layout. After an error it goes on with a stand-in."""
    return Resolver(layout, source, errors).run()


class Resolver(Sections):
    def __init__(self, layout: Layout, source: Source, errors: Errors):
        self.layout = layout
        self.source = source
        self.errors = errors
        self.resolved: dict[Place, ir.Type] = {}
        self.resolving: list[Place] = []
        self.used: set[str] = set()
        self.age_until: int | None = None
        self.token: str | None = None
        self.constants = {
            name: tuple(value) if isinstance(value, list) else value for name, value in layout.constants.items()
        }

    def complain(self, place: Place, found: str, instead: str = "") -> None:
        self.errors.add(LayoutInconsistent(self.source.span(*place), found, instead))

    def run(self) -> Resolved:
        tables = {name: self.table(name) for name in self.layout.tables}
        tail = self.tail()
        message = self.message(tail)
        env = self.environment()
        layout_checks.check_names(self)
        layout_checks.check_indices(self, message, tables)
        layout_checks.check_wire(self, message)
        self.check_forwards()
        hooks = self.layout.hooks
        xdp, tc = self.hook("xdp", hooks.xdp, message), self.hook("tc", hooks.tc, message)
        user = self.user()
        sweep, restored = self.sweep(), self.restored()
        layout_checks.check_restore(self, tables)
        layout_checks.check_budgets(self)
        layout_checks.check_older(self)
        hashes = self.hashes(message)
        layout_checks.check_ahead(self)
        drain, recovery = plan_drain(self, message, tables), plan_recovery(self, message)
        return Resolved(
            self.layout,
            self.source,
            self.constants,
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
            self.used,
            drain,
            recovery,
            self.age_until,
            self.token,
        )

    # --- Types ------------------------------------------------------------------------------------------

    def bound(self, bound: int | str, place: Place, low: int, high: int, fallback: int) -> int:
        """Returns a number, or a constant's value, within low..high; `fallback` after reporting an error."""
        value = bound
        if isinstance(bound, str):
            self.used.add(bound)
            value = self.constants.get(bound)
            if not isinstance(value, int) or isinstance(value, bool):
                reason = "is no constant of the layout" if value is None else "is no number"
                self.complain(place, f"{bound} {reason}", "write a number, or the name of a constant that is one")
                return fallback
        if not low <= value <= high:
            shown = f"{bound} = {value}" if isinstance(bound, str) else f"{value}"
            self.complain(place, f"{'.'.join(map(str, place))} is {shown}", f"it must lie in {low}..{high}")
            return fallback
        return value

    def type(self, text: TypeText, place: Place, name: str) -> ir.Type:
        """Returns the type at `place`; an enum or a record there gets the name `name`."""
        match text:
            case str():
                return self.named_type(text, place)
            case EnumType(enum=members):
                for at, member in enumerate(members):
                    if member in members[:at]:
                        self.complain((*place, "enum", at), f"{member} is twice in enum {name}", "keep one of them")
                return ir.Enum(name, tuple(dict.fromkeys(members)))
            case BytesType(bytes=size):
                return ir.Bytes(self.bound(size, (*place, "bytes"), 1, 1024, 1))
            case SetType(set=element, max=size):
                kind = self.type(element, (*place, "set"), f"{name}_element")
                if not isinstance(kind, (ir.UInt, ir.Enum, ir.Bool, ir.Bytes)):
                    self.complain(
                        (*place, "set"),
                        "a set of sets, arrays or records",
                        "its elements must be uN, enum, bool or bytes",
                    )
                return ir.Set(kind, self.bound(size, (*place, "max"), 1, 4096, 1))
            case BitsType(bits=size):
                return ir.Bits(self.bound(size, (*place, "bits"), 1, WORD_BITS, 1))
            case ArrayType(array=element, size=size):
                kind = self.type(element, (*place, "array"), f"{name}_element")
                return ir.Array(kind, self.bound(size, (*place, "size"), 1, 4096, 1))
            case SequenceType(sequence=element, max=size):
                kind = self.type(element, (*place, "sequence"), f"{name}_element")
                return ir.Sequence(kind, self.bound(size, (*place, "max"), 1, 4096, 1))
        assert isinstance(text, RecordType)
        fields = [
            (inner, self.type(kind, (*place, "record", inner), f"{name}.{inner}"))
            for inner, kind in text.record.items()
        ]
        return ir.Record(name.replace(".", "_"), tuple(fields))

    def named_type(self, text: str, place: Place) -> ir.Type:
        if text == "bool":
            return ir.Bool()
        if match := re.fullmatch(r"u(\d+)", text):
            width = int(match[1])
            if not 1 <= width <= 64:
                self.complain(place, f"{text} has {width} bits", "u1 to u64 can be compiled")
                return ir.UInt(64)
            return ir.UInt(width)
        target = self.target(text)
        if target is None:
            self.complain(
                place, f"there is no type {text}", "write uN, bool, a name from `types`, table.field or message.field"
            )
            return ir.UInt(64)
        return self.at(*target, place)

    def target(self, text: str) -> tuple[Place, TypeText, str] | None:
        """Returns the target of a reference: its place, its text, and the name for an enum there."""
        head, *rest = text.split(".")
        layout = self.layout
        if not rest:
            return (("types", head), layout.types[head], head) if head in layout.types else None
        if len(rest) != 1:
            return None
        name = rest[0]
        if head == "message":
            if name in layout.message:
                return ("message", name), layout.message[name], f"message.{name}"
            if name in layout.local:
                return self.local_target(name)
            return None
        if head in layout.tables and name in layout.tables[head].cell:
            return ("tables", head, "cell", name), layout.tables[head].cell[name], f"{head}.{name}"
        return None

    def local_target(self, name: str) -> tuple[Place, TypeText, str]:
        text = self.layout.local[name]
        if isinstance(text, Local):
            return ("local", name, "type"), text.type, f"message.{name}"
        return ("local", name), text, f"message.{name}"

    def at(self, place: Place, text: TypeText, name: str, asked: Place) -> ir.Type:
        """Returns the type of a field or a name, and resolves it only once."""
        if place in self.resolved:
            return self.resolved[place]
        if place in self.resolving:
            self.complain(asked, f"the type {'.'.join(map(str, place))} refers to itself")
            return ir.UInt(64)
        self.resolving.append(place)
        self.resolved[place] = self.type(text, place, name)
        self.resolving.pop()
        return self.resolved[place]

    # --- Records and tables -------------------------------------------------------------------------------

    def table(self, name: str) -> ir.TableLayout:
        model = self.layout.tables[name]
        place: Place = ("tables", name)
        fields = []
        for inner, text in model.cell.items():
            fields.append((inner, self.at((*place, "cell", inner), text, f"{name}.{inner}", (*place, "cell", inner))))
        fields.sort(key=lambda each: isinstance(each[1], ir.Array) and isinstance(each[1].element, ir.Record))
        cell = ir.Record(f"{name}_cell", tuple(fields))
        capacity = self.bound(model.capacity, (*place, "capacity"), 1, CAPACITY_MAX, 1)
        bits = width_bits(cell)
        if model.atomic == "word" and bits > WORD_BITS:
            self.complain(
                (*place, "atomic"),
                f"a cell of {name} takes {bits} bits, a word has {WORD_BITS}",
                "make its fields smaller, or choose spin_lock or res_spin_lock",
            )
        if model.own_line and model.atomic not in ("word", "owned"):
            reason = (
                "are the daemon's alone" if model.atomic == "user" else "take whole cache lines where that costs little"
            )
            self.complain(
                ("tables", name, "own_line"),
                f"cells of {name}, which is `atomic: {model.atomic}`, {reason}",
                "remove it, or choose word or owned",
            )
        return ir.TableLayout(
            name, cell, model.map, capacity, model.index.removeprefix("msg."), model.atomic, model.ahead, model.own_line
        )

    def message(self, tail: ir.TailLayout | None) -> ir.Record:
        fields: list[tuple[str, ir.Type]] = []
        for name, text in self.layout.message.items():
            fields.append((name, self.at(("message", name), text, f"message.{name}", ("message", name))))
        for name, text in self.layout.handover.items():
            if name in self.layout.message:
                self.complain(("handover", name), f"{name} is a field of `message` already", "rename one of them")
                continue
            fields.append((name, self.at(("handover", name), text, f"message.{name}", ("handover", name))))
        for name in self.layout.local:
            if name in self.layout.message or name in self.layout.handover:
                self.complain(("local", name), f"{name} is a field on the wire already", "rename one of them")
                continue
            place, text, enum_name = self.local_target(name)
            fields.append((name, self.at(place, text, enum_name, place)))
        if tail is not None:
            fields.append((tail.field, ir.Bytes(tail.max)))
        return ir.Record("message", tuple(fields))

    def tail(self) -> ir.TailLayout | None:
        """Returns the tail of a message, which follows its fixed part; None after reporting an error."""
        model, before = self.layout.tail, len(self.errors.found)
        if model is None:
            return None
        longest = self.bound(model.max, ("tail", "max"), TAIL_BYTES_MIN, TAIL_BYTES_MAX, TAIL_BYTES_MAX)
        over = self.bound(model.over, ("tail", "over"), 0, longest - 1, 0)
        for part in ("message", "handover", "local"):
            if model.field in getattr(self.layout, part):
                self.complain(("tail", "field"), f"{model.field} is a field of `{part}` already", "rename one of them")
        if model.field in C_KEYWORDS:
            self.complain(("tail", "field"), f"{model.field} is a word of C", "choose another name")
        place: Place = ("tail", "length")
        if model.length not in self.layout.message:
            self.complain(
                place, f"{model.length} is no field of `message`", f"there is {', '.join(self.layout.message)}"
            )
        else:
            kind = self.at(("message", model.length), self.layout.message[model.length], "", place)
            if not isinstance(kind, ir.UInt) or not longest < 2**kind.width <= 2**32:
                self.complain(
                    place, f"message.{model.length} cannot say how long a tail is", f"it must be uN, and hold {longest}"
                )
        if self.layout.hooks.user is None:
            self.complain(
                ("tail",),
                "a tail, but there is no user hook, and nobody else looks at it",
                "remove it, or add hooks.user",
            )
        return ir.TailLayout(model.field, model.length, over, longest) if len(self.errors.found) == before else None

    def check_forwards(self) -> None:
        for at, name in enumerate(self.layout.forwards):
            place: Place = ("forwards", at)
            if name in self.layout.handover:
                self.complain(place, f"{name} is handed over, and forwarded so", "remove it")
            elif name not in self.layout.message:
                self.complain(place, f"{name} is no field of `message`", f"there is {', '.join(self.layout.message)}")
            elif name in self.layout.forwards[:at]:
                self.complain(place, f"{name} is forwarded twice", "name it once")
        if self.layout.forwards and self.layout.hooks.user is None:
            self.complain(
                ("forwards",), "fields are forwarded, but there is no user hook", "remove it, or add hooks.user"
            )

    def environment(self) -> ir.Record:
        fields: list[tuple[str, ir.Type]] = []
        clock = self.layout.env.now
        if clock is not None:
            kind = self.type(clock.type, ("env", "now", "type"), "now")
            if not isinstance(kind, ir.UInt):
                self.complain(("env", "now", "type"), f"the clock's type is {clock.type}", "it must be uN")
                kind = ir.UInt(64)
            if clock.tick_ns & (clock.tick_ns - 1):
                self.complain(("env", "now", "tick_ns"), f"a tick of {clock.tick_ns} ns", "it must be a power of two")
            fields.append(("now", kind))
        if self.layout.env.cpu is not None:
            fields.append(
                ("cpu", self.number(self.layout.env.cpu, ("env", "cpu"), "the processor's number", PROCESSOR_BITS_MAX))
            )
        if self.layout.env.age is not None:
            fields.append(("age", self.age()))
        if self.layout.env.terms is not None:
            size = self.bound(self.layout.env.terms.bytes, ("env", "terms", "bytes"), 1, 1024, TERMS_BYTES)
            if size != TERMS_BYTES:
                self.complain(
                    ("env", "terms", "bytes"),
                    f"env.terms has {size} bytes",
                    f"it is a hash: write {{bytes: {TERMS_BYTES}}}",
                )
            fields.append(("terms", ir.Bytes(TERMS_BYTES)))
        if self.layout.env.peer is not None:
            self.for_user_hook("peer")
            fields.append(
                (
                    "peer",
                    self.number(self.layout.env.peer.type, ("env", "peer", "type"), "the peer's number", PEER_BITS_MAX),
                )
            )
        if self.layout.env.token is not None:
            self.for_user_hook("token")
            self.token = self.shown(self.layout.env.token.field)
            fields += [("token", ir.Bytes(TOKEN_BYTES)), ("validated", ir.Bool())]
        fields += [("random", ir.Bytes(8)), ("index", ir.UInt(32))]
        return ir.Record("env", tuple(fields))

    def number(self, text: str, place: Place, what: str, bits_max: int) -> ir.Type:
        """Returns the type of a field of env whose value is truncated to that type."""
        kind = self.type(text, place, str(place[1]))
        if isinstance(kind, ir.UInt) and kind.width <= bits_max:
            return kind
        self.complain(place, f"{what} has the type {text}", f"it must be u1 to u{bits_max}, such as u16")
        return ir.UInt(bits_max)

    def for_user_hook(self, name: str) -> None:
        if self.layout.hooks.user is None:
            self.complain(
                ("env", name),
                f"env.{name} is for steps of the user hook, and there is none",
                "remove it, or add hooks.user",
            )

    def shown(self, text: str) -> str | None:
        """Returns the wire field in which a client shows a token."""
        place, name = ("env", "token", "field"), text.removeprefix("msg.")
        if name not in self.layout.message:
            self.complain(place, f"{name} is no field of `message`", f"there is {', '.join(self.layout.message)}")
            return None
        kind = self.type(self.layout.message[name], ("message", name), name)
        if kind != ir.Bytes(TOKEN_BYTES):
            self.complain(
                place,
                f"a token does not fit {name}",
                f"it has {TOKEN_BYTES} bytes: name a field with {{bytes: {TOKEN_BYTES}}}",
            )
        return name

    def age(self) -> ir.Type:
        """Returns the smallest type that holds `until` + 1. The age stays at the type's greatest value."""
        place: Place = ("env", "age")
        self.age_until = self.bound(self.layout.env.age.until, (*place, "until"), 0, AGE_MAX, 0)
        if self.layout.env.now is None:
            self.complain(
                place, "env.age counts ticks, and there is no env.now", "add env.now, which says how long a tick is"
            )
        self.for_user_hook("age")
        return ir.UInt((self.age_until + 1).bit_length())

    def hashes(self, message: ir.Record) -> tuple[ir.HashIndex, ...]:
        """Returns the local fields that are computed when a packet arrives."""
        found = []
        kinds = dict(message.fields)
        for name, text in self.layout.local.items():
            if not isinstance(text, Local) or text.source is None:
                continue
            place: Place = ("local", name, "from")
            match = re.fullmatch(r"hash\(\s*msg\.(\w+)\s*,\s*(\w+(?:\.capacity)?)\s*(,\s*lower\s*)?\)", text.source)
            if match is None:
                self.complain(
                    place,
                    f"{name} comes from {text.source}",
                    'write "hash(msg.field, table.capacity)", or "hash(msg.field, table.capacity, lower)"',
                )
                continue
            source, size, lower = match.groups()
            known = (
                source in self.layout.message
                or source in self.layout.handover
                or any(source == one.field for one in found)
            )
            if not known or not isinstance(kinds.get(source), ir.UInt):
                self.complain(
                    place,
                    f"msg.{source} is no uN field of the message on the wire, and no hash before this one",
                    "hash one that is",
                )
                continue
            capacity = self.hash_capacity(size, place)
            if capacity is None:
                continue
            kind = kinds[name]
            if not isinstance(kind, ir.UInt) or capacity - 1 >= 2**kind.width:
                self.complain(place, f"an index 0..{capacity - 1} does not fit {name}", "make its type a wider uN")
                continue
            found.append(ir.HashIndex(name, source, capacity, lower is not None))
        return tuple(found)

    def hash_capacity(self, text: str, place: Place) -> int | None:
        table, dot, _ = text.partition(".")
        if dot:
            if table not in self.layout.tables:
                self.complain(place, f"there is no table {table}", f"there is {', '.join(self.layout.tables)}")
                return None
            return self.bound(self.layout.tables[table].capacity, place, 1, CAPACITY_MAX, 1)
        return self.bound(int(text) if text.isdigit() else text, place, 1, CAPACITY_MAX, 1)


def position(resolved: Resolved, plan: SectionPlan) -> Span:
    """Returns the place of a section in the layout."""
    return resolved.source.span(*plan.position)
