"""The back end turns a typed protocol into the files of generated/<protocol>/."""

from __future__ import annotations

from typing import Any

from codegen.c.format import formatted
from codegen.c.names import Names
from codegen.emit.branch_numbers import Leaves
from codegen.emit.codecs import codec_context, python_context, tla_context, wire_context
from codegen.emit.drain import drain_context
from codegen.emit.header import header_context, steps_context
from codegen.emit.lines import resumed
from codegen.emit.programs import Programs
from codegen.emit.text import banner, render
from codegen.ir import Protocol

__all__ = ["generate"]


def generate(protocol: Protocol, quoting: bool = False) -> dict[str, str]:
    """Returns every generated file of a protocol, by its name. The same protocol gives the same bytes.

    quoting: puts a `#line` before every line of a step. Debug information, and so the verifier's log, then quotes
    the TLA+ source. The programs are the same, but harder to read. The directives name files relative to the
    repository, or the generated file itself.
    """
    names = Names(protocol.name)
    numbers = Leaves(protocol, names)
    programs = Programs(protocol, names, numbers)
    c_codec = codec_context(protocol, names, programs.operation_in_map)
    files: list[tuple[str, str, str, dict[str, Any]]] = [
        (names.file(".h"), "protocol.h.j2", "c", header_context(protocol, names, numbers)),
        (names.file("_steps.h"), "steps.h.j2", "c", steps_context(protocol, names, numbers, quoting)),
        (names.file("_hooks.h"), "hooks.h.j2", "c", programs.common()),
        (names.file("_codec.h"), "codec.h.j2", "c", c_codec),
        (names.file(".bpf.c"), "bpf.c.j2", "c", programs.common()),
        (names.file("_user.c"), "user.c.j2", "c", programs.user_context()),
        (names.file("_codec.py"), "codec.py.j2", "python", python_context(protocol)),
        (f"{names.hooks_module()}.tla", "hooks.tla.j2", "tla", tla_context(protocol, names)),
        ("wire.md", "wire.md.j2", "markdown", wire_context(protocol)),
    ]
    if protocol.drain is not None:
        files.insert(-3, (names.file("_drain.h"), "drain.h.j2", "c", drain_context(protocol, names)))
    texts = {name: _rendered(protocol, names, template, style, context) for name, template, style, context in files}
    if quoting:
        return {name: resumed(text, name) for name, text in texts.items()}
    return {**texts, **formatted({name: texts[name] for name, _, style, _ in files if style == "c"})}


def _rendered(protocol: Protocol, names: Names, template: str, style: str, context: dict[str, Any]) -> str:
    lines = banner(protocol, style)
    frame = {
        "banner": "\n".join(lines),
        "banner_lines": lines,
        "guard": names.macro_prefix,
        "prefix": names.protocol,
        "title": names.protocol.capitalize().replace("_", " "),
    }
    return render(template, {**frame, **context})
