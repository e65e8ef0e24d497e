"""Makes the template contexts of <p>_hooks.h, <p>.bpf.c and <p>_user.c: the programs around the steps."""

from __future__ import annotations

from typing import Any

from codegen.c.names import Names, field
from codegen.emit.branch_numbers import Leaves
from codegen.emit.codecs import tail_macros
from codegen.emit.hooks import GUARDED, Hooks
from codegen.emit.identity import layout_id, tells_peers
from codegen.emit.rare_path import user_reads, user_sections
from codegen.emit.restore import restore_context
from codegen.emit.stack import Stack, message_layout
from codegen.emit.steps import element_type, is_lined, value_type
from codegen.emit.types import bytes_alignment, c_type, handover_place, operation_fields, packet_fields
from codegen.ir import TERMS, Bytes, Protocol, Section, Table, TableLayout, expect
from codegen.ir.measure import is_scalar, width_bits

CLOCK_BITS = 32
"""Greatest width of env.now for which it can be cached with its jiffy: see runtime/bpf/stepwise_clock.h."""

PROCESSOR_BITS = 32
"""Width of a processor's number, as the kernel returns it."""

PEER_BITS = 64
"""Width of a peer's number, as the daemon passes it."""

LOOKED_AT_TOGETHER = 8
"""STEPWISE_LOOKED_AT_TOGETHER of runtime/bpf/stepwise_operations.h."""


def _mask(width: int, told_bits: int) -> str:
    """Returns the C text that truncates a number of `told_bits` bits to `width` bits; empty if nothing is cut off."""
    return f" & {(1 << width) - 1:#x}" if width < told_bits else ""


class Programs:
    """Makes the contexts of the three templates."""

    def __init__(self, protocol: Protocol, names: Names, numbers: Leaves):
        self.protocol = protocol
        self.names = names
        self.numbers = numbers
        stack = Stack(protocol, names, numbers.steps)
        self.message_in_map, self.operation_in_map = stack.message_in_map, stack.operation_in_map
        hooks = Hooks(protocol, names, numbers.steps, self.message_in_map)
        self.xdp = hooks.hook(protocol.xdp)
        self.tc = hooks.hook(protocol.tc) if protocol.tc else None
        self.sweeps = [self._sweep(hooks, one) for one in protocol.sweep]
        self.hooks = hooks

    def _sweep(self, hooks: Hooks, one: Any) -> dict[str, Any]:
        title = f"Pass {one.program.removeprefix('sweep_')}" if one.program != "restore" else "A row that is restored"
        return {
            "program": one.program,
            "title": title,
            "each": one.each,
            "hook": hooks.sweep(one),
            "number_macro": self._table_macro(one.each),
        }

    def _table_macro(self, table: str) -> str:
        return self.names.macro("table", table)

    def _named_hooks(self) -> list[dict[str, Any]]:
        protocol = self.protocol
        stores, blanks = self._stores(self.hooks.fields(protocol.wire, protocol.xdp)), self._blanks()
        found = [{"name": "xdp", "base": "XDP", "counter": "", "hook": self.xdp, "stores": stores, "blanks": blanks}]
        if self.tc is not None:
            stores = self._stores(self.hooks.fields(protocol.wire, protocol.tc))
            found.append(
                {"name": "tc", "base": "TC", "counter": "TC_", "hook": self.tc, "stores": stores, "blanks": blanks}
            )
        return found

    def _stores(self, changed: tuple[str, ...], part: str = "wire") -> list[str]:
        """Returns calls that write these fields into the packet, or into one of its operations.

        part: `wire` or `operation`, which starts the names of the macros with the offsets.
        """
        found = []
        for each in operation_fields(self.protocol) if part == "operation" else packet_fields(self.protocol):
            if each.name not in changed:
                continue
            offset, member = self.names.macro(part, each.name), f"message->{field(each.name)}"
            if not is_scalar(each.type):
                found.append(
                    f"stepwise_replace_block(payload, {offset}, {each.size}, {member}.bytes, "
                    f"{bytes_alignment(each.size)})"
                )
                continue
            verb = "stepwise_replace_bytes" if isinstance(each.type, Bytes) else "stepwise_replace"
            found.append(f"{verb}(payload, {offset}, {each.size}, {member})")
        return found

    def _blanks(self) -> list[str]:
        """Returns the call that clears the handover in a packet to a client, if there is a handover."""
        start, size = handover_place(self.protocol)
        return [f"stepwise_blank(payload, {self.names.macro('wire', start)}, {size})"] if size else []

    def common(self) -> dict[str, Any]:
        return {
            "hooks": self._named_hooks(),
            "tables": [self._table(table) for table in self.protocol.tables],
            "xdp": self.xdp,
            "tc": self.tc,
            "sweeps": self.sweeps,
            "sweeps_restore": any(sweep["hook"].restored for sweep in self.sweeps),
            "sweeps_now": any(sweep["hook"].now for sweep in self.sweeps),
            "now": self._now() if self._kernel_asks_for_now() else None,
            "cpu": self._cpu() if self.xdp.cpu or (self.tc is not None and self.tc.cpu) else None,
            "message": self.names.tag(self.protocol.message),
            "message_map": self.message_in_map,
            "operation_map": self.operation_in_map,
            "message_alignment": message_layout(self.protocol)[1],
            "environment": self.names.tag(self.protocol.environment),
            "hooks_header": self.names.file("_hooks.h"),
            "steps_header": self.names.file("_steps.h"),
            "codec_header": self.names.file("_codec.h"),
            "sections": list(self.hooks.functions.values()),
            "forwards": bool(self.protocol.user),
            "promiscuous": self.protocol.promiscuous,
            "handover_stores": self._stores(
                (*self.protocol.handover, *self.hooks.fields(self.protocol.forwards, self.protocol.xdp))
            ),
            "handover": bool(self.protocol.handover),
            "encode_forwarded": self._encode_forwarded(),
            "tail": tail_macros(self.protocol, self.names),
            "operations": self._operations(),
            "groups": [
                {"group": group, "stores": self._stores(group.stored, "operation")} for group in self.xdp.groups
            ],
            "group_environment": any(group.environment_given for group in self.xdp.groups),
            "ahead": self._ahead(),
            "decode_handed_over": self.names.function(
                "message", "decode", *(["handed", "over"] if self.protocol.handover else [])
            ),
        }

    def _operations(self) -> dict[str, Any] | None:
        """Describes what a program needs for operations; None if messages have none.

        touched: the cells that a group looks up with an index that each operation has, to be read ahead.
        known: indices among them that no section changes, with their numbers.
        places: for the indices; a power of two, so that a mask bounds the number of an operation, and at least
        LOOKED_AT_TOGETHER.
        """
        if self.protocol.operations is None:
            return None
        own = self.protocol.of_operation()
        tables = {section.table for section in self.protocol.xdp if section.group}
        touched = [
            {
                "element_type": element_type(self.names, self.protocol, table.name),
                "function": self.names.function(table.name, "element"),
                "index": field(table.index),
            }
            for table in self.protocol.tables
            if table.name in tables and table.index in own
        ]
        return {
            "of": self.names.function("operations", "of"),
            "touched": touched,
            "known": [(each["index"], place) for place, each in enumerate(touched, 1) if self._is_kept(each["index"])],
            "places": max(LOOKED_AT_TOGETHER, 1 << (self.protocol.operations.max - 1).bit_length()),
            "size": self.names.macro("operation_size"),
            "max": self.names.macro("operations_max"),
        }

    def _is_kept(self, index: str) -> bool:
        """Returns true if no group writes an index of an operation, or the field that it is a hash of."""
        made_of = {index}
        for one in reversed(self.protocol.hashes):
            made_of |= {one.source} if one.field in made_of else set()
        return not any(made_of & {*group.stored} for group in self.xdp.groups)

    def _ahead(self) -> dict[str, Any] | None:
        """Describes the table whose cells are read ahead; None if there is none.

        tail_size: the size of a packet's tail; None if the protocol has no tails. A packet with a tail is not put
        off, because the copy for the daemon has no tail.
        """
        table = self.protocol.ahead
        if table is None:
            return None
        size = self.names.function("message", "tail", "size")
        return {
            "table": table.name,
            "index": field(table.index),
            "element_type": element_type(self.names, self.protocol, table.name),
            "function": self.names.function(table.name, "element"),
            "tail_size": f"{size}(payload)" if self.protocol.tail else None,
        }

    def _encode_forwarded(self) -> str:
        """Returns the function that writes xdp's fields for the daemon into a packet; empty if there are none."""
        if self.protocol.forwards:
            return self.names.function("message", "encode", "forwarded")
        return self.names.function("message", "encode", "handover") if self.protocol.handover else ""

    def _table(self, table: TableLayout) -> dict[str, Any]:
        memory, value = (
            f"opened->memory[{self._table_macro(table.name)}]",
            value_type(self.names, self.protocol, table.name),
        )
        return {
            "name": table.name,
            "map": table.map,
            "capacity": self.names.macro("capacity", table.name),
            "element_type": element_type(self.names, self.protocol, table.name),
            "value_type": value,
            "found": f"&(({value} *){memory})[index].word"
            if is_lined(self.protocol, table.name)
            else f"({value} *){memory} + index",
            "function": self.names.function(table.name, "element"),
            "mmapable": table.atomic not in GUARDED,
            "guard": table.atomic,
            "in_hooks": table.name in {section.table for section in (*self.protocol.xdp, *self.protocol.tc)},
            "in_sweep": table.name in {section.table for one in self.protocol.sweep for section in one.sections},
            "user_reads": user_reads(self.protocol, table),
            "number_macro": self._table_macro(table.name),
        }

    def _kernel_asks_for_now(self) -> bool:
        """Whether a program in the kernel needs the time. The user hook does not count: the daemon passes it."""
        return any(
            hook.now for hook in (self.xdp, self.tc, *(sweep["hook"] for sweep in self.sweeps)) if hook is not None
        )

    def _now(self) -> dict[str, Any] | None:
        if self.protocol.tick_ns is None:
            return None
        width = width_bits(self.protocol.env.field("now"))
        return {
            "shift": self.protocol.tick_ns.bit_length() - 1,
            "mask": f"{(1 << width) - 1:#x}" + ("ULL" if width > 31 else ""),
            "type": c_type(self.names, self.protocol.env.field("now")),
            "cached": width <= CLOCK_BITS,
        }

    def _cpu(self) -> dict[str, str]:
        type_ = self.protocol.env.field("cpu")
        return {"type": c_type(self.names, type_), "mask": _mask(width_bits(type_), PROCESSOR_BITS)}

    # --- Userspace --------------------------------------------------------------------------------

    def user_context(self) -> dict[str, Any]:
        alone = self.protocol.user[0] if self.protocol.user and not self.protocol.user_row else None
        row = user_sections(self.protocol, self.names)
        return {
            **self.common(),
            "skeleton": self.names.file(".skel.h"),
            "user": None if alone is None else self._user(alone),
            "user_row": row,
            "again": [
                self.names.leaf(section.step, leaf)
                for section in self.protocol.user
                for leaf in self.numbers.steps[section.step.name].ends
                if leaf.name in section.again
            ],
            "user_environment": any(section.step.env is not None for section in self.protocol.user),
            "environment_fields": self._environment_fields(),
            "environment_used": self._userspace_sets_environment(),
            "restore": restore_context(self.protocol, self.names),
            "sweep_period_ms": self.protocol.sweep_period_ms if self.protocol.sweep else 0,
            "hashes": bool(self.protocol.hashes),
            "drain": self.names.file("_drain.h") if self.protocol.drain else "",
            "recovers": self.protocol.recovery is not None,
            "tells_peers": tells_peers(self.protocol),
            "token_at": self.names.macro("wire", self.protocol.token) if self.protocol.token else None,
            "terms": self.names.macro(TERMS)
            if self.protocol.token and TERMS in dict(self.protocol.env.fields)
            else None,
            "young_ns": self.protocol.young_ticks * (self.protocol.tick_ns or 0),
            "layout_id": f"{layout_id(self.protocol, self.numbers):#x}",
        }

    def _user(self, user: Section) -> dict[str, Any]:
        layout = next(table for table in self.protocol.tables if table.name == user.table)
        number, whole = self._table_macro(user.table), isinstance(user.step.cell_type, Table)
        unpacked = not whole and layout.atomic == "word"
        return {
            "step": self.names.step(user.step),
            "environment": user.step.env is not None,
            "number_macro": number,
            "whole": whole,
            "unpacked": unpacked,
            "value_type": value_type(self.names, self.protocol, user.table),
            "word": "element.word" if is_lined(self.protocol, user.table) else "element",
            "cell_struct": self.names.tag(layout.cell),
            "index": f"message.{field(layout.index)}",
            "argument": f"tables->memory[{number}]" if whole else "&cell" if unpacked else "&element",
        }

    def _userspace_sets_environment(self) -> bool:
        """Whether any step has env, because userspace can run all steps."""
        hooks = [one["hook"] for one in self._named_hooks()]
        return any(section.step.env is not None for section in self.protocol.user) or any(
            hook.environment for hook in hooks
        )

    def _environment_fields(self) -> list[tuple[str, str]]:
        found, now = [], self._now()
        for name, type_ in self.protocol.environment.fields:
            if name == "now" and now is not None:
                found.append(
                    (field(name), f"({c_type(self.names, type_)})(from->now_ns >> {now['shift']} & {now['mask']})")
                )
            elif name == "cpu":
                found.append((field(name), f"from->cpu{self._cpu()['mask']}"))
            elif name == "age":
                found.append(
                    (
                        field(name),
                        f"stepwise_at_most(from->age_ns >> {expect(self.protocol.tick_ns, int).bit_length() - 1}, "
                        f"{(1 << width_bits(type_)) - 1:#x})",
                    )
                )
            elif name == "peer":
                found.append((field(name), "from->peer" + _mask(width_bits(type_), PEER_BITS)))
            elif name in ("random", "token", "validated"):
                found.append((field(name), f"from->{name}"))
        return found
