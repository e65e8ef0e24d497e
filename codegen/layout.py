"""The layout: what a protocol's layout.yaml may say, and how it is read.

The models below are the schema (spec/layout.schema.json is made from them). Reading merges the
files that a layout uses, remembers the line of every key, and reports what is wrong there. What
names refer to is resolve.py's business.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import yaml
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, WithJsonSchema

from codegen.errors import Errors, FileMissing, LayoutInvalid
from codegen.ir import Span
from codegen.sany import Display

NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME)]
Bound = Annotated[
    Union[Annotated[int, Field(strict=True, ge=0)], Name], Field(description="A number, or the name of a constant.")
]
Member = Annotated[str, Field(pattern=NAME, strict=True)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


# --- Types -----------------------------------------------------------------------------------------


class EnumType(Strict):
    """Strings of TLA+. The first member is what an untouched cell holds."""

    enum: list[Member] = Field(min_length=1, max_length=256)


class BytesType(Strict):
    """Opaque bytes: compared and copied, nothing else."""

    bytes: Bound


class SetType(Strict):
    """At most `max` distinct elements."""

    set: "TypeText"
    max: Bound


class BitsType(Strict):
    """A set of integers 0..bits-1 in one word."""

    bits: Bound


class ArrayType(Strict):
    """A function over 1..size."""

    array: "TypeText"
    size: Bound


class RecordType(Strict):
    record: dict[Name, "TypeText"] = Field(min_length=1)


class SequenceType(Strict):
    """A sequence of at most `max` elements."""

    sequence: "TypeText"
    max: Bound


def type_tag(value: Any) -> str:
    """Which form of type a YAML value is meant to be."""
    if isinstance(value, dict):
        for tag in ("enum", "bytes", "set", "bits", "array", "record", "sequence"):
            if tag in value:
                return tag
        return "enum"
    if isinstance(value, BaseModel):
        return next(iter(type(value).model_fields))
    return "name"


TypeName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*$",
          description="uN (1 to 64 bits), bool, a name from `types`, or another field: `table.field` or `message.field`."),
]  # fmt: skip

TypeText = Annotated[
    Union[
        Annotated[TypeName, Tag("name")],
        Annotated[EnumType, Tag("enum")],
        Annotated[BytesType, Tag("bytes")],
        Annotated[SetType, Tag("set")],
        Annotated[BitsType, Tag("bits")],
        Annotated[ArrayType, Tag("array")],
        Annotated[RecordType, Tag("record")],
        Annotated[SequenceType, Tag("sequence")],
    ],
    Discriminator(type_tag),
]

for model in (SetType, ArrayType, RecordType, SequenceType):
    model.model_rebuild()


# --- Sections of the file ------------------------------------------------------------------------------


class Clock(Strict):
    """env.now: the monotonic clock in ticks of `tick_ns`, a power of two, truncated to its type."""

    type: TypeName
    tick_ns: int = Field(gt=0, strict=True)


class Environment(Strict):
    now: Clock | None = None


class Local(Strict):
    """A field of the message that is not on the wire; computed on arrival where `from` says how."""

    type: TypeText
    source: str | None = Field(default=None, alias="from", description="hash(msg.field, capacity)")


def local_tag(value: Any) -> str:
    return "local" if isinstance(value, Local) or (isinstance(value, dict) and "type" in value) else "type"


LocalText = Annotated[Union[Annotated[TypeText, Tag("type")], Annotated[Local, Tag("local")]], Discriminator(local_tag)]


class TableModel(Strict):
    """An array of cells. index: the message's field that says which cell is meant."""

    cell: dict[Name, TypeText] = Field(min_length=1)
    map: Literal["array"] = "array"
    capacity: Bound
    index: str = Field(pattern=r"^msg\.[A-Za-z][A-Za-z0-9_]*$")
    atomic: Literal["word", "spin_lock", "res_spin_lock"]


def section_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "table: Step, and what happens when the section is contended.",
        "properties": {"contended": {"enum": ["drop", "skip", "never"]}},
        "additionalProperties": {"type": "string", "pattern": NAME},
        "minProperties": 1,
        "maxProperties": 2,
    }


SectionText = Annotated[dict[Name, Name], Field(min_length=1, max_length=2), WithJsonSchema(section_schema())]


class Hooks(Strict):
    """What runs where: rows of sections for xdp and tc, one section over a whole table for user."""

    xdp: list[SectionText] = Field(min_length=1)
    user: SectionText | None = None
    tc: list[SectionText] = []


class PassModel(Strict):
    each: Name
    sections: list[SectionText] = Field(min_length=1)


class Sweep(Strict):
    """What the daemon does by itself, every `period_ms`: passes over tables."""

    period_ms: int = Field(gt=0, strict=True)
    passes: list[PassModel] = Field(min_length=1)


class Wire(Strict):
    transport: Literal["udp"]
    port: int = Field(ge=1, le=65535, strict=True)
    order: list[Name] = Field(min_length=1)


class BudgetModel(Strict):
    """What the verifier may report for a program."""

    insns: int = Field(gt=0, strict=True)
    states: int = Field(gt=0, strict=True)
    stack: int = Field(gt=0, strict=True)


class Budgets(Strict):
    xdp: BudgetModel
    tc: BudgetModel | None = None
    sweep: BudgetModel | None = None


ConstantText = Union[
    Annotated[bool, Field(strict=True)],
    Annotated[int, Field(strict=True)],
    Member,
    list[Union[Annotated[int, Field(strict=True)], Member]],
]


class Layout(Strict):
    """A protocol's layout: types, bounds, maps, hooks, wire format and budgets. Nothing here changes what a step means."""

    protocol: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    module: Name
    use: list[str] = []
    types: dict[Name, TypeText] = {}
    constants: dict[Name, ConstantText] = {}
    env: Environment = Environment()
    message: dict[Name, TypeText] = Field(min_length=1)
    local: dict[Name, LocalText] = {}
    tables: dict[Name, TableModel] = Field(min_length=1)
    hooks: Hooks
    sweep: Sweep | None = None
    wire: Wire
    budget: Budgets


def json_schema() -> str:
    """The text of spec/layout.schema.json. A layout that is only `use`d may leave anything out."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Layout.model_json_schema(by_alias=True)}
    return json.dumps(schema, indent=2) + "\n"


# --- Reading --------------------------------------------------------------------------------------------


Path_ = tuple[Union[str, int], ...]


@dataclass
class Source:
    """A layout as read: its values, where each stands, and the files it came from."""

    values: dict[str, Any]
    spans: dict[Path_, Span]
    files: list[Path] = field(default_factory=list)

    def span(self, *path: Union[str, int]) -> Span:
        """Where the key at `path` stands, or the nearest key above it."""
        while path and path not in self.spans:
            path = path[:-1]
        return self.spans[path]


def read(path: Path, folders: list[Path], override: dict | None, display: Display, errors: Errors) -> tuple[Layout, Source] | None:
    """Reads a layout with all that it uses. Returns None after reporting what is wrong."""
    source = load(path, folders, display, errors, ())
    if source is None or errors.found:
        return None
    if override:
        spans = positions(override, Span("override", 1, 1))
        source = merged(source, Source(override, spans), join_enums=False)
    try:
        return Layout.model_validate(source.values), source
    except ValidationError as error:
        for detail in error.errors():
            errors.add(invalid(detail, source))
    return None


def load(path: Path, folders: list[Path], display: Display, errors: Errors, above: tuple[Path, ...]) -> Source | None:
    """One file over the files that it uses."""
    here = Span(display.name(path), 1, 1)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        errors.add(FileMissing(here, f"the layout cannot be read: {error.strerror}"))
        return None
    own = parse(text, here.file, errors)
    if own is None:
        return None
    base: Source | None = None
    used = own.values.get("use", [])
    for at, name in enumerate(used if isinstance(used, list) else []):
        candidates = [path.parent / str(name), *(folder / Path(str(name)).name for folder in folders)]
        found = next((candidate.resolve() for candidate in candidates if candidate.is_file()), None)
        if found is None or found in above:
            reason = "is not there" if found is None else "uses this one"
            errors.add(FileMissing(own.span("use", at), f"the layout {name} {reason}",
                                   f"looked for it in {', '.join(display.name(one.parent) for one in candidates)}"))  # fmt: skip
            continue
        other = load(found, folders, display, errors, (*above, path.resolve()))
        if other is not None:
            base = other if base is None else merged(base, other)
    own.files = [path.resolve()]
    return own if base is None else merged(base, own)


def parse(text: str, file: str, errors: Errors) -> Source | None:
    """YAML to plain values, with the place of every key."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        span = Span(file, mark.line + 1, mark.column + 1) if mark else Span(file, 1, 1)
        errors.add(LayoutInvalid(span, f"no YAML: {getattr(error, 'problem', None) or error}"))
        return None
    spans: dict[Path_, Span] = {(): Span(file, 1, 1)}

    def plain(node: yaml.Node, path: Path_) -> Any:
        if isinstance(node, yaml.SequenceNode):
            for at, item in enumerate(node.value):
                spans[(*path, at)] = place(item)
            return [plain(item, (*path, at)) for at, item in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            return loader.construct_object(node, deep=True)
        values: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if key in values:
                errors.add(LayoutInvalid(place(key_node), f"the key {key} is there twice", "keep one of them"))
            spans[(*path, key)] = place(key_node)
            values[key] = plain(value_node, (*path, key))
        return values

    def place(node: yaml.Node) -> Span:
        return Span(file, node.start_mark.line + 1, node.start_mark.column + 1)

    values = plain(root, ()) if root is not None else {}
    if not isinstance(values, dict):
        errors.add(LayoutInvalid(Span(file, 1, 1), "the layout is no mapping", "start it with `protocol: name`"))
        return None
    return Source(values, spans)


def positions(value: Any, span: Span) -> dict[Path_, Span]:
    """Places for values that come from no file."""
    spans: dict[Path_, Span] = {}

    def walk(item: Any, path: Path_) -> None:
        spans[path] = span
        pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, below in pairs:
            walk(below, (*path, key))

    walk(value, ())
    return spans


def merged(base: Source, over: Source, join_enums: bool = True) -> Source:
    """`over` laid over `base`: mappings key by key, the members of enums one after the other, all else replaced."""
    spans = dict(base.spans)

    def merge(old: Any, new: Any, path: Path_) -> Any:
        if path in over.spans:
            spans[path] = over.spans[path]
        if isinstance(old, dict) and isinstance(new, dict):
            result = dict(old)
            for key, value in new.items():
                result[key] = merge(old[key], value, (*path, key)) if key in old else take(value, (*path, key), (*path, key))
            return result
        if join_enums and path and path[-1] == "enum" and isinstance(old, list) and isinstance(new, list):
            for at in range(len(new)):
                spans[(*path, len(old) + at)] = over.spans[(*path, at)]
            return old + new
        return take(new, path, path)

    def take(value: Any, path: Path_, there: Path_) -> Any:
        spans[path] = over.spans[there]
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, below in pairs:
            take(below, (*path, key), (*there, key))
        return value

    values = merge(base.values, over.values, ())
    return Source(values, spans, base.files + over.files)


def invalid(detail: Any, source: Source) -> LayoutInvalid:
    """A complaint of pydantic, at its line and in our words."""
    path: list[Union[str, int]] = []
    at: Any = source.values
    for part in detail["loc"]:
        # The location also names the alternatives that were tried; those are no keys.
        if isinstance(at, dict) and part in at or isinstance(at, list) and isinstance(part, int) and part < len(at):
            path.append(part)
            at = at[part]
    dotted = ".".join(str(part) for part in path) or "the layout"
    span = source.span(*path)
    value = detail.get("input")
    shown = "" if isinstance(value, (dict, list)) else f" {json.dumps(value, default=str)}"
    match detail["type"]:
        case "missing":
            return LayoutInvalid(span, f"{dotted} has no {detail['loc'][-1]}", "add it")
        case "extra_forbidden":
            return LayoutInvalid(span, f"{dotted} is no key of a layout", "see docs/layout.md")
        case "string_type":
            return LayoutInvalid(span, f"{dotted} is{shown or ' no name'}", "write a name; quote words that YAML takes for a truth value")
        case "string_pattern_mismatch":
            return LayoutInvalid(span, f"{dotted} is{shown}", f"it must match {detail['ctx']['pattern']}")
    return LayoutInvalid(span, f"{dotted}{' is' + shown if shown else ''}", detail["msg"][0].lower() + detail["msg"][1:])
