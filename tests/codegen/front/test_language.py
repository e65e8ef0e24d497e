"""Checks docs/reference/language.md: its tables are those of the code, and every example compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codegen.ir.walk import leaves
from codegen.tla import inline, subset
from tests.codegen.front import kit

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/language.md"


def section(name: str) -> str:
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", PAGE.read_text(), re.DOTALL)[1]


def test_the_tables_are_those_of_the_code():
    assert section("compilable") == subset.compilable_table()
    assert section("refused") == subset.refused_table()


def test_what_the_table_admits_is_what_inlining_knows():
    special = {"$Except", "$Pair", "$Seq", "$Case", "$RcdConstructor", "$RcdSelect", "TRUE", "FALSE"}
    assert set(inline.OPERATIONS) | set(inline.BINDING) | special == subset.COMPILABLE_NAMES
    assert not subset.COMPILABLE_NAMES & set(subset.REFUSED)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    text, names = [], []
    for number, construct in enumerate(subset.COMPILABLE, 1):
        value = construct.example
        if construct.into:
            body = f"Reply([cell EXCEPT !.{construct.into} = {value}], msg)"
        else:
            body = f"IF {value} THEN Reply(cell, msg) ELSE Drop(cell, msg)"
        names.append(f"Example{number}")
        text.append(f"Example{number}(cell, msg) == {body}")
    return kit.compile_steps(tmp_path_factory.mktemp("examples"), "\n".join(text), names)


@pytest.mark.parametrize("number", range(1, len(subset.COMPILABLE) + 1))
def test_example_compiles(examples, number: int):
    body = examples[f"Example{number}"].body
    construct = subset.COMPILABLE[number - 1]
    if construct.into and construct.names != ("$RcdSelect",):
        assert any(assign.path[0] == construct.into for leaf in leaves(body) for assign in leaf.cell)
    elif not construct.into:
        assert {leaf.verdict for leaf in leaves(body)} == {"Reply", "Drop"}


def test_the_step_of_the_page_compiles(tmp_path):
    text = re.search(r"EXTENDS Offload\n(.*?)====", PAGE.read_text(), re.DOTALL)[1]
    step = kit.compile_steps(tmp_path, text, ["Step"])["Step"]
    assert [leaf.name for leaf in leaves(step.body)] == ["Step.1", "Full", "Step.3"]
