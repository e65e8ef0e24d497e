"""Tests that the lists of the generator's own names have every name that generated files define."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codegen import ir
from codegen.c.generated_names import FUNCTIONS, MACROS, MORE_FUNCTIONS, MORE_MACROS, OF_RECORDS, OF_TABLES, OPERATORS
from codegen.c.names import Names, snake, upper
from codegen.compile import load
from codegen.emit import generate

REPOSITORY = Path(__file__).resolve().parents[2]
SPECS = sorted(path.parent for path in REPOSITORY.glob("spec/*/layout.yaml"))
SPECS += sorted(path.parent for path in REPOSITORY.glob("tests/golden/*/spec/layout.yaml"))
DEFINED = re.compile(r"^(?:[a-z_][\w *()]*?[ *])?(\w+)(?:\(|\[\]| =)", re.MULTILINE)
"""A function or a variable at file scope, whose line starts at its left."""


def own(protocol: ir.Protocol) -> list[str]:
    sections = [*protocol.xdp, *protocol.tc, *protocol.user, *(one for each in protocol.sweep for one in each.sections)]
    return [snake(step.name) for step in (*(section.step for section in sections), *protocol.daemon_steps)]


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.parent.name if path.name == "spec" else path.name)
def test_every_name_is_listed(spec: Path) -> None:
    protocol = load(spec)
    names, files = Names(protocol.name), generate(protocol)
    prefix, steps = names.protocol + "_", own(protocol)
    tables = [snake(table.name) for table in protocol.tables]
    code = "\n".join(text for name, text in files.items() if name.endswith((".c", ".h")))
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
    found = {name.removeprefix(prefix) for name in DEFINED.findall(code) if name.startswith(prefix)}
    assert "xdp" in found and "message_decode" in found and set(steps) <= found
    for name in found:
        known = name in FUNCTIONS or MORE_FUNCTIONS.fullmatch(name)
        of_step = any(name == step or name.startswith(f"{step}_") for step in steps)
        of_table = any(name.startswith(f"{table}_") and name.removeprefix(f"{table}_") in OF_TABLES for table in tables)
        of_record = OF_RECORDS.search(name)
        assert known or of_step or of_table or of_record, f"{name} is not in codegen/c/generated_names.py"

    constants = {upper(name) for name, _ in protocol.constants}
    macros = set(re.findall(rf"^#define {names.macro_prefix}_(\w+)", code, re.MULTILINE)) - constants
    assert "PORT" in macros
    for macro in macros:
        assert macro in MACROS or MORE_MACROS.fullmatch(macro), f"{macro} is not in codegen/c/generated_names.py"

    operators = re.findall(r"^(\w+)(?:\(.*?\))? ==", files[f"{names.hooks_module()}.tla"], re.MULTILINE)
    assert "XdpStep" in operators and set(operators) <= OPERATORS
