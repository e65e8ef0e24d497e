"""Reads a protocol's YAML files for the harness. Errors name the line, as those about a layout do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import yaml

from codegen.errors import Errors, FileMissing, LayoutInvalid, SpecErrors, meant
from codegen.ir.types import Span
from codegen.layout.source import Source, invalid, keys_at, parse
from harness.base.protocols import REPOSITORY

Document = TypeVar("Document", bound=pydantic.BaseModel)


class Strict(pydantic.BaseModel):
    """A mapping of a document: unknown keys are errors."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


def name_of(path: Path) -> str:
    """Returns a path for messages: relative to the repository's root if it is below that."""
    return str(path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path)


def read(path: Path, model: type[Document], described_in: str) -> Document:
    """Reads a document into its model. Raises SpecErrors with all faults. described_in: where to read more."""
    return read_placed(path, model, described_in)[0]


def read_placed(path: Path, model: type[Document], described_in: str) -> tuple[Document, Source]:
    """Reads a document as `read` does. Also returns the place of every key, for errors that the model cannot find."""
    errors = Errors()
    here = Span(name_of(path), 1, 1)
    source: Source | None = None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        errors.add(
            FileMissing(here, f"the file cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
        )
    else:
        if _is_mapping(text):
            source = parse(text, here.file, errors)
        else:
            known = ", ".join(model.model_fields)
            errors.add(LayoutInvalid(here, "the file must be a mapping", f"its keys are {known}; see {described_in}"))
    errors.raise_if_any()
    assert source is not None, "a file without a source has reported an error"
    try:
        return model.model_validate(source.values), source
    except pydantic.ValidationError as error:
        for detail in error.errors():
            errors.add(_worded(detail, source, model, described_in))
    raise SpecErrors(errors.found)


def _is_mapping(text: str) -> bool:
    """True for a mapping, and for text that is not YAML: the parser explains that better."""
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError:
        return True
    return isinstance(root, yaml.MappingNode)


def _worded(detail: Any, source: Source, model: type[pydantic.BaseModel], described_in: str) -> LayoutInvalid:
    """Rewords an error of pydantic."""
    error = invalid(detail, source, model)
    place = ".".join(map(str, detail["loc"]))
    match detail["type"]:
        case "missing":
            above = ".".join(map(str, detail["loc"][:-1])) or "the file"
            return replace(error, found=f"{above} has no {detail['loc'][-1]}", instead=f"add it: see {described_in}")
        case "extra_forbidden":
            known = keys_at(model, detail["loc"][:-1])
            found = f"unknown key {place}{meant(str(detail['loc'][-1]), known)}"
            return replace(error, found=found, instead=f"known here: {', '.join(known) or 'none'}; see {described_in}")
        case "value_error":
            return replace(error, instead=str(detail["ctx"]["error"]))
    return replace(error, instead=error.instead.replace("input should be", "it must be"))
