"""The models of the repository: every .cfg beside a specification, and what the models.json beside it expects."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from harness.tlc import ROOT, TlcError

RECORD = "models.json"
LIBRARY = ROOT / "spec" / "lib"
SESSION = LIBRARY / "session"


@dataclass(frozen=True)
class Model:
    """One .cfg.

    protocol: `session` for those of spec/lib/session, else the folder under spec/.
    size: `small` runs in every check, `large` takes minutes.
    verdict: what TLC must find; `violates`: the property that it must find violated.
    distinct: states that were counted; None where nobody has waited for a large model yet.
    shows: for a model that must fail, the hazard, in a sentence.
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
        return [folder, LIBRARY, ROOT / "generated" / self.protocol]


def folder_of(protocol: str) -> Path:
    return SESSION if protocol == "session" else ROOT / "spec" / protocol


def protocols() -> list[str]:
    """What has models: the session module of the library, then every folder under spec/ with some."""
    found = {path.parent.name for path in (ROOT / "spec").glob("*/*.cfg")}
    return ["session", *sorted(found)]


def _entries(folder: Path) -> dict[str, dict]:
    path = folder / RECORD
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except json.JSONDecodeError as error:
        raise TlcError(f"{_relative(path)}:{error.lineno}: is not JSON: {error.msg}") from None


def _relative(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def models_of(protocol: str) -> list[Model]:
    """The models of one protocol, in the order of its models.json.

    Raises TlcError where a .cfg and models.json do not know of one another: no model may be
    forgotten in silence.
    """
    folder = folder_of(protocol)
    entries = _entries(folder)
    configs = {path.stem for path in folder.glob("*.cfg")}
    for name in sorted(configs ^ entries.keys()):
        where, record = _relative(folder / f"{name}.cfg"), _relative(folder / RECORD)
        if name in configs:
            raise TlcError(f"{where} is not in {record}: add what is expected of it")
        raise TlcError(f"{record} expects {where}, which does not exist")
    return [_model(protocol, folder, name, entry) for name, entry in entries.items()]


def _model(protocol: str, folder: Path, name: str, entry: dict) -> Model:
    known = {"module", "size", "verdict", "violates", "distinct", "seconds", "shows"}
    if unknown := entry.keys() - known:
        raise TlcError(f"{_relative(folder / RECORD)}: {name} has {sorted(unknown)}; known are {sorted(known)}")
    if missing := {"module", "size", "verdict"} - entry.keys():
        raise TlcError(f"{_relative(folder / RECORD)}: {name} lacks {sorted(missing)}")
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
    """Writes what a run found into models.json: counts and times, never a verdict."""
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
    """For every operator that is defined right below a comment, the comment's text."""
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
