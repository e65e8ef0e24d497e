"""Reads SANY's XML export of a module: definitions and expressions, with every name resolved.

It shares only the call of SANY with the generator. A part of the export that is not read here is an error.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from codegen.tla.sany import java, tools_jar
from harness.base.protocols import REPOSITORY

STANDARD = {"Naturals", "Integers", "Sequences", "FiniteSets", "TLC", "--TLA+ BUILTINS--"}


class SyntaxUnsupported(Exception):
    """The module or its export has something that is not read; the message says what."""


@dataclass(frozen=True, eq=False)
class Node:
    """An expression.

    form: `number`, `text`, `apply`, `at`, `let`, `label`, `instance` or `operator` (one that is an argument).
    name: the operator, text or label. uid: the number of the definition that the name stands for; empty for built-in
    and standard operators. bound: pairs of names and domain. where: module and line.
    """

    form: str
    where: str
    name: str = ""
    uid: str = ""
    value: int = 0
    arguments: tuple[Node, ...] = ()
    bound: tuple[tuple[tuple[str, ...], Node], ...] = ()
    definitions: tuple[str, ...] = ()
    substitutions: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True, eq=False)
class Definition:
    """An operator of the text. parameters: their numbers."""

    uid: str
    name: str
    parameters: tuple[str, ...]
    body: Node


@dataclass
class Module:
    """Definitions by number, those of the root module by name, and the constants."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    top: dict[str, Definition] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    """Names by number."""


def export(path: Path, folders: list[Path]) -> str:
    """Has SANY parse a module and write it as XML."""
    library = [argument for folder in folders for argument in ("-I", str(folder))]
    arguments = ["tla2sany.xml.XMLExporter", *library, "-o", path.name]
    run = java(tools_jar(REPOSITORY), [], arguments, path.parent)
    if run.returncode or not run.stdout.startswith("<?xml"):
        raise SyntaxUnsupported(f"SANY cannot export {path}; `just generate` says why")
    return run.stdout


def read(xml: str) -> Module:
    """Reads an export."""
    return _Reader(ElementTree.fromstring(xml)).module


def _text(element: ElementTree.Element, path: str) -> str:
    found = element.findtext(path)
    if found is None:
        raise SyntaxUnsupported(f"SANY's export has a {element.tag} without {path}")
    return found


def _child(element: ElementTree.Element, path: str) -> ElementTree.Element:
    found = element.find(path)
    if found is None:
        raise SyntaxUnsupported(f"SANY's export has a {element.tag} without {path}")
    return found


class _Reader:
    def __init__(self, root: ElementTree.Element) -> None:
        self.module = Module()
        self._entries = {_text(entry, "UID"): entry[1] for entry in _child(root, "context")}
        name = _text(root, "RootModule")
        for uid, element in self._entries.items():
            if element.tag == "OpDeclNode":
                self.module.constants[uid] = _text(element, "uniquename")
            elif element.tag == "UserDefinedOpKind" and not self._is_standard(element):
                self.module.definitions[uid] = self._definition(uid, element)
        for element in self._entries.values():
            if element.tag == "ModuleNode" and element.findtext("uniquename") == name:
                for child in element.iterfind("UserDefinedOpKindRef"):
                    found = self.module.definitions.get(_text(child, "UID"))
                    if found:
                        self.module.top[found.name] = found

    def _definition(self, uid: str, element: ElementTree.Element) -> Definition:
        parameters = tuple(_text(child, "UID") for child in element.iterfind("params/leibnizparam/FormalParamNodeRef"))
        return Definition(uid, _text(element, "uniquename"), parameters, self._node(_child(element, "body")[0]))

    def _is_standard(self, element: ElementTree.Element) -> bool:
        body = _child(element, "body")[0]
        while body.tag == "SubstInNode":
            body = _child(body, "body")[0]
        return (body.findtext("location/filename") or "--TLA+ BUILTINS--") in STANDARD

    def _node(self, element: ElementTree.Element) -> Node:
        where = f"{element.findtext('location/filename')}.tla:{element.findtext('location/line/begin')}"
        match element.tag:
            case "NumeralNode":
                return Node("number", where, value=int(_text(element, "IntValue")))
            case "StringNode":
                return Node("text", where, element.findtext("StringValue") or (element.text or "").strip())
            case "AtNode":
                return Node("at", where)
            case "OpApplNode":
                return self._apply(element, where)
            case "LetInNode":
                names = tuple(_text(child, "UID") for child in element.iterfind("opDefs/UserDefinedOpKindRef"))
                return Node("let", where, arguments=(self._node(_child(element, "body")[0]),), definitions=names)
            case "LabelNode":
                body = self._node(_child(element, "body")[0])
                return Node("label", where, _text(element, "uniquename"), arguments=(body,))
            case "SubstInNode":
                pairs = tuple(
                    (_text(child[0], "UID"), self._node(child[1])) for child in element.iterfind("substs/Subst")
                )
                body = self._node(_child(element, "body")[0])
                return Node("instance", where, arguments=(body,), substitutions=pairs)
            case "OpArgNode":
                name, uid = self._reference(_child(element, "argument")[0])
                return Node("operator", where, name, uid)
        raise SyntaxUnsupported(f"{where}: SANY's export has a {element.tag}")

    def _apply(self, element: ElementTree.Element, where: str) -> Node:
        name, uid = self._reference(_child(element, "operator")[0])
        operands = element.find("operands")
        bound = []
        for child in element.iterfind("boundSymbols/*"):
            if child.tag != "bound" or child.find("tuple") is not None:
                raise SyntaxUnsupported(f"{where}: a binder without a domain, or over tuples")
            names = tuple(_text(each, "UID") for each in child.iterfind("FormalParamNodeRef"))
            bound.append((names, self._node(child[-1])))
        arguments = tuple(self._node(child) for child in (operands if operands is not None else ()))
        return Node("apply", where, name, uid, arguments=arguments, bound=tuple(bound))

    def _reference(self, element: ElementTree.Element) -> tuple[str, str]:
        """The name and number of an operator; standard operators have no number."""
        uid = _text(element, "UID")
        entry = self._entries[uid]
        name = entry.findtext("uniquename") or uid
        if entry.tag == "BuiltInKind":
            return name, ""
        if entry.tag == "UserDefinedOpKind" and self._is_standard(entry):
            return re.sub(r".*!", "", name), ""
        return name, uid
