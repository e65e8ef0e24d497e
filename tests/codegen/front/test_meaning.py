"""The front end gives a step the meaning that TLC gives it.

The steps of the other tests, and random ones, are compiled and evaluated in Python, and by TLC on the same inputs. The
evaluation in Python also checks every inferred interval, index and room.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from codegen import ir
from codegen.compile import load
from codegen.errors import SpecErrors
from codegen.layout.folders import LIBRARY
from codegen.tla import subset
from harness.data.model_values import to_tla
from harness.tla import notation, tlc
from tests.codegen.front import interpreter, kit, test_bounds, test_lower
from tests.codegen.front.random_steps import random_step

INPUTS = 40
RANDOM_STEPS = 80


def some(kind: ir.Type, draw: random.Random) -> Any:
    """A value of a type, often at the ends of it; small enough for TLC, whose integers have 32 bits."""
    match kind:
        case ir.UInt(width):
            top = min(2**width - 1, 10**6)
            return draw.choice(
                [0, 1, top, top - 1, draw.randint(0, top), draw.randint(0, min(top, 6)), draw.randint(0, min(top, 6))]
            )
        case ir.Bool():
            return draw.random() < 0.5
        case ir.Enum(_, members):
            return draw.choice(members)
        case ir.Bytes():
            return draw.choice([0, 0, 7, 8])
        case ir.Set(element, size):
            found: set = set()
            while len(found) < draw.choice([0, 1, size, size, draw.randint(0, size)]):
                found.add(some(element, draw))
            return frozenset(found)
        case ir.Bits(size):
            return frozenset(item for item in range(size) if draw.random() < 0.3)
        case ir.Array(element, size):
            return tuple(some(element, draw) for _ in range(size))
        case ir.Sequence(element, size):
            return tuple(some(element, draw) for _ in range(draw.choice([0, size, draw.randint(0, size)])))
        case ir.Record(_, fields):
            return {name: some(inner, draw) for name, inner in fields}
    raise AssertionError(f"no value of {kind}")


def inputs(protocol: ir.Protocol, draw: random.Random) -> list[tuple[dict, dict, dict]]:
    cell = protocol.tables[0]
    found = []
    for _ in range(INPUTS):
        env = {"now": some(ir.UInt(25), draw), "index": draw.randrange(cell.capacity)}
        found.append((some(cell.cell, draw), some(protocol.message, draw), env))
    return found


def meanings(
    folder: Path, names: list[tuple[str, int]], cases: list[tuple[dict, dict, dict]]
) -> dict[tuple[str, int], Any]:
    """Returns the result that TLC computes of each step for each input."""
    lines = ["---- MODULE Meaning ----", "EXTENDS SampleSteps, TLC"]
    lines += [f"Input{number} == {to_tla(case)}" for number, case in enumerate(cases)]
    for name, arity in names:
        for number in range(len(cases)):
            arguments = ", ".join(f"Input{number}[{at}]" for at in range(1, arity + 1))
            lines.append(f'ASSUME PrintT(<<"{name}", {number}, ToString({name}({arguments}))>>)')
    values = [notation.parse(line) for line in tlc.evaluate(folder, "\n".join([*lines, "===="]), [LIBRARY])]
    return {(name, number): notation.parse(text) for name, number, text in values}


def compare(folder: Path, protocol: ir.Protocol, draw: random.Random) -> int:
    """Runs every step of the xdp hook on random inputs, both ways; returns how many runs there were."""
    cases = inputs(protocol, draw)
    steps = list({section.step.name: section.step for section in protocol.xdp}.values())
    expected = meanings(folder, [(step.name, 3 if step.env else 2) for step in steps], cases)
    for step in steps:
        for number, case in enumerate(cases):
            verdict, leaf, cell, message = interpreter.run(step, *case)
            result = expected[step.name, number]
            context = f"{step.name} at {leaf} on {to_tla(case)}\n" + "\n".join(kit.tree(step.body))
            assert verdict == result["verdict"], context
            assert cell == result["cell"], context
            assert message == result["msg"], context
    return len(expected)


def constants_of(folder: Path, constants: dict[str, Any]) -> None:
    values = {name: frozenset(value) if isinstance(value, list) else value for name, value in constants.items()}
    (folder / "Meaning.cfg").write_text(
        "CONSTANTS\n" + "\n".join(f"  {name} = {to_tla(value)}" for name, value in values.items())
    )


def all_steps(folder: Path) -> ir.Protocol:
    """The steps of the other tests and the examples of docs/reference/language.md, as one protocol."""
    bodies = {f"{name}(cell, msg)": body for name, (body, _) in test_lower.CASES.items()}
    bodies |= {f"{name}(cell, msg, env)": body for name, (body, _) in test_bounds.ACCEPTED.items()}
    bodies |= {f"{name}(cell, msg, env)": body for name, body in test_bounds.COMPILES.items()}
    for number, construct in enumerate(subset.COMPILABLE, 1):
        value = construct.example
        changed = f"Reply([cell EXCEPT !.{construct.into} = {value}], msg)"
        bodies[f"Example{number}(cell, msg)"] = (
            changed if construct.into else f"IF {value} THEN Reply(cell, msg) ELSE Drop(cell, msg)"
        )
    text = test_lower.COMMON + "\n".join(f"{head} == {body}" for head, body in bodies.items())
    names = [head.partition("(")[0] for head in bodies]
    test_lower.write_modules(folder)
    return load(kit.write(folder, text, names, test_lower.CONSTANTS))


def test_steps_of_the_other_tests(tmp_path):
    protocol = all_steps(tmp_path)
    constants_of(tmp_path, test_lower.CONSTANTS)
    assert compare(tmp_path, protocol, random.Random(1)) == len(protocol.xdp) * INPUTS


@pytest.mark.parametrize("seed", [1])
def test_random_steps(tmp_path, seed: int):
    """Steps that cannot be shown to fit are left out: about half are."""
    draw = random.Random(seed)
    bodies = {f"Random{number}": random_step(draw) for number in range(RANDOM_STEPS)}
    refused: set[str] = set()
    try:
        load(kit.write(tmp_path / "all", text_of(bodies), list(bodies)))
    except SpecErrors as errors:
        for error in errors.errors:
            assert error.span.line >= 3, str(error)
            refused.add(list(bodies)[error.span.line - 3])
    kept = {name: body for name, body in bodies.items() if name not in refused}
    assert len(kept) >= RANDOM_STEPS // 5, "too few random steps compile to say anything"
    shutil.rmtree(tmp_path / "all")
    protocol = load(kit.write(tmp_path / "kept", text_of(kept), list(kept)))
    assert compare(tmp_path / "kept", protocol, draw) == len(kept) * INPUTS


def text_of(bodies: dict[str, str]) -> str:
    return "\n".join(f"{name}(cell, msg, env) == {body}" for name, body in bodies.items())
