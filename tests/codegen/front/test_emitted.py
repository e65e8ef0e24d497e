"""The C of every construct means what the intermediate representation means.

The steps of the other tests, and random ones, are emitted, compiled for this machine without a warning, and run on
random inputs. The results are compared with the interpreter, which test_meaning.py compares with TLC. The cell here has
a field of every type, which no protocol's has.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from codegen import ir
from codegen.c.names import Names
from codegen.compile import load
from codegen.emit import generate
from codegen.emit.types import Vector
from codegen.errors import SpecErrors
from codegen.ir.walk import leaves
from tests.codegen.compiling import UNDEFINED, compile_native
from tests.codegen.emit.native import initial, places, read
from tests.codegen.front import interpreter, kit
from tests.codegen.front.random_steps import random_step
from tests.codegen.front.test_meaning import INPUTS, all_steps, inputs, text_of

VERDICTS = ("Continue", "Reply", "Forward", "Drop")
CLIENT_BITS = 14
"""Width of an item of the sample's sets and sequences, which lie in one integer."""


def program(protocol: ir.Protocol, steps: list[ir.Step], cases: list[tuple[dict, dict, dict]]) -> str:
    """Runs every step on every case, and prints a line of integers for each."""
    names = Names(protocol.name)
    cell, message = protocol.tables[0].cell, protocol.message
    for _, kind in (*cell.fields, *message.fields):
        if isinstance(kind, (ir.Set, ir.Sequence)):
            assert Vector.of(kind).packed and Vector.of(kind).item_bits == CLIENT_BITS, kind
    sides = places(cell, "c") + places(message, "m")
    arrays = [
        (f"struct sample_{kind.name} {name}", [initial(case[at], kind, names) for case in cases])
        for at, (kind, name) in enumerate(((cell, "cells"), (message, "messages")))
    ]
    environments = [f"{{ .now = {case[2]['now']}, .index = {case[2]['index']} }}" for case in cases]
    arrays.append(("struct sample_env environments", environments))
    lines = ['#include "sample_steps.h"', "#include <stdio.h>"]
    for declaration, values in arrays:
        lines.append(f"static const {declaration}[] = {{\n" + ",\n".join(values) + "\n};")
    for number, step in enumerate(steps):
        constant = "" if any(leaf.cell for leaf in leaves(step.body)) else "const "
        environment = ", &environments[i]" if step.env else ""
        lines += [
            f"static void run{number}(int i)",
            "{",
            f"\t{constant}struct sample_{cell.name} c = cells[i];",
            "\tstruct sample_message m = messages[i];",
            f"\t__u32 outcome = {names.function(step.name)}(&c, &m{environment});",
            f'\tprintf("{number} %d %u", i, outcome & STEPWISE_VERDICT_MASK);',
            *(f'\tprintf(" %llu", (unsigned long long){place});' for place in sides),
            '\tprintf("\\n");',
            "}",
        ]
    calls = "".join(f"\t\trun{number}(i);\n" for number in range(len(steps)))
    return "\n".join(
        [
            *lines,
            "int main(void)",
            "{",
            f"\tfor (int i = 0; i < {len(cases)}; i++) {{",
            calls + "\t}",
            "\treturn 0;",
            "}",
            "",
        ]
    )


def compare(folder: Path, protocol: ir.Protocol, draw: random.Random) -> int:
    cases = inputs(protocol, draw)
    steps = list({section.step.name: section.step for section in protocol.xdp}.values())
    for name, text in generate(protocol).items():
        (folder / name).write_text(text)
    (folder / "run.c").write_text(program(protocol, steps, cases))
    compile_native(folder, *UNDEFINED)
    output = subprocess.run(["./run"], cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()
    for line in output:
        number, case, verdict, *numbers = map(int, line.split())
        step = steps[number]
        expected = interpreter.run(step, *cases[case])
        context = f"{step.name} on {cases[case]}\n" + "\n".join(kit.tree(step.body))
        assert VERDICTS[verdict] == expected[0], context
        assert read(protocol.tables[0].cell, numbers) == expected[2], context
        assert read(protocol.message, numbers) == expected[3], context
    return len(output)


def test_steps_of_the_other_tests(tmp_path):
    protocol = all_steps(tmp_path)
    assert compare(tmp_path, protocol, random.Random(3)) == len(protocol.xdp) * INPUTS


@pytest.mark.parametrize("seed", [11])
def test_random_steps(tmp_path, seed: int):
    draw = random.Random(seed)
    bodies = {f"Random{number}": random_step(draw) for number in range(80)}
    kept = dict(bodies)
    try:
        load(kit.write(tmp_path, text_of(bodies), list(bodies)))
    except SpecErrors as errors:
        for error in errors.errors:
            kept.pop(list(bodies)[error.span.line - 3], None)
    assert len(kept) >= 16, "too few random steps compile to say anything"
    protocol = load(kit.write(tmp_path, text_of(kept), list(kept)))
    assert compare(tmp_path, protocol, draw) == len(kept) * INPUTS
