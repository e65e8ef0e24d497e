"""Tests the results of lowering steps. All are compiled in one go, since the parser is slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen import ir
from codegen.ir.walk import leaves
from tests.codegen.front import kit

SUB = r"""
---- MODULE Sub ----
LOCAL INSTANCE Integers
CONSTANTS N, F(_)
LOCAL Base(x) == x + N
Add(x) == Base(x) + F(x)
Both(x) == LET y == Add(N) IN y + x
====
"""

NEARBY = r"""
---- MODULE Nearby ----
CONSTANT Places
Listed(x) == x \in Places
====
"""

COMMON = r"""
INSTANCE Nearby WITH Places <- {4, 5}
Grow(c, m) == IF c.count < 9 THEN Continue([c EXCEPT !.count = @ + 1], m) ELSE AtTheTop :: Drop(c, m)
Closed(c) == IF c.open THEN [c EXCEPT !.open = FALSE] ELSE c
Give(c, m) == Given :: Reply(c, m)
Twice(F(_), x) == F(F(x))
Double(x) == x * 2
A == INSTANCE Sub WITH N <- 3, F <- Double
P(M) == INSTANCE Sub WITH N <- M, F <- LAMBDA y : y
"""

CASES: dict[str, tuple[str, list[str]]] = {
    "UpdatesOfUpdates": (
        r"Reply([[cell EXCEPT !.count = 3, !.open = TRUE] EXCEPT !.count = @ + 1, !.total = 7], msg)",
        ["Reply UpdatesOfUpdates.1: cell.open = True; cell.count = 4; cell.total = 7;"],
    ),
    "ChoiceInTheCell": (
        r"""Reply(Closed(cell), [msg EXCEPT !.state = "Busy"])""",
        [
            "if cell.open",
            "  Reply ChoiceInTheCell.1: cell.open = False; msg.state = Busy;",
            "else",
            "  Reply ChoiceInTheCell.2: msg.state = Busy;",
        ],
    ),
    "OneConditionForBoth": (
        r"""LET m == IF cell.open THEN [msg EXCEPT !.state = "Gone"] ELSE msg
            IN Continue(Closed([cell EXCEPT !.count = 1]), m)""",
        [
            "if cell.open",
            "  Continue OneConditionForBoth.1: cell.count = 1; cell.open = False; msg.state = Gone;",
            "else",
            "  Continue OneConditionForBoth.2: cell.count = 1;",
        ],
    ),
    "RecordLiteral": (
        r"Reply([cell EXCEPT !.spare = [used |-> TRUE, owner |-> @.owner]], msg)",
        ["Reply RecordLiteral.1: cell.spare.used = True;"],
    ),
    "RecordByIf": (
        r"Reply([cell EXCEPT !.spare = IF cell.open THEN [used |-> TRUE, owner |-> 3] ELSE @], msg)",
        [
            "Reply RecordByIf.1: cell.spare.used = (cell.open or cell.spare.used); cell.spare.owner = (cell.open ? 3 : "
            "cell.spare.owner);"
        ],
    ),
    "RecordsCompared": (
        r"IF cell.slots[2] = [used |-> TRUE, owner |-> msg.client] THEN Reply(cell, msg) ELSE Drop(cell, msg)",
        [
            "if (cell.slots[2].used and (cell.slots[2].owner = msg.client))",
            "  Reply RecordsCompared.1:",
            "else",
            "  Drop RecordsCompared.2:",
        ],
    ),
    "WholeMessage": (
        r"""Reply(cell, [client |-> 3, state |-> "Idle", delta |-> msg.delta, number |-> msg.number, where |-> msg.where,
                         key |-> msg.key, seen |-> {}, chosen |-> msg.chosen])""",
        ["Reply WholeMessage.1: msg.client = 3; msg.state = Idle; msg.seen = {};"],
    ),
    "ReadingAnUpdate": (
        r"""LET c == [cell EXCEPT !.count = msg.delta, !.slots[2].used = TRUE]
            IN IF c.slots[2].used /\ c.count = 3 THEN Reply(c, msg)
               ELSE Drop([c EXCEPT !.open = c.slots[(msg.chosen % 4) + 1].used], msg)""",
        [
            "if (msg.delta = 3)",
            "  Reply ReadingAnUpdate.1: cell.count = msg.delta; cell.slots[2].used = True;",
            "else",
            "  Drop ReadingAnUpdate.2: cell.count = msg.delta; cell.slots[2].used = True;"
            " cell.open = ((((msg.chosen % 4) + 1) = 2) or cell.slots[((msg.chosen % 4) + 1)].used);",
        ],
    ),
    "SameElementPerhaps": (
        r"""LET i == (msg.chosen % 4) + 1
            IN Reply([cell EXCEPT !.slots[i].used = TRUE, !.slots[1].used = FALSE, !.slots[i].owner = i], msg)""",
        [
            "i = ((msg.chosen % 4) + 1)",
            "Reply SameElementPerhaps.1: cell.slots[i].used = True; cell.slots[1].used = False; cell.slots[i].owner = "
            "i;",
        ],
    ),
    "ElementsApart": (
        r"Reply([cell EXCEPT !.slots[1].used = TRUE, !.slots[2].used = cell.slots[1].used], msg)",
        ["Reply ElementsApart.1: cell.slots[1].used = True; cell.slots[2].used = cell.slots[1].used;"],
    ),
    "NestedExcept": (
        r"Reply([cell EXCEPT !.slots = [@ EXCEPT ![1] = [@ EXCEPT !.used = ~ @]]], msg)",
        ["Reply NestedExcept.1: cell.slots[1].used = not cell.slots[1].used;"],
    ),
    "NothingChanges": (r"Reply([cell EXCEPT !.open = @, !.count = cell.count], msg)", ["Reply NothingChanges.1:"]),
    "LetsSink": (
        r"""LET d == cell.total - msg.delta  e == d * 2
            IN IF cell.open THEN Drop(cell, msg)
               ELSE IF cell.total < msg.delta THEN Forward(cell, msg)
               ELSE IF d > 3 THEN Reply([cell EXCEPT !.total = d], msg)
               ELSE Reply([cell EXCEPT !.total = e], [msg EXCEPT !.where = e])""",
        [
            "if cell.open",
            "  Drop LetsSink.1:",
            "else",
            "  if (cell.total < msg.delta)",
            "    Forward LetsSink.2:",
            "  else",
            "    d = (cell.total - msg.delta)",
            "    if (d > 3)",
            "      Reply LetsSink.3: cell.total = d;",
            "    else",
            "      e = (d * 2)",
            "      Reply LetsSink.4: cell.total = e; msg.where = e;",
        ],
    ),
    "LetBehindItsGuard": (
        r"""LET rest == cell.count - msg.delta
            IN IF cell.count >= msg.delta /\ rest > 4 /\ rest < 100 THEN Reply(cell, msg) ELSE Drop(cell, msg)""",
        [
            "if ((cell.count >= msg.delta) and (let rest = (cell.count - msg.delta) in ((rest > 4) and (rest < 100))))",
            "  Reply LetBehindItsGuard.1:",
            "else",
            "  Drop LetBehindItsGuard.2:",
        ],
    ),
    "VerdictByIf": (
        r"""Result(IF cell.open THEN "Reply" ELSE "Drop", cell, msg)""",
        ["if cell.open", "  Reply VerdictByIf.1:", "else", "  Drop VerdictByIf.2:"],
    ),
    "Labels": (
        r"""CASE cell.open -> Give(cell, msg)
              [] cell.count = 1 -> Give([cell EXCEPT !.open = TRUE], msg)
              [] OTHER -> Rest :: (IF cell.count = 2 THEN Reply(cell, msg) ELSE Drop(cell, msg))""",
        [
            "if cell.open",
            "  Reply Given:",
            "else",
            "  if (cell.count = 1)",
            "    Reply Given.2: cell.open = True;",
            "  else",
            "    if (cell.count = 2)",
            "      Reply Rest:",
            "    else",
            "      Drop Rest.2:",
        ],
    ),
    "OperatorArguments": (
        r"Reply([cell EXCEPT !.count = Twice(LAMBDA y : (y + msg.delta) % 256, @)], msg)",
        ["Reply OperatorArguments.1: cell.count = ((((cell.count + msg.delta) % 256) + msg.delta) % 256);"],
    ),
    "FirstInFirst": (
        r"""Reply([cell EXCEPT !.count = FirstIndex(1, 4, 0, LAMBDA i :
                    FirstIndex(i, 4, 0, LAMBDA j : cell.slots[j].used) = i)], msg)""",
        [
            "Reply FirstInFirst.1: cell.count ="
            " (first i in 1..4: ((first i_2 in i..4: cell.slots[i_2].used or 0) = i) or 0);"
        ],
    ),
    "LocalOperator": (
        r"""LET Near(x) == x > msg.client  n == CountIndex(1, 4, LAMBDA i : Near(cell.slots[i].owner))
            IN Reply([cell EXCEPT !.count = n, !.marks = @ \cup {n}], msg)""",
        [
            "n = (count i in 1..4: (cell.slots[i].owner > msg.client))",
            "Reply LocalOperator.1: cell.count = n; cell.marks = (cell.marks union {n});",
        ],
    ),
    "StringLet": (
        r"""LET k == IF cell.open THEN "Busy" ELSE "Gone" IN Reply([cell EXCEPT !.state = k], [msg EXCEPT !.state = k])""",
        ["Reply StringLet.1: cell.state = (cell.open ? Busy : Gone); msg.state = (cell.open ? Busy : Gone);"],
    ),
    "SeveralNames": (
        r"""IF \A m \in {1, 2}, n \in cell.members : m # n THEN Reply(cell, msg) ELSE Drop([cell EXCEPT !.key = 0], msg)""",
        [
            "if ((forall n in cell.members: not (1 = n)) and (forall n_2 in cell.members: not (2 = n_2)))",
            "  Reply SeveralNames.1:",
            "else",
            "  Drop SeveralNames.2: cell.key = 0;",
        ],
    ),
    "BitsFromARange": (
        r"Reply([cell EXCEPT !.marks = {i \in 0..15 : i > cell.count}, !.members = {}, !.queue = <<>>], msg)",
        [
            "Reply BitsFromARange.1: cell.marks = (filter i in 0..15: (i > cell.count)); cell.members = {}; cell.queue "
            "= <<>>;"
        ],
    ),
    "LargeNumberInBits": (
        r"IF msg.chosen \in cell.marks /\ msg.delta \in cell.marks THEN Reply(cell, msg) ELSE Drop(cell, msg)",
        [
            "if ((msg.chosen in cell.marks) and (msg.delta < 16) and (msg.delta in cell.marks))",
            "  Reply LargeNumberInBits.1:",
            "else",
            "  Drop LargeNumberInBits.2:",
        ],
    ),
    "ResultTakenApart": (
        r"""LET r == Grow(cell, msg)
            IN IF r.verdict = "Continue" THEN Reply([r.cell EXCEPT !.open = TRUE], r.msg) ELSE r""",
        [
            "if (cell.count < 9)",
            "  Reply ResultTakenApart.1: cell.count = (cell.count + 1); cell.open = True;",
            "else",
            "  Drop AtTheTop:",
        ],
    ),
    "InstanceWithoutName": (
        r"IF Listed(msg.client) THEN Reply(cell, msg) ELSE Drop(cell, msg)",
        ["if (msg.client in {4, 5})", "  Reply InstanceWithoutName.1:", "else", "  Drop InstanceWithoutName.2:"],
    ),
    "NamedInstance": (
        r"Reply([cell EXCEPT !.total = A!Add(@ % 100)], msg)",
        ["Reply NamedInstance.1: cell.total = (let x = (cell.total % 100) in ((x + 3) + (x * 2)));"],
    ),
    "InstanceWithParameter": (
        r"Reply([cell EXCEPT !.total = P(cell.count)!Both(1)], msg)",
        ["Reply InstanceWithParameter.1: cell.total = (((cell.count + cell.count) + cell.count) + 1);"],
    ),
    "LocalInstance": (
        r"LET I == INSTANCE Sub WITH N <- cell.count, F <- Double IN Reply([cell EXCEPT !.total = I!Both(5)], msg)",
        ["Reply LocalInstance.1: cell.total = (((cell.count + cell.count) + (cell.count * 2)) + 5);"],
    ),
    "ConstantSwitch": (
        r"IF Checked /\ cell.open THEN Drop(cell, msg) ELSE Reply([cell EXCEPT !.count = Limit * 2 + 1], msg)",
        ["Reply ConstantSwitch.1: cell.count = 7;"],
    ),
    "NamedSwitch": (
        r"""CASE Mode = "strict" -> Drop(cell, msg) [] msg.state \in Open \cup {"Gone"} -> Reply(cell, msg)
              [] OTHER -> Forward(cell, msg)""",
        ["if (msg.state in {Busy, Gone})", "  Reply NamedSwitch.1:", "else", "  Forward NamedSwitch.2:"],
    ),
    "NothingLeftForOther": (
        r"""CASE cell.state = "Idle" -> Reply(cell, msg) [] cell.state \in {"Busy", "Gone"} -> Drop(cell, msg)
              [] OTHER -> Drop([cell EXCEPT !.count = @ + 1], msg)""",
        ["if (cell.state = Idle)", "  Reply NothingLeftForOther.1:", "else", "  Drop NothingLeftForOther.2:"],
    ),
    "SettledTests": (
        r"IF cell.count < 300 /\ msg.chosen \in 0..15 THEN Reply([cell EXCEPT !.open = cell.count >= 0], msg) ELSE Drop(cell, msg)",
        ["Reply SettledTests.1: cell.open = True;"],
    ),
    "MembershipInARange": (
        r"IF cell.count \notin 3..5 THEN Reply(cell, msg) ELSE Drop(cell, msg)",
        [
            "if not ((cell.count >= 3) and (cell.count <= 5))",
            "  Reply MembershipInARange.1:",
            "else",
            "  Drop MembershipInARange.2:",
        ],
    ),
}

CONSTANTS = {"Checked": False, "Limit": 3, "Mode": "loose", "Open": ["Busy"]}


def write_modules(folder: Path) -> None:
    """The modules that the steps instantiate."""
    (folder / "Sub.tla").write_text(SUB)
    (folder / "Nearby.tla").write_text(NEARBY)


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lower")
    write_modules(folder)
    text = COMMON + "\n".join(f"{name}(cell, msg) == {body}" for name, (body, _) in CASES.items())
    return kit.compile_steps(folder, text, list(CASES), CONSTANTS)


@pytest.mark.parametrize("name", CASES)
def test_lowered(steps, name: str):
    assert kit.tree(steps[name].body) == CASES[name][1]


def test_a_leaf_stands_where_the_user_wrote_it(steps):
    given = next(iter(leaves(steps["Labels"].body)))
    assert (given.operator, given.name) == ("Give", "Given")
    chosen = list(leaves(steps["LetsSink"].body))[1]
    assert chosen.operator == "LetsSink"
    assert chosen.span.file.endswith("SampleSteps.tla")


def bound_names(node) -> list[str]:
    """Every name that a step binds."""
    names = []
    if isinstance(node, tuple):
        return [name for item in node for name in bound_names(item)]
    if not hasattr(node, "__dataclass_fields__"):
        return []
    if isinstance(node, (ir.Bind, ir.Let)):
        names.append(node.name)
    elif hasattr(node, "variable"):
        names.append(node.variable)
    for field in node.__dataclass_fields__:
        if field not in ("type", "span", "interval"):
            names += bound_names(getattr(node, field))
    return names


def test_names_are_unique_within_a_step(steps):
    seen = 0
    for step in steps.values():
        names = bound_names(step.body)
        assert len(names) == len(set(names)), step.name
        seen += len(names)
    assert seen >= 12
