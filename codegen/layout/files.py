"""Reads a layout with the layouts that it uses, merged into one, and reports each error at its line (source.py)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codegen.display import Display
from codegen.errors import Errors, FileMissing
from codegen.ir import Span
from codegen.layout.schema import Layout
from codegen.layout.source import Place, Source, complaints, parse, text_of


def read(
    path: Path, folders: Sequence[Path], override: dict[str, Any] | Source | None, display: Display, errors: Errors
) -> tuple[Layout, Source] | None:
    """Reads a layout and the layouts that it uses. Returns None after reporting errors.

    override: errors in a Source are reported at its own places, errors in a dict at `override:1:1`.
    """
    source = load(path, folders, display, errors, ())
    if source is None or errors.found:
        return None
    if isinstance(override, dict):
        override = Source.placed(override, Span("override", 1, 1))
    if override is not None:
        source = merged(source, override, is_override=True)
    try:
        return Layout.model_validate(source.values), source
    except ValidationError as error:
        for complaint in complaints(error, source, Layout):
            errors.add(complaint)
    return None


def used_folders(path: Path) -> list[Path]:
    """Returns the folders of the existing layouts that a layout names in `use`. It reports no errors."""
    quiet = Errors()
    text = text_of(path, path.name, quiet)
    own = parse(text, path.name, quiet) if text is not None else None
    found: list[Path] = []
    for name in own.values.get("use", []) if own else ():
        used = path.parent / str(name)
        if used.is_file() and used.resolve().parent not in found:
            found.append(used.resolve().parent)
    return found


def load(
    path: Path, folders: Sequence[Path], display: Display, errors: Errors, above: tuple[Path, ...]
) -> Source | None:
    """Reads one file and merges it over the files that it uses."""
    text = text_of(path, display.name(path), errors)
    own = parse(text, display.name(path), errors) if text is not None else None
    if own is None:
        return None
    base: Source | None = None
    used = own.values.get("use", [])
    for at, name in enumerate(used if isinstance(used, list) else []):
        if not isinstance(name, str):
            continue  # The schema's validation reports it.
        candidates = [path.parent / name, *(folder / Path(name).name for folder in folders)]
        found = next((candidate.resolve() for candidate in candidates if candidate.is_file()), None)
        if found is None or found in above:
            reason = "does not exist" if found is None else "uses this one, so they use each other"
            errors.add(
                FileMissing(
                    own.span("use", at),
                    f"the layout {name} {reason}",
                    f"it was looked for in {', '.join(display.name(one.parent) for one in candidates)}",
                )
            )
            continue
        other = load(found, folders, display, errors, (*above, path.resolve()))
        if other is not None:
            base = other if base is None else merged(base, other)
    own.files = [path.resolve()]
    return own if base is None else merged(base, own)


def merged(base: Source, over: Source, is_override: bool = False) -> Source:
    """Merges `over` over `base`: mappings key by key, members of enums appended, other values replaced.

    An override replaces enums too. If it only adds to a mapping, the mapping keeps its place in the layout, so a
    missing key is reported there.
    """
    spans = dict(base.spans)

    def merge(old: Any, new: Any, path: Place) -> Any:
        both_mappings = isinstance(old, dict) and isinstance(new, dict)
        if not (is_override and both_mappings):
            spans[path] = over.spans[path]
        if both_mappings:
            result = dict(old)
            for key, value in new.items():
                result[key] = (
                    merge(old[key], value, (*path, key)) if key in old else take(value, (*path, key), (*path, key))
                )
            return result
        if not is_override and path and path[-1] == "enum" and isinstance(old, list) and isinstance(new, list):
            for at in range(len(new)):
                spans[(*path, len(old) + at)] = over.spans[(*path, at)]
            return old + new
        return take(new, path, path)

    def take(value: Any, path: Place, there: Place) -> Any:
        spans[path] = over.spans[there]
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, below in pairs:
            take(below, (*path, key), (*there, key))
        return value

    values = merge(base.values, over.values, ())
    return Source(values, spans, base.files + over.files)
