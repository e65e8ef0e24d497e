"""Tests interval analysis: what it accepts, with which intervals, and what it rejects one change away.

Every pair of a step and its neighbour differs in the one fact that makes it safe.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from codegen import ir
from codegen.analysis.excluded import without_excluded
from codegen.analysis.facts import Facts
from codegen.compile import load
from codegen.errors import SpecErrors
from codegen.ir import Interval
from codegen.ir.walk import leaves
from tests.codegen.front import kit

# name: (body, interval of the new value of cell.count or cell.total in the first leaf that sets one)
ACCEPTED: dict[str, tuple[str, Interval]] = {
    "Test": (
        r"IF cell.count < 255 THEN Reply([cell EXCEPT !.count = @ + 1], msg) ELSE Drop(cell, msg)",
        Interval(1, 255),
    ),
    "TestTurned": (
        r"IF 255 > cell.count THEN Reply([cell EXCEPT !.count = @ + 1], msg) ELSE Drop(cell, msg)",
        Interval(1, 255),
    ),
    "TestNotEqual": (
        r"IF cell.count # 255 THEN Reply([cell EXCEPT !.count = @ + 1], msg) ELSE Drop(cell, msg)",
        Interval(1, 255),
    ),
    "TestEqual": (
        r"IF cell.count = msg.chosen THEN Reply([cell EXCEPT !.count = @ * 16], msg) ELSE Drop(cell, msg)",
        Interval(0, 240),
    ),
    "TestOfTheResult": (
        r"IF cell.count + msg.delta <= 255 THEN Reply([cell EXCEPT !.count = @ + msg.delta], msg) ELSE Drop(cell, msg)",
        Interval(0, 255),
    ),
    "OtherBranch": (
        r"IF cell.count = 255 \/ cell.open THEN Drop(cell, msg) ELSE Reply([cell EXCEPT !.count = @ + 1], msg)",
        Interval(1, 255),
    ),
    "NegatedAnd": (
        r"IF ~ (cell.count < 250 /\ cell.open) THEN Drop(cell, msg) ELSE Reply([cell EXCEPT !.count = @ + 6], msg)",
        Interval(6, 255),
    ),
    "EitherWay": (
        r"IF cell.count < 9 \/ cell.count < 99 THEN Reply([cell EXCEPT !.count = @ + 1], msg) ELSE Drop(cell, msg)",
        Interval(1, 99),
    ),
    "InsideTheValue": (r"Reply([cell EXCEPT !.count = IF @ > 0 THEN @ - 1 ELSE @], msg)", Interval(0, 254)),
    "GuardInTheCondition": (
        r"IF cell.count > 0 /\ 100 \div cell.count > 9 THEN Reply([cell EXCEPT !.count = 100 \div @], msg) ELSE Drop(cell, msg)",
        Interval(10, 100),
    ),
    "DifferenceOfFields": (
        r"IF cell.total < cell.count THEN Reply([cell EXCEPT !.count = @ - cell.total], msg) ELSE Drop(cell, msg)",
        Interval(1, 255),
    ),
    "DifferenceElsewhere": (
        r"IF cell.total < cell.count THEN Drop(cell, msg) ELSE Reply([cell EXCEPT !.total = @ - cell.count], msg)",
        Interval(0, 65535),
    ),
    "DifferencePlusOne": (
        r"IF cell.total + 1 < cell.count THEN Reply([cell EXCEPT !.count = @ - cell.total - 2], msg) ELSE Drop(cell, msg)",
        Interval(0, 253),
    ),
    "Modulo": (r"Reply([cell EXCEPT !.count = (@ + 256 - msg.delta) % 256], msg)", Interval(0, 255)),
    "SmallModulo": (r"Reply([cell EXCEPT !.count = msg.chosen % 100], msg)", Interval(0, 15)),
    "ModuloOfAWideField": (r"Reply([cell EXCEPT !.count = msg.number % 200], msg)", Interval(0, 199)),
    "Cancelled": (r"Reply([cell EXCEPT !.count = (@ + (msg.number % 7)) - (msg.number % 7)], msg)", Interval(0, 255)),
    "NamedCondition": (
        r"LET some == cell.count > 0 IN IF some /\ cell.open THEN Reply([cell EXCEPT !.count = @ - 1], msg)"
        r" ELSE IF some THEN Drop(cell, msg) ELSE Forward(cell, msg)",
        Interval(0, 254),
    ),
    "NamedValue": (
        r"LET sum == cell.count + msg.delta IN IF sum < 256 THEN Reply([cell EXCEPT !.count = sum], msg) ELSE Drop(cell, msg)",
        Interval(0, 255),
    ),
    "CardinalityIsBounded": (
        r"Reply([cell EXCEPT !.count = 251 + Cardinality(cell.members)], msg)",
        Interval(251, 255),
    ),
    "KnownNotEmpty": (
        r"IF msg.client \in cell.members THEN Reply([cell EXCEPT !.count = Cardinality(cell.members) - 1], msg) ELSE Drop(cell, msg)",
        Interval(0, 3),
    ),
    "FirstIndexOrNone": (
        r"Reply([cell EXCEPT !.count = FirstIndex(2, 4, 9, LAMBDA i : cell.slots[i].used)], msg)",
        Interval(2, 9),
    ),
    "CountOfARange": (
        r"Reply([cell EXCEPT !.count = CountIndex(2, 4, LAMBDA i : cell.slots[i].used)], msg)",
        Interval(0, 3),
    ),
    "LoopVariable": (
        r"IF \E i \in 1..3 : cell.slots[i + 1].used /\ cell.slots[i].used THEN Reply([cell EXCEPT !.count = 1], msg) ELSE Drop(cell, msg)",
        Interval(1, 1),
    ),
    "RangeFromAField": (
        r"IF msg.chosen < 4 /\ \A i \in 1..msg.chosen + 1 : cell.slots[i].used THEN Reply([cell EXCEPT !.count = 1], msg) ELSE Drop(cell, msg)",
        Interval(1, 1),
    ),
    "EnvIndex": (r"Reply([cell EXCEPT !.total = env.index * 65], msg)", Interval(0, 64935)),
    "NothingGetsThere": (
        r"IF cell.count > 9 /\ cell.count < 5 THEN Drop([cell EXCEPT !.count = @ - 99], msg) ELSE Reply([cell EXCEPT !.count = 1], msg)",
        Interval(1, 1),
    ),
}

# Steps that must compile: sets, sequences and indices, which have no single interval to look at.
COMPILES = {
    "UnionWithRoom": r"IF Cardinality(cell.members) < 4 THEN Reply([cell EXCEPT !.members = @ \cup {msg.client}], msg) ELSE Drop(cell, msg)",
    "UnionNotEqual": r"IF Cardinality(cell.members) # 4 THEN Reply([cell EXCEPT !.members = @ \cup {msg.client}], msg) ELSE Drop(cell, msg)",
    "UnionOfAMember": r"IF msg.client \in cell.members THEN Reply([cell EXCEPT !.members = @ \cup {msg.client}], msg) ELSE Drop(cell, msg)",
    "UnionOfASubset": r"IF msg.seen \subseteq cell.members THEN Reply([cell EXCEPT !.members = @ \cup msg.seen], msg) ELSE Drop(cell, msg)",
    "UnionOverEmpty": r"IF cell.members = {} THEN Reply([cell EXCEPT !.members = @ \cup msg.seen], msg) ELSE Drop(cell, msg)",
    "UnionAfterTaking": r"IF 7 \in cell.members THEN Reply([cell EXCEPT !.members = (@ \ {7}) \cup {msg.client}], msg) ELSE Drop(cell, msg)",
    "IndexIntoSmallSet": r"IF env.index < 16384 THEN Reply([cell EXCEPT !.members = {env.index}], msg) ELSE Drop(cell, msg)",
    "QueueIndex": r"IF Len(cell.queue) > msg.chosen /\ msg.chosen > 0 /\ cell.queue[msg.chosen + 1] = cell.queue[msg.chosen]"
    r" THEN Reply([cell EXCEPT !.queue[msg.chosen] = 3], msg) ELSE Drop(cell, msg)",
    "QueueSearch": r"IF \E i \in 1..Len(cell.queue) : cell.queue[i] = msg.client THEN Reply(cell, msg) ELSE Drop(cell, msg)",
    "QueueRotates": r"IF Len(cell.queue) > 0 THEN Reply([cell EXCEPT !.queue = Append(Tail(@), Head(@))], msg) ELSE Drop(cell, msg)",
    "QueueOfOne": r"IF cell.queue = <<>> THEN Reply([cell EXCEPT !.queue = Append(Append(@, 1), 2)], msg) ELSE Drop(cell, msg)",
    "QueueNotEmpty": r"IF cell.queue # <<>> THEN Reply([cell EXCEPT !.queue = Tail(@)], msg) ELSE Drop(cell, msg)",
    "ChooseUnderExists": r"IF \E i \in 1..4 : cell.slots[i].used /\ cell.open THEN LET i == CHOOSE i \in 1..4 : (cell.slots[i].used /\ cell.open)"
    r" /\ \A j \in 1..(i - 1) : ~ (cell.slots[j].used /\ cell.open)"
    r" IN Reply([cell EXCEPT !.slots[i].used = FALSE], msg) ELSE Drop(cell, msg)",
    "FirstIndexFound": r"LET i == FirstIndex(1, 4, 0, LAMBDA k : ~ cell.slots[k].used) IN IF i = 0 THEN Drop(cell, msg)"
    r" ELSE Reply([cell EXCEPT !.slots[i].used = TRUE], msg)",
    "BitsFromATest": r"IF msg.delta < 16 THEN Reply([cell EXCEPT !.marks = @ \cup {msg.delta}], msg) ELSE Drop(cell, msg)",
}

# name of an accepted step: the change that makes it unsafe, and what is said then.
NEIGHBOURS: dict[str, tuple[str, str, str]] = {
    "Test": ("< 255", "<= 255", "may become anything in 1..256"),
    "TestNotEqual": ("# 255", "# 254", "may become anything in 1..256"),
    "TestEqual": ("* 16", "* 18", "may become anything in 0..270"),
    "TestOfTheResult": ("<= 255", "<= 256", "may become anything in 0..256"),
    "OtherBranch": (r"\/", r"/\ ", "may become anything in 1..256"),
    "NegatedAnd": ("250", "251", "may become anything in 6..256"),
    "EitherWay": ("99", "256", "may become anything in 1..256"),
    "InsideTheValue": ("> 0", ">= 0", "may become anything in -1..254"),
    "GuardInTheCondition": (r"cell.count > 0 /\ ", "", "the divisor of \\div lies in 0..255"),
    "DifferenceOfFields": ("cell.total <", "cell.total >", "may become anything in -65535..-1"),
    "DifferencePlusOne": ("- 2", "- 3", "may become anything in -1..252"),
    "Modulo": ("256 -", "0 -", "the dividend of % lies in -255..255"),
    "ModuloOfAWideField": ("200", "257", "may become anything in 0..256"),
    "CardinalityIsBounded": ("251", "252", "may become anything in 252..256"),
    "KnownNotEmpty": (r"\in", r"\notin", "may become anything in -1..3"),
    "FirstIndexOrNone": ("4, 9", "4, 300", "may become anything in 2..300"),
    "LoopVariable": ("1..3", "1..4", "the index lies in 2..5, the array has 1..4"),
    "RangeFromAField": ("< 4", "< 5", "the index lies in 1..5, the array has 1..4"),
    "EnvIndex": ("65", "66", "may become anything in 0..65934"),
    "UnionWithRoom": ("< 4", "<= 4", "members may get 5 elements, but holds at most 4"),
    "UnionNotEqual": ("# 4", "# 3", "members may get 5 elements, but holds at most 4"),
    "UnionOfAMember": (r"\in", r"\notin", "members may get 5 elements, but holds at most 4"),
    "UnionOfASubset": (
        r"msg.seen \subseteq cell.members",
        r"cell.members \subseteq {1}",
        "members may get 5 elements, but holds at most 4",
    ),
    "UnionAfterTaking": ("{7}", "{8}", "members may get 5 elements, but holds at most 4"),
    "QueueIndex": ("> msg.chosen", ">= msg.chosen", "the index lies in 2..5"),
    "QueueRotates": ("> 0", ">= 0", "the sequence given to Tail may be empty"),
    "QueueOfOne": ("= <<>>", "# <<>>", "queue may get 6 elements, but holds at most 4"),
    "ChooseUnderExists": (
        r"1..4 : cell.slots[i].used /\ cell.open THEN",
        "1..4 : cell.slots[i].used THEN",
        "CHOOSE may have nothing to choose from",
    ),
    "FirstIndexFound": ("i = 0", "i = 1", "the index lies in 0..4, the array has 1..4"),
    "BitsFromATest": ("< 16", "< 17", "an element of marks may be anything in 0..16"),
}


def definition(name: str, body: str) -> str:
    return f"{name}(cell, msg, env) == {body}"


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    bodies = {name: body for name, (body, _) in ACCEPTED.items()} | COMPILES
    text = "\n".join(definition(name, body) for name, body in bodies.items())
    return kit.compile_steps(tmp_path_factory.mktemp("accepted"), text, list(bodies))


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """The message about each neighbour, by the step's line."""
    bodies = {name: body for name, (body, _) in ACCEPTED.items()} | COMPILES
    lines = []
    for name, (old, new, _) in NEIGHBOURS.items():
        assert bodies[name].count(old) >= 1, name
        lines.append(definition(name, bodies[name].replace(old, new, 1)))
    folder = kit.write(tmp_path_factory.mktemp("refused"), "\n".join(lines), list(NEIGHBOURS))
    with pytest.raises(SpecErrors) as raised:
        load(folder)
    first = 3
    return {
        name: [str(error) for error in raised.value.errors if error.span.line == first + at]
        for at, name in enumerate(NEIGHBOURS)
    }


@pytest.mark.parametrize("name", ACCEPTED)
def test_interval(steps, name: str):
    values = [
        assign.value
        for leaf in leaves(steps[name].body)
        for assign in leaf.cell
        if assign.path in (("count",), ("total",))
    ]
    assert values, f"{name} sets neither count nor total"
    first = values[0]
    found = Interval(first.value, first.value) if isinstance(first, ir.Int) else first.interval
    assert found == ACCEPTED[name][1]


@pytest.mark.parametrize("name", COMPILES)
def test_compiles(steps, name: str):
    assert any(leaf.verdict == "Reply" for leaf in leaves(steps[name].body))


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_neighbour_is_refused(refused, name: str):
    assert any(NEIGHBOURS[name][2] in message for message in refused[name]), refused[name]


def test_loops_have_their_bound(steps):
    condition = steps["QueueSearch"].body.condition
    assert condition.domain.bound == 4
    assert steps["LoopVariable"].body.condition.domain.bound == 3


# --- Facts by themselves ------------------------------------------------------------------------------------


def var(name: str) -> ir.Var:
    return ir.Var(name, ir.UInt(8), ir.Span("f", 1, 1))


def minus(left: ir.Expr, right: ir.Expr) -> ir.Arith:
    return ir.Arith("-", left, right, ir.UInt(64), ir.Span("f", 1, 1), Interval(-255, 255))


def test_a_difference_speaks_of_both_sides():
    facts = Facts()
    for name in "xy":
        facts.note_range(var(name), Interval(0, 255))
    facts = facts.with_number(minus(var("x"), var("y")), Interval(100, 1000))
    assert facts.interval(var("x"), Interval(0, 255)) == Interval(100, 255)
    assert facts.interval(var("y"), Interval(0, 255)) == Interval(0, 155)
    assert facts.interval(minus(var("y"), var("x")), Interval(-255, 255)) == Interval(-255, -100)


def test_arms_that_facts_exclude():
    span = ir.Span("f", 1, 1)
    condition = ir.Var("p", ir.Bool(), span)
    zero, large = (ir.Int(value, ir.UInt(64), span) for value in (0, 271))
    either = ir.If(condition, zero, large, ir.UInt(64), span, Interval(0, 271))
    assert without_excluded(either, Interval(0, 7)) == zero
    assert without_excluded(either, Interval(100, 300)) == large
    neither = replace(either, interval=Interval(8, 99))
    assert without_excluded(neither, Interval(8, 99)) == neither


def test_a_contradiction_is_dead():
    facts = Facts()
    facts.note_range(var("x"), Interval(0, 255))
    assert facts.with_number(var("x"), Interval(256, 999)).dead
    assert not facts.with_number(var("x"), Interval(255, 999)).dead


def test_a_join_keeps_what_both_say():
    facts = Facts()
    facts.note_range(var("x"), Interval(0, 255))
    one, other = facts.with_number(var("x"), Interval(3, 5)), facts.with_number(var("x"), Interval(8, 9))
    assert one.joined(other).interval(var("x"), Interval(0, 255)) == Interval(3, 9)
    assert one.joined(facts).interval(var("x"), Interval(0, 255)) == Interval(0, 255)
