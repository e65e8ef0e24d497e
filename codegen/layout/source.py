"""Reads YAML with the place of every key, and reports errors at that place, in our words.

It serves layouts, and all other files that a person writes and a pydantic model describes:

    errors = Errors()
    text = text_of(path, "spec/orders/layout.yaml", errors)
    source = parse(text, "spec/orders/layout.yaml", errors)
    try:
        model.model_validate(source.values)
    except ValidationError as error:
        complaints(error, source, model)
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from codegen.errors import Errors, FileMissing, LayoutInvalid, meant
from codegen.ir import Span, expect

Place = tuple[str | int, ...]
MERGE_TAG = "tag:yaml.org,2002:merge"
QUOTE = "quote words that YAML takes for a number or a truth value"


@dataclass
class Source:
    """A file as read: its values, the place of each, and the files that they came from."""

    values: dict[str, Any]
    spans: dict[Place, Span]
    files: list[Path] = field(default_factory=list)

    @classmethod
    def placed(cls, values: dict[str, Any], span: Span) -> Source:
        """Wraps values that a program made; all of them get one place, that of their origin."""
        spans: dict[Place, Span] = {}

        def walk(item: Any, path: Place) -> None:
            spans[path] = span
            pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
            for key, below in pairs:
                walk(below, (*path, key))

        walk(values, ())
        return cls(values, spans)

    def span(self, *path: str | int) -> Span:
        """Returns the place of the key at `path`, or of the nearest key above it."""
        while path and path not in self.spans:
            path = path[:-1]
        return self.spans[path]


# --- Reading --------------------------------------------------------------------------------------------


def text_of(path: Path, file: str, errors: Errors) -> str | None:
    """Returns a file's text; None after reporting why it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        errors.add(FileMissing(Span(file, 1, 1), f"the file cannot be read: {error.strerror}"))
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        errors.add(
            LayoutInvalid(
                at(before, file),
                f"the byte {error.object[error.start]:#04x} is not valid UTF-8",
                "save the file as UTF-8",
            )
        )
    return None


def at(before: str, file: str) -> Span:
    """Returns the place right after the text `before`."""
    return Span(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def parse(
    text: str, file: str, errors: Errors, what: str = "the layout", start: str = "protocol: name"
) -> Source | None:
    """Parses YAML to plain values with the place of every key; returns None after reporting an error.

    what: the name of such a file in a message.
    start: an example of the first line of such a file.
    """
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        reader = _Reader(loader, file, errors)
        values = reader.plain(root, ()) if root is not None else {}
    except yaml.reader.ReaderError as error:
        errors.add(
            LayoutInvalid(
                at(text[: error.position], file),
                f"this is not valid YAML: the character U+{error.character:04X}",
                "remove it",
            )
        )
        return None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        span = Span(file, mark.line + 1, mark.column + 1) if mark else Span(file, 1, 1)
        errors.add(LayoutInvalid(span, f"this is not valid YAML: {_problem(error)}"))
        return None
    except RecursionError:
        errors.add(LayoutInvalid(Span(file, 1, 1), "this YAML is nested too deep to read"))
        return None
    if not isinstance(values, dict):
        errors.add(LayoutInvalid(Span(file, 1, 1), f"{what} must be a mapping", f"start it with `{start}`"))
        return None
    return Source(values, reader.spans)


TOKENS = {
    ", but got '<scalar>'": " before this word",
    ", but got": " before",
    ", but found '<scalar>'": ", but there is another word",
    ", but found": ", but there is",
    "'<scalar>'": "a word",
    "<block end>": "the end of the block",
    "'<block mapping start>'": "a mapping",
    "'<block sequence start>'": "a list",
    "'<block sequence entry>'": "an item of a list",
    "'<stream end>'": "the end of the file",
    "<document start>": "the start of a document",
    "unexpected end of stream": "the end of the file",
}
"""PyYAML's words for parts of a text, and words that its users know."""


def _problem(error: yaml.MarkedYAMLError) -> str:
    """Says what is wrong, and in which line the construct starts that PyYAML was reading."""
    within, mark = (error.context or "").removeprefix("while ").partition(" a ")[2], error.context_mark
    problem = error.problem or error.context or "it cannot be read"
    for token, text in TOKENS.items():
        problem = problem.replace(token, text)
    if not within or mark is None or error.problem_mark is None or mark.line == error.problem_mark.line:
        return problem
    within = within.replace("flow sequence", "list").replace("flow mapping", "mapping").replace("scalar", "text")
    return f"{problem}, in the {within} that starts in line {mark.line + 1}"


class _Reader:
    """Turns nodes of YAML into plain values; `spans` gets their places."""

    def __init__(self, loader: yaml.SafeLoader, file: str, errors: Errors):
        self.loader = loader
        self.file = file
        self.errors = errors
        self.spans: dict[Place, Span] = {(): Span(file, 1, 1)}
        self.open: list[yaml.Node] = []

    def place(self, node: yaml.Node) -> Span:
        return Span(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def complain(self, node: yaml.Node, found: str, instead: str = "") -> None:
        self.errors.add(LayoutInvalid(self.place(node), found, instead))

    def plain(self, node: yaml.Node, path: Place) -> Any:
        if any(node is one for one in self.open):
            self.complain(node, "this value contains itself", "write the value out")
            return None
        self.open.append(node)
        try:
            if isinstance(node, yaml.SequenceNode):
                return self.sequence(node, path)
            if isinstance(node, yaml.MappingNode):
                return self.mapping(node, path)
            return self.scalar(expect(node, yaml.ScalarNode))
        finally:
            self.open.pop()

    def sequence(self, node: yaml.SequenceNode, path: Place) -> list[Any]:
        for number, item in enumerate(node.value):
            self.spans[(*path, number)] = self.place(item)
        return [self.plain(item, (*path, number)) for number, item in enumerate(node.value)]

    def mapping(self, node: yaml.MappingNode, path: Place) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.complain(key_node, "a key cannot be a list or a mapping", "write a name")
                continue
            if key_node.tag == MERGE_TAG:
                self.complain(key_node, "the merge key << is not supported", "write the keys out")
                continue
            key = self.scalar(key_node)
            if key in values:
                self.complain(key_node, f"there are two keys {key}", "keep one of them")
            self.spans[(*path, key)] = self.place(key_node)
            values[key] = self.plain(value_node, (*path, key))
        return values

    def scalar(self, node: yaml.ScalarNode) -> Any:
        try:
            return self.loader.construct_object(node, deep=True)
        except yaml.constructor.ConstructorError:
            self.complain(node, f"the tag {node.tag.replace('tag:yaml.org,2002:', '!!')} is not supported", "remove it")
        except ValueError:
            self.complain(
                node,
                f"YAML takes {node.value} for the type {node.tag.rpartition(':')[2]}, which it cannot be",
                "quote it if it is a name",
            )
        return None


# --- Complaints of pydantic -----------------------------------------------------------------------------


def complaints(error: ValidationError, source: Source, model: type[BaseModel]) -> list[LayoutInvalid]:
    """Turns complaints of pydantic about a model into errors with a line, in our words.

    Each place gets one error, even if pydantic tried several alternatives there.
    """
    alternatives: dict[Place, list[Any]] = {}
    found = []
    for detail in error.errors(include_url=False):
        if detail["type"] in WORDS:
            alternatives.setdefault(place_of(detail, source), []).append(detail)
        else:
            found.append(invalid(detail, source, model))
    for path, details in alternatives.items():
        if len(details) == 1:
            found.append(invalid(details[0], source, model))
            continue
        choices = dict.fromkeys(WORDS[detail["type"]].format(**detail.get("ctx", {})) for detail in details)
        *most, last = choices
        wanted = f"{', '.join(most)} or {last}" if most else last
        truth = f"; {QUOTE}" if isinstance(details[0].get("input"), bool) else ""
        found.append(LayoutInvalid(source.span(*path), named(path, details[0]), f"it must be {wanted}{truth}"))
    return found


WORDS = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "a name",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "literal_error": "{expected}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
}
"""Expected values by kind of complaint. Alternatives at one place may raise several of these kinds."""


def place_of(detail: Any, source: Source) -> Place:
    """Returns the path of the key or value that a complaint of pydantic is about."""
    path: list[str | int] = []
    values: list[Any] = [source.values]
    for part in detail["loc"]:
        # The location also names the alternatives that pydantic tried. Skip them: they are not keys.
        if isinstance(values[-1], dict) and part in values[-1]:
            known: Any = part
        elif isinstance(values[-1], list) and isinstance(part, int) and part < len(values[-1]):
            known = part
        else:
            continue
        path.append(known)
        values.append(values[-1][known])
    if is_key(detail):
        return (
            (*path, detail["input"]) if isinstance(values[-1], dict) and detail["input"] in values[-1] else tuple(path)
        )
    # An alternative may have the same name as a key. Then the complaint is about a value above.
    for depth in range(len(path), -1, -1):
        if values[depth] is detail.get("input"):
            return tuple(path[:depth])
    return tuple(path)


def is_key(detail: Any) -> bool:
    """Whether the complaint is about a key, and not about its value."""
    return bool(detail["type"] == "invalid_key" or detail["loc"][-1:] == ("[key]",))


def named(path: Place, detail: Any) -> str:
    """Describes the wrong value and its path."""
    dotted = ".".join(map(str, path)) or "the file"
    value = detail.get("input")
    kind = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else ""
    return f"{dotted} is {kind or json.dumps(value, default=str)}"


def invalid(detail: Any, source: Source, model: type[BaseModel]) -> LayoutInvalid:
    """Turns one complaint of pydantic into an error with a line, in our words."""
    path = place_of(detail, source)
    dotted = ".".join(map(str, path)) or "the file"
    span = source.span(*path)
    kind, context, last = detail["type"], detail.get("ctx", {}), detail["loc"][-1] if detail["loc"] else ""
    if is_key(detail):
        key = f"the key {json.dumps(detail['input'], default=str)}"
        if "pattern" in context:
            return LayoutInvalid(span, f"{key} is not allowed", f"it must match {context['pattern']}")
        return LayoutInvalid(span, f"{key} must be text", QUOTE)
    match kind:
        case "missing":
            return LayoutInvalid(span, f"{'the layout' if not path else dotted} has no {last}", "add it")
        case "extra_forbidden":
            close = meant(str(last), keys_at(model, path[:-1]))
            return LayoutInvalid(span, f"unknown key {dotted}{close}", "see docs/reference/layout.md")
        case "string_type":
            return LayoutInvalid(span, named(path, detail), f"it must be text; {QUOTE}")
        case "string_pattern_mismatch":
            return LayoutInvalid(span, named(path, detail), f"it must match {context['pattern']}")
        case "type_form":
            return LayoutInvalid(span, f"{dotted} is not a type", detail["msg"])
        case "too_short":
            return LayoutInvalid(
                span, f"{dotted} has {context['actual_length']} entries", f"it needs at least {context['min_length']}"
            )
        case "too_long":
            length = context["actual_length"]
            shown = "too many" if length is None else length
            return LayoutInvalid(span, f"{dotted} has {shown} entries", f"at most {context['max_length']} are allowed")
    if kind in WORDS:
        return LayoutInvalid(span, named(path, detail), f"it must be {WORDS[kind].format(**context)}")
    of_all = isinstance(detail.get("input"), (dict, list))
    return LayoutInvalid(span, dotted if of_all else named(path, detail), detail["msg"][0].lower() + detail["msg"][1:])


def keys_at(model: Any, path: Place) -> list[str]:
    """Returns the keys of the mapping at a path, as the models define them; none for a mapping with free keys."""
    free = 0  # so many further parts are keys or positions that no model names
    for part in path:
        fields = getattr(model, "model_fields", {})
        if free:
            free -= 1
        elif part in fields:
            model = fields[part].annotation
            while not isinstance(model, type) or not issubclass(model, BaseModel):
                inner = [each for each in getattr(model, "__args__", ()) if each is not type(None)]
                if not inner:
                    break
                free += getattr(model, "__origin__", None) in (dict, list, tuple)
                model = inner[-1]
    return [field.alias or name for name, field in getattr(model, "model_fields", {}).items()]
