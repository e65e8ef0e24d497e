"""Maps names of TLA+ and the layout to C, Python and counter names. No other module does.

TLA+ writes `OnRequest` and `MaxHolders`, C writes `on_request` and `MAX_HOLDERS`. Everything
that a protocol generates at file scope starts with the protocol's name, so that several protocols
can live in one program.
"""

from __future__ import annotations

import functools
import re

from codegen.c.builtin_names import HEADER_MACROS
from codegen.ir import Array, Bits, Bool, Bytes, Enum, Leaf, Record, Sequence, Set, Step, Type, UInt

C_KEYWORDS = frozenset(
    "NULL alignas alignof asm auto bool break case char const constexpr continue default do double else enum errno "
    "extern false float for goto if inline int linux long main nullptr register restrict return short signed sizeof "
    "static static_assert struct switch thread_local true typedef typeof typeof_unqual union unix unsigned void "
    "volatile while".split()
)
"""Words that C reserves, or that a header included by every program defines."""
_PYTHON_KEYWORDS = frozenset(
    "and as assert async await break class continue def del elif else except finally for from global if import "
    "in is lambda nonlocal not or pass raise return try while with yield None True False".split()
)

MESSAGE = "message"
"""Name of every step's message parameter in C."""

ENVIRONMENT = "environment"
"""Name of every step's third parameter in C."""


@functools.cache
def snake(name: str) -> str:
    """Maps `OnRequest` to `on_request`, `door.mode` to `door_mode`, `IDOf` to `id_of`."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", split.lower()).strip("_")


def upper(name: str) -> str:
    return snake(name).upper()


def variable(name: str, taken: frozenset[str] | set[str] = frozenset()) -> str:
    """Returns the C name of a local or of a struct's field; it avoids C's keywords and the names in `taken`."""
    plain = snake(name)
    if not plain or plain[0].isdigit():
        plain = "n" + plain
    while plain in C_KEYWORDS or plain in HEADER_MACROS or plain in taken:
        plain += "_"
    return plain


def field(name: str) -> str:
    return variable(name)


def python_field(name: str) -> str:
    plain = snake(name)
    return plain + "_" if plain in _PYTHON_KEYWORDS else plain


def type_label(type_: Type) -> str:
    """Returns the part of a tag that stands for this type, for example `u8` in `u8_set_4`."""
    match type_:
        case UInt(width):
            return f"u{width}"
        case Bool():
            return "bool"
        case Enum(name, _):
            return snake(name)
        case Bytes(size):
            return f"bytes_{size}"
        case Bits(size):
            return f"bits_{size}"
        case Set(element, max_):
            return f"{type_label(element)}_set_{max_}"
        case Array(element, size):
            return f"{type_label(element)}_array_{size}"
        case Sequence(element, max_):
            return f"{type_label(element)}_sequence_{max_}"
        case Record(name, _):
            return snake(name)
    raise TypeError(f"{type_} has no name in C")


class Names:
    """Makes the names of one protocol."""

    def __init__(self, protocol: str):
        self.protocol = snake(protocol)
        self.macro_prefix = self.protocol.upper()
        self.module_prefix = "".join(part.capitalize() for part in self.protocol.split("_"))

    def local(self, name: str, taken: frozenset[str] | set[str] = frozenset()) -> str:
        """Returns the C name of a local or a parameter, which hides no function that a step calls."""
        plain = variable(name, taken)
        while plain in taken or (plain.startswith(("bpf_", "stepwise_", f"{self.protocol}_")) and plain[-1] != "_"):
            plain += "_"
        return plain

    def file(self, suffix: str) -> str:
        """Returns a file's name: `door.h` for `.h`, `door_steps.h` for `_steps.h`."""
        return self.protocol + suffix

    def steps_module(self) -> str:
        """Returns the name of the TLA+ module with the steps: `DoorSteps` for `door`."""
        return f"{self.module_prefix}Steps"

    def hooks_module(self) -> str:
        return f"{self.module_prefix}Hooks"

    def tag(self, type_: Type) -> str:
        """Returns a struct's or an enum's tag."""
        return f"{self.protocol}_{type_label(type_)}"

    def member(self, enum: Enum, member: str) -> str:
        return f"{self.macro_prefix}_{upper(enum.name)}_{upper(member)}"

    def function(self, *parts: str) -> str:
        return "_".join((self.protocol, *(snake(part) for part in parts)))

    def macro(self, *parts: str) -> str:
        return "_".join((self.macro_prefix, *(upper(part) for part in parts)))

    def step(self, step: Step) -> str:
        return self.function(step.name)

    def leaf_label(self, step: Step, leaf: Leaf) -> str:
        """Returns a leaf's name without its step's name: its label, or its number."""
        prefix = step.name + "."
        return leaf.name[len(prefix) :] if leaf.name.startswith(prefix) else leaf.name

    def leaf(self, step: Step, leaf: Leaf) -> str:
        return self.macro("leaf", step.name, self.leaf_label(step, leaf))

    def counter(self, step: Step, leaf: Leaf) -> str:
        """Returns a counter's name as users see it: `begin.out_of_sequence`, `begin.3`."""
        return f"{snake(step.name)}.{snake(self.leaf_label(step, leaf))}"
