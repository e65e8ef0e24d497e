"""Defines the compilable subset of TLA+ as one explicit table, and checks that a step stays within it.

docs/reference/language.md shows this table; a test compares the two and compiles every example.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from codegen.errors import Errors, NotCompilable, NotConstantLevel, Recursive
from codegen.ir import Span
from codegen.tla.sany import (
    Apply,
    At,
    Binder,
    Labelled,
    LetIn,
    Module,
    Node,
    Numeral,
    Operator,
    OperatorArgument,
    Reference,
    Substitution,
    Text,
)


@dataclass(frozen=True)
class Construct:
    """A construct that compiles."""

    names: tuple[str, ...]
    """Its names in SANY."""
    form: str
    example: str
    """An expression over the cell of docs/reference/language.md."""
    into: str = ""
    """The cell's field that the example may be assigned to; empty for a condition."""
    remark: str = ""
    """Its limits."""


COMPILABLE: tuple[Construct, ...] = (
    Construct(("$RcdSelect",), "r.field", "cell.count", "count"),
    Construct(
        ("$Except", "$Pair", "$Seq"),
        "[r EXCEPT !.f = e, !.g[i].h = e]",
        "[cell.slots EXCEPT ![1].used = ~ @]",
        "slots",
        "`@` is the old value; of several updates the later see the earlier",
    ),
    Construct(
        ("$RcdConstructor",),
        "[f |-> e, ...]",
        "[used |-> TRUE, owner |-> msg.client]",
        "spare",
        "with every field of the record's type",
    ),
    Construct(("TRUE", "FALSE"), "TRUE, FALSE", "cell.open = TRUE"),
    Construct(("=",), "a = b", 'cell.state = "Idle"', remark="of any type, both sides of the same"),
    Construct(("/=",), "a # b, a /= b", "cell.state # msg.state"),
    Construct(
        ("\\land", "$ConjList"),
        "a /\\ b",
        "cell.open /\\ cell.count > 0",
        remark="from the left, no further than needed",
    ),
    Construct(("\\lor", "$DisjList"), "a \\/ b", "cell.open \\/ cell.count > 0"),
    Construct(("\\lnot",), "~ a", "~ cell.open"),
    Construct(("=>",), "a => b", "cell.open => cell.count > 0"),
    Construct(("\\equiv",), "a <=> b", "cell.open <=> cell.count > 0"),
    Construct(("$IfThenElse",), "IF c THEN a ELSE b", "IF cell.open THEN 1 ELSE 2", "count"),
    Construct(
        ("$Case",),
        "CASE c -> a [] OTHER -> b",
        "CASE cell.open -> 1 [] cell.count > 9 -> 2 [] OTHER -> 3",
        "count",
        "the first arm that holds, as TLC takes it; OTHER is required",
    ),
    Construct(
        ("+",), "a + b", "IF cell.count < 255 THEN cell.count + 1 ELSE 0", "count", "the result must be shown to fit"
    ),
    Construct(("-",), "a - b", "IF cell.count > 0 THEN cell.count - 1 ELSE 0", "count"),
    Construct(("-.",), "- a", "cell.count - 3 > - 1"),
    Construct(("*",), "a * b", "(cell.count * 3) % 256", "count"),
    Construct(("\\div",), "a \\div b", "cell.count \\div 2", "count", "a not negative, b positive"),
    Construct(("%",), "a % b", "(cell.count + 1) % 256", "count", "a not negative, b positive"),
    Construct(("^",), "a ^ b", "cell.count < 2 ^ 7", remark="constants only"),
    Construct(("<", "\\leq", ">", "\\geq"), "a < b, a <= b, a > b, a >= b", "cell.count <= 7"),
    Construct(("\\in",), "x \\in S", "msg.client \\in cell.members", remark="S may be a range"),
    Construct(("\\notin",), "x \\notin S", "cell.count \\notin 3..5"),
    Construct(("\\subseteq",), "S \\subseteq T", "cell.members \\subseteq {msg.client}"),
    Construct(("$SetEnumerate",), "{a, b}", "{msg.client}", "members"),
    Construct(
        ("\\union",),
        "S \\cup T",
        "IF Cardinality(cell.members) < 3 THEN cell.members \\cup {msg.client} ELSE {}",
        "members",
        "the result must be shown to have room",
    ),
    Construct(("\\intersect",), "S \\cap T", "cell.members \\cap {1, 2}", "members"),
    Construct(("\\",), "S \\ T", "cell.members \\ {msg.client}", "members"),
    Construct(
        ("$SubsetOf",),
        "{x \\in S : P(x)}",
        "{m \\in cell.members : m > msg.client}",
        "members",
        "over a range only for bits, or under Cardinality",
    ),
    Construct(("$SetOfAll",), "{f(x) : x \\in S}", "{m \\div 2 : m \\in cell.members}", "members", "over a set"),
    Construct(
        ("$SetOfAll",),
        "{f(x) : x \\in {y \\in a..b : P(y)}}",
        "{i * 3 : i \\in {j \\in 1..4 : cell.slots[j].used}}",
        "marks",
        "over a range, or a part of one, only for bits",
    ),
    Construct(
        ("Cardinality",),
        "Cardinality(S)",
        "Cardinality(cell.members)",
        "count",
        "of a filter it counts and builds no set",
    ),
    Construct(
        ("$BoundedExists",), "\\E x \\in S : P(x)", "\\E i \\in 1..4 : cell.slots[i].used", remark="S a set or a range"
    ),
    Construct(("$BoundedForall",), "\\A x \\in S : P(x)", "\\A m \\in cell.members : m > 3"),
    Construct(
        ("$BoundedChoose",),
        "CHOOSE the least of a range",
        "IF \\E i \\in 1..4 : cell.slots[i].used THEN CHOOSE i \\in 1..4 : cell.slots[i].used /\\ \\A j \\in "
        "1..(i - 1) : ~ cell.slots[j].used ELSE 0",
        "count",
        "in this form, or as FirstIndex of Offload.tla",
    ),
    Construct(
        ("..",),
        "a..b",
        "\\E i \\in 1..cell.count : i = 7",
        remark="what a binder goes over, or what an element is tested for",
    ),
    Construct(
        ("$FcnApply",),
        "f[i]",
        "cell.slots[1].used",
        remark="of an array (from 1), a sequence, or a user step's table (from 0)",
    ),
    Construct(("$FcnConstructor",), "[i \\in 1..N |-> e]", "[i \\in 1..4 |-> [used |-> i = 1, owner |-> 0]]", "slots"),
    Construct(("$Tuple",), "<<a, b>>", "<<msg.client, 5>>", "queue"),
    Construct(("Len",), "Len(s)", "Len(cell.queue) < 4"),
    Construct(
        ("Append",),
        "Append(s, e)",
        "IF Len(cell.queue) < 4 THEN Append(cell.queue, msg.client) ELSE cell.queue",
        "queue",
        "the result must be shown to have room",
    ),
    Construct(("Head",), "Head(s)", "Len(cell.queue) > 0 /\\ Head(cell.queue) = 3", remark="s shown not to be empty"),
    Construct(
        ("Tail",),
        "Tail(s)",
        "IF Len(cell.queue) > 0 THEN Tail(cell.queue) ELSE <<>>",
        "queue",
        "s shown not to be empty",
    ),
)

COMPILABLE_NAMES = frozenset(name for construct in COMPILABLE for name in construct.names)

REFUSED: dict[str, tuple[str, str]] = {
    "'": ("a primed variable", "a step is a function of its cell and message"),
    "UNCHANGED": ("UNCHANGED", "a step is a function of its cell and message"),
    "ENABLED": ("ENABLED", "a step is a function of its cell and message"),
    "[]": ("a temporal formula", "state it in the model, not in a step"),
    "<>": ("a temporal formula", "state it in the model, not in a step"),
    "~>": ("a temporal formula", "state it in the model, not in a step"),
    "SUBSET": ("SUBSET, the set of all subsets", "compare with \\subseteq"),
    "UNION": ("UNION", "write the unions out with \\cup"),
    "DOMAIN": ("DOMAIN", "write the range: 1..N for an array, 1..Len(s) for a sequence"),
    "STRING": ("STRING", "compare with the members of the enum"),
    "BOOLEAN": ("BOOLEAN", "quantify by writing both cases"),
    "$UnboundedChoose": ("CHOOSE without a bound", "use FirstIndex, or CHOOSE the least of a range"),
    "$UnboundedExists": ("\\E without a bound", "write \\E x \\in S"),
    "$UnboundedForall": ("\\A without a bound", "write \\A x \\in S"),
    "$RecursiveFcnSpec": ("a recursive function", "quantify over a range or a set instead"),
    "$NonRecursiveFcnSpec": ("a function definition f[x \\in S] == e", "define an operator: f(x) == e"),
    "$SetOfFcns": ("[S -> T], a set of functions", "compare element by element with \\A"),
    "$SetOfRcds": ("[f : S, ...], a set of records", "compare field by field"),
    "$CartesianProd": ("S \\X T, a set of tuples", "quantify over one set at a time"),
    "\\X": ("S \\X T, a set of tuples", "quantify over one set at a time"),
    "Nat": ("Nat, an infinite set", "compare with a number"),
    "Int": ("Int, an infinite set", "compare with a number"),
    "Seq": ("Seq(S), an infinite set", "bound the sequence's length in the layout"),
    "\\o": ("\\o", "use Append, one element at a time"),
    "SubSeq": ("SubSeq", "use Tail, or index the sequence"),
    "SelectSeq": ("SelectSeq", "count with Cardinality({i \\in 1..Len(s) : ...})"),
    "IsFiniteSet": ("IsFiniteSet", "every set that compiles is finite"),
    "Assert": ("Assert", "state it in the model, not in a step"),
    "Print": ("Print", "remove it"),
    "PrintT": ("PrintT", "remove it"),
    "RandomElement": ("RandomElement", "take env.random"),
    "@@": ("@@", "use EXCEPT"),
    ":>": (":>", "use a record"),
}


class Subset:
    """Checks the operators of one module, each once."""

    def __init__(self, module: Module, errors: Errors):
        self.module = module
        self.errors = errors
        self.verdicts: dict[str, bool] = {}

    def check(self, operator: Operator) -> bool:
        """Reports everything in the operator, and in the operators it uses, that cannot be compiled.

        Returns whether all of it can be.
        """
        if operator.uid in self.verdicts:
            return self.verdicts[operator.uid]
        self.verdicts[operator.uid] = True
        if operator.recursive:
            self.errors.add(
                Recursive(operator.span, f"{operator.name} is recursive", "quantify over a range or a set instead")
            )
            self.verdicts[operator.uid] = False
            return False
        self.verdicts[operator.uid] = self.node(operator.body)
        return self.verdicts[operator.uid]

    def refuse(self, span: Span, found: str, instead: str) -> bool:
        self.errors.add(NotCompilable(span, found, instead))
        return False

    def all(self, nodes: Iterable[Node]) -> bool:
        """Checks every node, even after an error, so that all errors are reported."""
        return all([self.node(node) for node in nodes])

    def node(self, node: Node) -> bool:
        match node:
            case Numeral() | Text() | At():
                return True
            case Labelled():
                return self.node(node.body)
            case LetIn():
                return self.node(node.body)
            case Substitution():
                return self.all([value for _, value in node.substitutions] + [node.body])
            case OperatorArgument():
                return self.reference(node.operator, node.span)
            case Apply():
                binders = [self.binder(binder, node) for binder in node.binders]
                return all([self.reference(node.operator, node.span), *binders, self.all(node.operands)])
        return self.refuse(node.span, f"{node.what} in an expression", "see docs/reference/language.md")

    def binder(self, binder: Binder, node: Apply) -> bool:
        if binder.tuple:
            return self.refuse(node.span, "names are bound as a tuple", "bind one name at a time")
        return binder.domain is None or self.node(binder.domain)

    def reference(self, reference: Reference, span: Span) -> bool:
        match reference.kind:
            case "user":
                operator = self.module.operators.get(reference.uid)
                return operator is None or self.check(operator)
            case "constant":
                if self.module.constants[reference.uid].variable:
                    self.errors.add(
                        NotConstantLevel(
                            span,
                            f"the step reads the variable {reference.name}",
                            "it may read only its cell, its message and env",
                        )
                    )
                    return False
                return True
            case "builtin" | "standard":
                return reference.name in COMPILABLE_NAMES or self.unsupported(reference, span)
        return True

    def unsupported(self, reference: Reference, span: Span) -> bool:
        unknown = (reference.name.lstrip("$"), "see the table in docs/reference/language.md")
        found, instead = REFUSED.get(reference.name, unknown)
        return self.refuse(span, f"{found} cannot be compiled", instead)


def compilable_table() -> str:
    """Returns COMPILABLE as the table of docs/reference/language.md."""
    rows = ["| TLA+ | for example | remark |", "| --- | --- | --- |"]
    for construct in COMPILABLE:
        cells = (code(construct.form), code(construct.example), construct.remark.replace("|", "\\|"))
        rows.append("| " + " | ".join(cells).rstrip() + " |")
    return "\n".join(rows) + "\n"


def refused_table() -> str:
    """Returns REFUSED as the table of docs/reference/language.md, with one row for entries with the same text."""
    rows = ["| refused | instead |", "| --- | --- |"]
    for found, instead in dict.fromkeys(REFUSED.values()):
        rows.append(f"| {tabled(found)} | {tabled(instead)} |")
    return "\n".join(rows) + "\n"


def code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def tabled(text: str) -> str:
    """Escapes the characters of TLA+ that have a meaning in a Markdown table."""
    for sign in ("\\", "|", "*", "_", "<", "["):
        text = text.replace(sign, "\\" + sign)
    return text
