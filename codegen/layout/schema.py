"""Defines the keys of a protocol's layout.yaml.

The models below are the schema; spec/layout.schema.json is made from them. files.py reads a layout,
and resolve.py finds what the names refer to.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, WithJsonSchema

NAME = r"^[A-Za-z][A-Za-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME)]
Bound = Annotated[
    Annotated[int, Field(strict=True, ge=0)] | Name, Field(description="A number, or the name of a constant.")
]
Member = Annotated[str, Field(pattern=NAME, strict=True)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


# --- Types -----------------------------------------------------------------------------------------


class EnumType(Strict):
    """Strings of TLA+. An untouched cell holds the first member."""

    enum: list[Member] = Field(min_length=1, max_length=256)


class BytesType(Strict):
    """Opaque bytes, which steps can only compare and copy."""

    bytes: Bound


class SetType(Strict):
    """At most `max` distinct elements."""

    set: TypeText
    max: Bound


class BitsType(Strict):
    """A set of integers 0..bits-1 in one word."""

    bits: Bound


class ArrayType(Strict):
    """A function over 1..size."""

    array: TypeText
    size: Bound


class RecordType(Strict):
    record: dict[Name, TypeText] = Field(min_length=1)


class SequenceType(Strict):
    """A sequence of at most `max` elements."""

    sequence: TypeText
    max: Bound


TYPE_FORMS = ("enum", "bytes", "set", "bits", "array", "record", "sequence")


def type_tag(value: Any) -> str | None:
    """Returns the form of type that a YAML value is meant to have."""
    if isinstance(value, dict):
        return next((tag for tag in TYPE_FORMS if tag in value), None)
    if isinstance(value, BaseModel):
        return next(iter(type(value).model_fields))
    return "name"


TypeName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*$",
        description="uN (1 to 64 bits), bool, a name from `types`, or another field: `table.field` or `message.field`.",
    ),
]

TypeText = Annotated[
    Annotated[TypeName, Tag("name")]
    | Annotated[EnumType, Tag("enum")]
    | Annotated[BytesType, Tag("bytes")]
    | Annotated[SetType, Tag("set")]
    | Annotated[BitsType, Tag("bits")]
    | Annotated[ArrayType, Tag("array")]
    | Annotated[RecordType, Tag("record")]
    | Annotated[SequenceType, Tag("sequence")],
    Discriminator(
        type_tag,
        custom_error_type="type_form",
        custom_error_message="write a name such as u8, or a mapping with "
        f"{', '.join(TYPE_FORMS[:-1])} or {TYPE_FORMS[-1]}",
    ),
]

for model in (SetType, ArrayType, RecordType, SequenceType):
    model.model_rebuild()


# --- Sections of the file ------------------------------------------------------------------------------

MessageField = Annotated[str, Field(pattern=r"^msg\.[A-Za-z][A-Za-z0-9_]*$")]


class Clock(Strict):
    """env.now: the monotonic clock in ticks of `tick_ns`, a power of two, truncated to its type."""

    type: TypeName
    tick_ns: int = Field(gt=0, strict=True)


class Age(Strict):
    """env.age: ticks of env.now since the tables were made.

    until: the greatest age that steps can tell from older ones.
    """

    until: Bound


class Peer(Strict):
    """env.peer: a number, of this type, for the network that a message came from."""

    type: TypeName


class Token(Strict):
    """env.token: 8 bytes made for the address that a message came from.

    env.validated: whether the message's `field` has a valid token for that address.
    """

    field: MessageField


class Environment(Strict):
    """Inputs of steps beside cell and message.

    cpu: the type of env.cpu, the number of the processor that an xdp or tc step runs on.

    terms: the type of env.terms, a hash of everything that a client relies on. It must be {bytes: 8}.
    """

    now: Clock | None = None
    cpu: TypeName | None = None
    age: Age | None = None
    terms: BytesType | None = None
    peer: Peer | None = None
    token: Token | None = None


class Local(Strict):
    """A field of the message that is not on the wire. With `from` it is computed when a packet arrives."""

    type: TypeText
    source: str | None = Field(
        default=None, alias="from", description="hash(msg.field, capacity) or hash(msg.field, capacity, lower)"
    )


def local_tag(value: Any) -> str:
    return "local" if isinstance(value, Local) or (isinstance(value, dict) and "type" in value) else "type"


LocalText = Annotated[Annotated[TypeText, Tag("type")] | Annotated[Local, Tag("local")], Discriminator(local_tag)]


class TableModel(Strict):
    """An array of cells.

    index: the message's field that selects the cell.

    ahead: before the steps run, xdp reads cells that were not read lately, for several packets at once.

    own_line: each cell has its own cache lines; for `word` and `owned` only.

    atomic: how a section runs atomically. With `user`, only the daemon accesses the cells. With `owned`, at most one
    section accesses a cell at a time.
    """

    cell: dict[Name, TypeText] = Field(min_length=1)
    map: Literal["array"] = "array"
    capacity: Bound
    index: str = Field(pattern=r"^msg\.[A-Za-z][A-Za-z0-9_]*$")
    atomic: Literal["word", "spin_lock", "res_spin_lock", "user", "owned"]
    ahead: Annotated[bool, Field(strict=True)] = False
    own_line: Annotated[bool, Field(strict=True)] = False


Members = Name | Annotated[list[Member], Field(min_length=1)]
WhenText = Annotated[
    dict[Name, Members],
    Field(
        min_length=1,
        max_length=1,
        description="A field of the message that is an enum, and members of it, or a constant that lists them.",
    ),
]


def section_schema(*options: str) -> dict[str, Any]:
    known = {"contended": {"enum": ["drop", "skip", "never"]}, "when": TypeAdapter(WhenText).json_schema()}
    return {
        "type": "object",
        "description": "table: Step, and what happens when the section is contended"
        + (", and for which messages it is: for all others the step changes nothing." if "when" in options else "."),
        "properties": {option: known[option] for option in options},
        "additionalProperties": {"type": "string", "pattern": NAME},
        "minProperties": 1,
        "maxProperties": 1 + len(options),
    }


SectionText = Annotated[
    dict[Name, Name], Field(min_length=1, max_length=2), WithJsonSchema(section_schema("contended"))
]
HookSectionText = Annotated[
    dict[Name, Name | WhenText],
    Field(min_length=1, max_length=3),
    WithJsonSchema(section_schema("contended", "when")),
]


def user_schema() -> dict[str, Any]:
    schema = section_schema("contended")
    options = {
        "reads": {"enum": ["table", "cell"]},
        "contended": {"enum": ["never"]},
        "again": {"type": "string", "pattern": NAME},
    }
    description = (
        "table: Step, what the step reads, and the label of the Drop after which a message is looked at again."
    )
    return schema | {"description": description, "properties": options, "maxProperties": 4}


UserText = Annotated[dict[Name, Name], Field(min_length=1, max_length=4), WithJsonSchema(user_schema())]


def row_tag(value: Any) -> str:
    return "row" if isinstance(value, list) else "one"


UserHook = Annotated[
    Annotated[UserText, Tag("one")] | Annotated[list[UserText], Field(min_length=1), Tag("row")],
    Discriminator(row_tag),
]


class GroupModel(Strict):
    """Sections that run for each operation of a message: all of them for the first, then for the second, and so on."""

    each: Literal["operation"]
    when: WhenText | None = None
    sections: list[HookSectionText] = Field(min_length=1)


def xdp_tag(value: Any) -> str:
    return "group" if isinstance(value, GroupModel) or (isinstance(value, dict) and "sections" in value) else "section"


XdpText = Annotated[
    Annotated[HookSectionText, Tag("section")] | Annotated[GroupModel, Tag("group")], Discriminator(xdp_tag)
]


class Hooks(Strict):
    """Lists of sections by hook. user may also be one section, which reads a whole table or one of its cells."""

    xdp: list[XdpText] = Field(min_length=1)
    user: UserHook | None = None
    tc: list[HookSectionText] = []


class TailModel(Strict):
    """The value that follows the fixed part of a message: `length` bytes, if over < length <= max.

    field: its name in the message, for user steps.
    """

    field: Name
    length: Name
    over: Bound
    max: Bound


class OperationsModel(Strict):
    """The operations that follow the fixed part of a message of one of the kinds in `when`.

    count: the message's field that holds their number, which is at most `max`.

    fields: the message's fields that each operation has a value of its own for.
    """

    when: WhenText
    count: Name
    max: Bound
    fields: list[Name] = Field(min_length=1)


class PassModel(Strict):
    each: Name
    sections: list[SectionText] = Field(min_length=1)


class Sweep(Strict):
    """Passes over tables that the daemon starts by itself, every `period_ms`."""

    period_ms: int = Field(gt=0, strict=True)
    passes: list[PassModel] = Field(min_length=1)


class FateModel(Strict):
    """The outcome of a row.

    field: an enum of the row's cell. Its first member means that the row is still pending.

    done: the members that mean success.
    """

    field: Name
    done: list[Member] = Field(min_length=1)


class Restore(Strict):
    """How recovered rows get into the tables: the sections run for each cell of the table `rows`.

    The daemon fills the fields of such a cell from a row's fields of the same names. It computes a field if the `local`
    of that name has a `from`.
    """

    rows: Name
    fate: FateModel
    sections: list[SectionText] = Field(min_length=1)


OneSection = Annotated[
    dict[Name, Name],
    Field(min_length=1, max_length=1),
    WithJsonSchema(
        {
            "type": "object",
            "description": "table: Step.",
            "additionalProperties": {"type": "string", "pattern": NAME},
            "minProperties": 1,
            "maxProperties": 1,
        }
    ),
]


class DrainModel(Strict):
    """Records that the daemon copies from the tables to files; see docs/reference/layout.md.

    each: the table whose indices are the lanes.

    number: the message's field that counts a lane's records, from 1 in each `epoch`.

    entry: the message's fields that a file keeps of a record.

    sync_ms: how long a sync waits for more records.
    """

    each: Name
    number: MessageField
    takes: list[OneSection] = Field(min_length=1)
    written: OneSection
    synced: OneSection
    begins: list[OneSection] = Field(min_length=1)
    entry: list[Name] = Field(min_length=1)
    batch: Bound
    segment_bytes: int = Field(ge=65536, le=2**40, strict=True)
    sync_ms: int = Field(ge=0, le=10000, strict=True)


class RecoverModel(Strict):
    """Makes one row of all entries with the same key: `step` runs on the key's cell for each entry, in any order."""

    key: MessageField
    cell: dict[Name, TypeText] = Field(min_length=1)
    step: Name


class Wire(Strict):
    transport: Literal["udp"]
    port: int = Field(ge=1, le=65535, strict=True)
    order: list[Name] = Field(min_length=1)


class BudgetModel(Strict):
    """The greatest figures that the verifier may report for a program."""

    insns: int = Field(gt=0, strict=True)
    states: int = Field(gt=0, strict=True)
    stack: int = Field(gt=0, strict=True)


Version = Annotated[
    str,
    Field(
        pattern=r"^[1-9][0-9]*\.(0|[1-9][0-9]*)$",
        strict=True,
        description="A kernel's version, in quotes: YAML takes 6.10 for 6.1.",
    ),
]


class ProgramBudget(BudgetModel):
    """The budget of a program.

    kernels: other budgets, for kernels whose verifiers count differently.
    """

    kernels: dict[Version, BudgetModel] = {}


class Budgets(Strict):
    xdp: ProgramBudget
    gathered: ProgramBudget | None = None
    ahead: ProgramBudget | None = None
    tc: ProgramBudget | None = None
    sweep: ProgramBudget | None = None
    restore: ProgramBudget | None = None


class OlderTable(Strict):
    atomic: Literal["spin_lock"]


class Older(Strict):
    """Programs for older kernels, which lack a feature that the layout needs.

    before: the first version that has the feature.

    since: the first version that these programs run on.

    tables: the changes to tables on these kernels.
    """

    before: Version
    since: Version | None = None
    tables: dict[Name, OlderTable] = Field(min_length=1)


ConstantText = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True)]
    | Member
    | list[Annotated[int, Field(strict=True)] | Member]
)


class Layout(Strict):
    """A protocol's layout: types, bounds, maps, hooks, wire format and budgets.

    Nothing here changes the meaning of a step.
    """

    protocol: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    module: Name
    use: list[str] = []
    types: dict[Name, TypeText] = {}
    constants: dict[Name, ConstantText] = {}
    env: Environment = Environment()
    message: dict[Name, TypeText] = Field(min_length=1)
    handover: dict[Name, TypeText] = {}
    local: dict[Name, LocalText] = {}
    tail: TailModel | None = None
    operations: OperationsModel | None = None
    forwards: list[Name] = []
    tables: dict[Name, TableModel] = Field(min_length=1)
    hooks: Hooks
    sweep: Sweep | None = None
    restore: Restore | None = None
    drain: DrainModel | None = None
    recover: RecoverModel | None = None
    older: Older | None = None
    wire: Wire
    promiscuous: Annotated[
        bool,
        Field(
            strict=True, description="Serve packets to addresses that are not this host's as well, where XDP sees them."
        ),
    ] = False
    budget: Budgets


def json_schema() -> str:
    """Returns the text of spec/layout.schema.json. A layout that is only `use`d may leave out any key."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Layout.model_json_schema(by_alias=True)}
    for described in (schema, *schema["$defs"].values()):
        if "description" in described:
            described["description"] = unwrapped(described["description"])
    return json.dumps(schema, indent=2) + "\n"


def unwrapped(text: str) -> str:
    """Puts each paragraph of a docstring on one line, for editors that wrap by themselves."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
