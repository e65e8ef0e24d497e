"""Runs generated steps on this machine and reads their results, for protocols with any types."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from codegen import ir
from codegen.c.names import Names, field
from codegen.compile import load
from codegen.emit import generate
from codegen.emit.types import Vector
from codegen.ir.measure import is_scalar, is_vector
from tests.codegen.compiling import UNDEFINED, compile_native, gcc_accepts
from tests.codegen.front import interpreter


def layout(message: dict[str, Any], cell: dict[str, Any], protocol: str = "made") -> dict[str, Any]:
    """A layout with one table of locked cells, which msg.where selects."""
    table = {"cell": cell, "capacity": 256, "index": "msg.where", "atomic": "spin_lock"}
    return {
        "protocol": protocol,
        "module": f"{protocol.capitalize()}Steps",
        "message": message,
        "tables": {"cell": table},
        "wire": {"transport": "udp", "port": 4242, "order": list(message)},
        "budget": {"xdp": {"insns": 100000, "states": 10000, "stack": 512}},
    }


Numbers = Callable[[int, random.Random], int]
"""Draws a number of a width."""


def small(width: int, draw: random.Random) -> int:
    """Small numbers more often than others, so that some are equal."""
    return draw.choice([0, 1, 2, 3, draw.randrange(1 << width)]) % (1 << width)


def at_ends(width: int, draw: random.Random) -> int:
    """A small number, or one near what fits this width, 31 or 32 bits or half of the width."""
    end = draw.choice([0, 0, 0, 1 << width, 1 << width - 1, 1 << min(width, 31), 1 << min(width, 32)])
    return max(0, min((1 << width) - 1, end + draw.randint(-3, 8)))


def draw_value(kind: ir.Type, draw: random.Random, number: Numbers = small) -> Any:
    """A random value."""
    match kind:
        case ir.UInt(width):
            return number(width, draw)
        case ir.Bool():
            return draw.random() < 0.5
        case ir.Enum(_, members):
            return draw.choice(members)
        case ir.Bytes(size):
            return draw.choice([0, 1, draw.randrange(1 << 8 * size)])
        case ir.Bits():
            return frozenset([item for item in kind.elements if draw.random() < 0.3][: kind.most])
        case ir.Set(element, size):
            return frozenset(freeze(draw_value(element, draw, number)) for _ in range(draw.randint(0, size)))
        case ir.Sequence(element, size):
            return tuple(draw_value(element, draw, number) for _ in range(draw.randint(0, size)))
        case ir.Array(element, size):
            return tuple(draw_value(element, draw, number) for _ in range(size))
        case ir.Record(_, fields):
            return {name: draw_value(inner, draw, number) for name, inner in fields}
    raise TypeError(kind)


def freeze(value: Any) -> Any:
    return frozenset(value.items()) if isinstance(value, dict) else value


def thaw(kind: ir.Type, value: Any) -> Any:
    return dict(value) if isinstance(kind, ir.Record) else value


def initial(value: Any, kind: ir.Type, names: Names) -> str:
    """A value as a C initialiser."""
    match kind:
        case ir.Bool():
            return str(int(value))
        case ir.Enum():
            return names.member(kind, value)
        case ir.Bits():
            return f"{sum(1 << kind.elements.index(item) for item in value)}ull"
        case ir.Bytes(size) if not is_scalar(kind):
            return "{ .bytes = { " + ", ".join(map(str, value.to_bytes(size, "little"))) + " } }"
        case ir.Record(_, fields):
            return (
                "{ "
                + ", ".join(f".{field(name)} = {initial(value[name], inner, names)}" for name, inner in fields)
                + " }"
            )
    if not is_vector(kind):
        return f"{value}ull"
    vector = Vector.of(kind)
    items = [thaw(vector.element, item) for item in (sorted(value, key=repr) if isinstance(kind, ir.Set) else value)]
    count = f", .count = {len(items)}" if vector.counted else ""
    if vector.packed:
        word = sum(scalar(item, vector.element) << vector.item_bits * at for at, item in enumerate(items))
        return f"{{ .items = {word}ull{count} }}"
    return "{ .items = { " + ", ".join(initial(item, vector.element, names) for item in items) + f" }}{count} }}"


def scalar(value: Any, kind: ir.Type) -> int:
    return kind.members.index(value) if isinstance(kind, ir.Enum) else int(value)


def places(kind: ir.Type, path: str) -> list[str]:
    """The integers that a value is made of, as C expressions."""
    if isinstance(kind, ir.Record):
        return [place for name, inner in kind.fields for place in places(inner, f"{path}.{field(name)}")]
    if isinstance(kind, ir.Bytes) and not is_scalar(kind):
        return [f"{path}.bytes[{at}]" for at in range(kind.size)]
    if not is_vector(kind):
        return [path]
    vector = Vector.of(kind)
    items = (
        [f"{path}.items"]
        if vector.packed
        else [place for at in range(vector.size) for place in places(vector.element, f"{path}.items[{at}]")]
    )
    return ([f"{path}.count"] if vector.counted else []) + items


def read(kind: ir.Type, numbers: list[int]) -> Any:
    """The value that the next of the printed integers make."""
    match kind:
        case ir.Bool():
            number = numbers.pop(0)
            assert number in (0, 1)
            return bool(number)
        case ir.Enum(_, members):
            return members[numbers.pop(0)]
        case ir.Bits():
            number = numbers.pop(0)
            return frozenset(item for at, item in enumerate(kind.elements) if number >> at & 1)
        case ir.Bytes(size) if not is_scalar(kind):
            return int.from_bytes(bytes(numbers.pop(0) for _ in range(size)), "little")
        case ir.Record(_, fields):
            return {name: read(inner, numbers) for name, inner in fields}
    if not is_vector(kind):
        return numbers.pop(0)
    vector = Vector.of(kind)
    count = numbers.pop(0) if vector.counted else vector.size
    if vector.packed:
        word, mask = numbers.pop(0), (1 << vector.item_bits) - 1
        assert word >> vector.item_bits * count == 0, "unused items are not zero"
        items = [read(vector.element, [word >> vector.item_bits * at & mask]) for at in range(count)]
    else:
        items = [read(vector.element, numbers) for _ in range(vector.size)]
        blank = read(vector.element, [0] * 256)
        assert all(item == blank for item in items[count:]), "unused items are not zero"
        items = items[:count]
    if not isinstance(kind, ir.Set):
        return tuple(items)
    found = frozenset(map(freeze, items))
    assert len(found) == count, "a set holds an element twice"
    return found


def run(
    folder: Path, protocol: ir.Protocol, steps: list[ir.Step], cases: list[tuple[dict, dict]]
) -> list[tuple[int, int, int, dict, dict]]:
    """Every step on every (cell, message): step, case, verdict and what became of the two."""
    names = Names(protocol.name)
    for name, text in generate(protocol).items():
        (folder / name).write_text(text)
    cell, message = protocol.tables[0].cell, protocol.message
    sides = places(cell, "cell") + places(message, "message")
    lines = [f'#include "{names.file("_steps.h")}"', "#include <stdio.h>"]
    for at, (kind, array) in enumerate(((cell, "cells"), (message, "messages"))):
        values = ",\n".join(initial(case[at], kind, names) for case in cases)
        lines.append(f"static const struct {names.tag(kind)} {array}[] = {{\n{values}\n}};")
    lines.append("int main(void)\n{")
    for number, step in enumerate(steps):
        lines += [
            f"\tfor (int i = 0; i < {len(cases)}; i++) {{",
            f"\t\tstruct {names.tag(cell)} cell = cells[i];",
            f"\t\tstruct {names.tag(message)} message = messages[i];",
            f'\t\tprintf("{number} %d %u", i, {names.step(step)}(&cell, &message) & STEPWISE_VERDICT_MASK);',
            *(f'\t\tprintf(" %llu", (unsigned long long){place});' for place in sides),
            '\t\tprintf("\\n");',
            "\t}",
        ]
    (folder / "run.c").write_text("\n".join([*lines, "\treturn 0;", "}", ""]))
    gcc_accepts(folder)
    compile_native(folder, *UNDEFINED)
    ran = subprocess.run(["./run"], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[:4000]
    found = []
    for line in ran.stdout.splitlines():
        number, case, verdict, *numbers = map(int, line.split())
        after = read(cell, numbers)
        found.append((number, case, verdict, after, read(message, numbers)))
        assert not numbers
    return found


def compare_values(folder: Path, layout: dict[str, Any], field: str, texts: list[str]) -> None:
    """Compares steps that each give a field of the cell the value of a text."""
    steps = {f"Into{at}": f"Reply([cell EXCEPT !.{field} = ({text})], msg)" for at, text in enumerate(texts)}
    compare(folder, layout, steps)


def compiled(folder: Path, layout: dict[str, Any], change: str) -> ir.Protocol:
    """Compiles a protocol whose only step changes the cell. change: what EXCEPT says. Raises SpecErrors."""
    layout = layout | {"hooks": {"xdp": [{"cell": "Only", "contended": "skip"}]}}
    module = layout["module"]
    (folder / "layout.yaml").write_text(yaml.safe_dump(layout))
    (folder / f"{module}.tla").write_text(
        f"---- MODULE {module} ----\nEXTENDS Offload\nOnly(cell, msg) == Reply([cell EXCEPT {change}], msg)\n====\n"
    )
    return load(folder)


def compare(
    folder: Path,
    layout: dict[str, Any],
    steps: dict[str, str],
    number: int = 300,
    seed: int = 7,
    numbers: Numbers = small,
) -> None:
    """Compiles steps over the first table of a layout, and compares them with the interpreter on random inputs.

    Each step must end with Reply, or Continue, for some input, so that a comparison means something.
    """
    spec = folder / "spec" / layout["protocol"]
    spec.mkdir(parents=True)
    table = next(iter(layout["tables"]))
    module = layout["module"]
    layout = {**layout, "hooks": {"xdp": [{table: name, "contended": "skip"} for name in steps]}}
    (spec / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    bodies = "\n".join(f"{name}(cell, msg) == {body}" for name, body in steps.items())
    (spec / f"{module}.tla").write_text(f"---- MODULE {module} ----\nEXTENDS Offload\n{bodies}\n====\n")
    protocol = load(spec)
    draw = random.Random(seed)
    cell, message = protocol.tables[0].cell, protocol.message
    cases = [(draw_value(cell, draw, numbers), draw_value(message, draw, numbers)) for _ in range(number)]
    compiled = [section.step for section in protocol.xdp]
    env = {"now": 0, "random": 0, "index": 0}
    reached = set()
    for step, case, verdict, cell_after, message_after in run(folder, protocol, compiled, cases):
        expected = interpreter.run(compiled[step], *cases[case], env)
        found = (ir.VERDICTS[verdict], cell_after, message_after)
        assert found == (expected[0], expected[2], expected[3]), f"{compiled[step].name} on {cases[case]}"
        reached.add((compiled[step].name, expected[0]))
    ended = {name for name, verdict in reached if verdict in ("Reply", "Continue")}
    assert ended == set(steps), f"no input was answered by {[steps[name] for name in set(steps) - ended]}"
