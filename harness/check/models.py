"""Reads the models: every .cfg beside a specification, and the expected result in the models.json beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.layout.folders import used_folders
from harness import documents
from harness.protocols import protocols as all_protocols
from harness.tlc import EXIT_VERDICTS, ROOT, TlcError

RECORD = "models.json"
DESCRIBED_IN = "docs/reference/models.md"
SIZES = ("small", "large")
VERDICTS = tuple(EXIT_VERDICTS.values())
NAMED_VERDICTS = ("invariant", "property")
"""Verdicts that name the violated property."""
LIBRARY = ROOT / "spec" / "lib"
SESSION = LIBRARY / "session"


@dataclass(frozen=True)
class Model:
    """One .cfg.

    protocol: `session` for those of spec/lib/session, else the folder under spec/.
    size: `small` runs in every check, `large` takes minutes.
    verdict: the verdict that TLC must reach. violates: the property that must be violated.
    distinct: the recorded count of states; None for a large model that nobody has run to its end yet.
    shows: for a model that must fail, the hazard in a sentence.
    """

    protocol: str
    name: str
    module: Path
    config: Path
    size: str
    verdict: str
    violates: str | None
    distinct: int | None
    seconds: float
    shows: str

    @property
    def must_fail(self) -> bool:
        return self.verdict != "holds"

    @property
    def search_path(self) -> list[Path]:
        folder = self.config.parent
        used = [other for other in used_folders(folder) if other != LIBRARY]
        return [folder, LIBRARY, ROOT / "generated" / self.protocol, *used]


def folder_of(protocol: str) -> Path:
    return SESSION if protocol == "session" else ROOT / "spec" / protocol


def protocols() -> list[str]:
    """Returns everything that has models: `session`, the library's module, then folders under spec/."""
    found = {path.parent.name for path in (ROOT / "spec").glob("*/*.cfg")}
    return ["session", *sorted(found)]


def without_models() -> list[str]:
    """Returns the protocols without models."""
    return [name for name in all_protocols() if name not in protocols()]


def _entries(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / RECORD
    try:
        entries = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except json.JSONDecodeError as error:
        raise TlcError(f"{documents.name_of(path)}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise TlcError(
            f"{documents.name_of(path)} must be a mapping of each model's name to a mapping: see {DESCRIBED_IN}"
        )
    return entries


def models_of(protocol: str) -> list[Model]:
    """Returns the models of one protocol, in the order of its models.json.

    Raises TlcError for a .cfg without an entry in models.json, and for an entry without a .cfg. So no model is
    forgotten in silence.
    """
    folder = folder_of(protocol)
    entries = _entries(folder)
    configs = {path.stem for path in folder.glob("*.cfg")}
    for name in sorted(configs ^ entries.keys()):
        where, record = documents.name_of(folder / f"{name}.cfg"), documents.name_of(folder / RECORD)
        if name in configs:
            raise TlcError(
                f"{where} is not in {record}: add what is expected of it (see {DESCRIBED_IN}), for example\n"
                f"{_suggestion(folder, name, entries)}\n"
                f"and run `just check {protocol} {name} --record`, which counts its states"
            )
        raise TlcError(f"{record} expects {where}, which does not exist")
    return [_model(protocol, folder, name, entry) for name, entry in entries.items()]


def _suggestion(folder: Path, name: str, entries: dict[str, dict[str, Any]]) -> str:
    """Returns an entry to paste, for a model that holds; the whole file if there is none yet."""
    modules = [
        path.stem for path in sorted(folder.glob("*.tla")) if not path.stem.endswith("Steps") and path.stem != "Program"
    ]
    module = next((each for each in modules if each.lower() == folder.name), modules[0] if modules else "MODULE")
    entry = json.dumps({name: {"module": module, "size": "small", "verdict": "holds"}})
    return f"  {entry}" if not entries else f"  {entry[1:-1]},"


def _fault(folder: Path, entry: dict[str, Any]) -> str:
    """Returns the fault of an entry, phrased to follow the model's name; empty if there is none."""
    known = {"module", "size", "verdict", "violates", "distinct", "seconds", "shows"}
    if unknown := entry.keys() - known:
        return f"has no use for {', '.join(sorted(unknown))}; known are {', '.join(sorted(known))}"
    if missing := {"module", "size", "verdict"} - entry.keys():
        return f"lacks {', '.join(sorted(missing))}"
    for key, choices in (("size", SIZES), ("verdict", VERDICTS)):
        if entry[key] not in choices:
            return f"{key} is {entry[key]!r}, which is none of {', '.join(choices)}"
    for key, kinds in (
        ("module", str),
        ("violates", str),
        ("shows", str),
        ("distinct", int),
        ("seconds", (int, float)),
    ):
        if key in entry and (not isinstance(entry[key], kinds) or isinstance(entry[key], bool)):
            return f"{key} is {entry[key]!r}, which is no {'text' if kinds is str else 'number'}"
    if not (folder / f"{entry['module']}.tla").is_file():
        return f"module is {entry['module']!r}, but there is no {documents.name_of(folder)}/{entry['module']}.tla"
    if entry["verdict"] in NAMED_VERDICTS and "violates" not in entry:
        return (
            f"lacks violates: which {'invariant' if entry['verdict'] == 'invariant' else 'property'} must be violated"
        )
    if entry["verdict"] not in NAMED_VERDICTS and "violates" in entry:
        return f"has violates, for which its verdict must be {' or '.join(NAMED_VERDICTS)}, not {entry['verdict']}"
    return ""


def _model(protocol: str, folder: Path, name: str, entry: dict[str, Any]) -> Model:
    if fault := _fault(folder, entry):
        raise TlcError(f"{documents.name_of(folder / RECORD)}: {name} {fault}; see {DESCRIBED_IN}")
    return Model(
        protocol,
        name,
        folder / f"{entry['module']}.tla",
        folder / f"{name}.cfg",
        entry["size"],
        entry["verdict"],
        entry.get("violates"),
        entry.get("distinct"),
        entry.get("seconds", 0.0),
        entry.get("shows", ""),
    )


def record(model: Model, distinct: int, seconds: float) -> None:
    """Writes a run's counts and times into models.json, never a verdict."""
    folder = model.config.parent
    entries = _entries(folder)
    entries[model.name] |= {"distinct": distinct, "seconds": round(seconds, 1)}
    (folder / RECORD).write_text(json.dumps(entries, indent=2) + "\n")


_SECTION = re.compile(r"^(INVARIANTS?|PROPERTY|PROPERTIES)\b(.*?)(?=^[A-Z_]{4,}\b|\Z)", re.MULTILINE | re.DOTALL)


def properties_of(model: Model) -> list[str]:
    """Names of the invariants and properties that a .cfg asks for."""
    text = re.sub(r"\\\*.*", "", model.config.read_text())
    return [name for section in _SECTION.finditer(text) for name in section[2].split()]


def sentences(search_path: list[Path]) -> dict[str, str]:
    """Maps each operator that is defined right below a comment to the comment's text."""
    found: dict[str, str] = {}
    for folder in reversed(search_path):
        for path in sorted(folder.glob("*.tla")):
            comment: list[str] = []
            for line in path.read_text().splitlines():
                if line.startswith("\\*"):
                    comment.append(line.removeprefix("\\*").strip())
                    continue
                defined = re.match(r"(\w+) *==", line)
                if defined and comment:
                    found[defined[1]] = " ".join(comment)
                comment = []
    return found
