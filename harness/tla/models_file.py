"""Reads a models.yaml: what the models of a protocol have in common, what differs in each, and what must come of it.

docs/reference/models.md describes the file for its writers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pydantic
import yaml

from codegen.errors import Errors, LayoutInvalid, SpecErrors
from codegen.layout.source import Place, Source
from harness.base import yaml_documents
from harness.tla.tlc import EXIT_VERDICTS, Outcome, Simulation, TlcError

FILE = "models.yaml"
DESCRIBED_IN = "docs/reference/models.md"
NAMED_VERDICTS = ("invariant", "property")
"""Verdicts that name the violated property."""
_UNNAMED_VERDICTS = tuple(each for each in EXIT_VERDICTS.values() if each not in (*NAMED_VERDICTS, "holds"))
_STATEMENT = re.compile(r"(\w+)\s*(?:=|<-)\s*\S.*", re.DOTALL)
_FAILS = re.compile(rf"({'|'.join(NAMED_VERDICTS)}) (\w+)|{'|'.join(_UNNAMED_VERDICTS)}")


class Settings(yaml_documents.Strict):
    """The content of a .cfg, and the module that it is for. In the file, a key that is left out is inherited.

    faults: the module of models that must fail. Without it, theirs is `module`, like that of all others.
    always: invariants of every model, also of one that must fail. They come after all others, so that TLC names them
    only if no other is violated.
    """

    module: str | None = None
    faults: str | None = None
    specification: str | None = None
    init: str | None = None
    next: str | None = None
    view: str | None = None
    symmetry: str | None = None
    constants: list[str] = pydantic.Field(default_factory=list)
    constraints: list[str] = pydantic.Field(default_factory=list)
    action_constraints: list[str] = pydantic.Field(default_factory=list)
    invariants: list[str] = pydantic.Field(default_factory=list)
    properties: list[str] = pydantic.Field(default_factory=list)
    always: list[str] = pydantic.Field(default_factory=list)
    check_deadlock: bool = True


class Recorded(yaml_documents.Strict):
    """Counts of the last run with --record. A run that did not end has no states to compare.

    distinct: states of a model that is explored. generated: states of one that is simulated, also those seen before.
    """

    distinct: int | None = None
    generated: int | None = None
    seconds: float = 0.0


class Simulated(yaml_documents.Strict):
    """A part of a large model that nobody can explore: so many behaviours, and of each at most `depth` states."""

    behaviours: int = pydantic.Field(gt=0)
    depth: int = pydantic.Field(gt=0)

    @property
    def simulation(self) -> Simulation:
        return Simulation(self.behaviours, self.depth)


class Twin(Recorded):
    """The twin of a model that must fail: the same constants with the right rules."""

    size: Literal["small", "large"] = "small"
    simulated: Simulated | None = None


class Entry(Settings):
    """One model: how its settings differ from those of the model that it is like, or from the base.

    wrong: the constants, of a model that must fail, because of which it does. Its twin does not have them.
    possible: predicates of states that a model which holds must reach.
    """

    about: str = ""
    like: str | None = None
    size: Literal["small", "large"] = "small"
    fails: str | None = None
    wrong: list[str] = pydantic.Field(default_factory=list)
    possible: list[str] = pydantic.Field(default_factory=list)
    simulated: Simulated | None = None
    recorded: Recorded = Recorded()
    twin: Twin | None = None

    @property
    def verdict(self) -> str:
        return self.fails.split()[0] if self.fails else "holds"

    @property
    def violates(self) -> str | None:
        return self.fails.split()[1] if self.verdict in NAMED_VERDICTS and self.fails else None


class Document(yaml_documents.Strict):
    """A models.yaml.

    use: a file with settings that `base` inherits, as a path from the folder of this one.
    """

    use: str | None = None
    base: Settings = Settings()
    models: dict[str, Entry]

    def settings(self, name: str, *, right: bool = False) -> Settings:
        """Returns all settings of a model, with those of `always` among the invariants.

        A model that must fail by a named property checks only this one and `always`, unless it lists others itself.
        right: leaves out what is wrong in it.
        """
        return _with_always(self._of_its_own(name, right))

    def right_settings(self, name: str) -> Settings:
        """Returns the settings of a model that must fail as if it had to hold: without what is wrong in it."""
        return _with_always(self.inherited(name))

    def _of_its_own(self, name: str, right: bool) -> Settings:
        entry, settings = self.models[name], self.inherited(name)
        if entry.fails is None:
            return settings
        changes: dict[str, object] = {"module": settings.faults or settings.module}
        if not right:
            changes["constants"] = _with(settings.constants, entry.wrong)
        if entry.violates and not entry.model_fields_set & {"invariants", "properties"}:
            changes["invariants"] = [entry.violates] if entry.verdict == "invariant" else []
            changes["properties"] = [entry.violates] if entry.verdict == "property" else []
        return settings.model_copy(update=changes)

    def inherited(self, name: str) -> Settings:
        """Returns what a model inherits, with what it says itself, but for what is wrong in it."""
        entry = self.models[name]
        return _changed(self.base if entry.like is None else self.inherited(entry.like), entry)


def _changed(parent: Settings, child: Settings) -> Settings:
    """Returns what a child inherits from its parent, with what it says itself."""
    changes = {key: getattr(child, key) for key in child.model_fields_set & Settings.model_fields.keys()}
    if "module" in changes:
        changes.setdefault("faults", None)
    return parent.model_copy(update={**changes, "constants": _with(parent.constants, child.constants)})


def _with(statements: list[str], others: list[str]) -> list[str]:
    """Returns what the constants are after some have got other values. Each keeps its place."""
    return list({constant_of(text): text for text in [*statements, *others]}.values())


def _with_always(settings: Settings) -> Settings:
    invariants = list(dict.fromkeys([*settings.invariants, *settings.always]))
    return settings.model_copy(update={"invariants": invariants})


def constant_of(statement: str) -> str:
    """Returns the name to which `NAME = VALUE` or `NAME <- OPERATOR` gives a value; empty for any other text."""
    found = _STATEMENT.fullmatch(statement)
    return found[1] if found else ""


def load(folder: Path) -> Document:
    """Reads the models.yaml of a folder. Raises TlcError with all faults and their places."""
    try:
        document, source = yaml_documents.read_placed(folder / FILE, Document, DESCRIBED_IN)
        used = _used(folder / document.use) if document.use else Settings()
        whole = document.model_copy(update={"base": _changed(used, document.base)})
        _refuse(_faults(document, whole, folder), source)
    except SpecErrors as error:
        raise TlcError(f"the models cannot be read:\n{error}") from None
    return whole


def _used(path: Path) -> Settings:
    """Reads a file that a models.yaml uses."""
    settings, source = yaml_documents.read_placed(path, Settings, DESCRIBED_IN)
    _refuse(_faults_of_settings((), settings, path.parent), source)
    return settings


def _refuse(faults: Iterator[tuple[Place, str, str]], source: Source) -> None:
    errors = Errors()
    for place, found, instead in faults:
        errors.add(LayoutInvalid(source.span(*place), found, f"{instead}; see {DESCRIBED_IN}"))
    errors.raise_if_any()


def _faults(document: Document, whole: Document, folder: Path) -> Iterator[tuple[Place, str, str]]:
    """Yields what pydantic cannot find: a place, what is wrong there, and what would be right.

    whole: the document with what its base inherits.
    """
    places: list[tuple[Place, Settings]] = [(("base",), document.base)]
    places += [(("models", name), entry) for name, entry in document.models.items()]
    for place, settings in places:
        yield from _faults_of_settings(place, settings, folder)
    broken = list(_faults_of_likes(document))
    yield from broken
    for name, entry in document.models.items():
        yield from _faults_of_verdict(name, entry)
        if entry.fails is not None and not _FAILS.fullmatch(entry.fails):
            wanted = f"write `invariant NAME`, `property NAME` or one of {', '.join(_UNNAMED_VERDICTS)}"
            yield ("models", name, "fails"), f"models.{name}.fails is {entry.fails!r}", wanted
        elif not broken:
            yield from _faults_of_model(whole, name)


def _faults_of_settings(place: Place, settings: Settings, folder: Path) -> Iterator[tuple[Place, str, str]]:
    seen = set()
    for number, statement in enumerate(settings.constants):
        at, name = (*place, "constants", number), constant_of(statement)
        if not name:
            yield at, f"{statement!r} does not set a constant", "write `NAME = VALUE` or `NAME <- OPERATOR`"
        elif name in seen:
            yield at, f"there are two values for the constant {name}", "keep one of them"
        seen.add(name)
    for key in ("module", "faults"):
        module = getattr(settings, key)
        if module is not None and not (folder / f"{module}.tla").is_file():
            where = yaml_documents.name_of(folder)
            yield (*place, key), f"{key} is {module!r}, but {where}/{module}.tla does not exist", "name a module there"


def _faults_of_verdict(name: str, entry: Entry) -> Iterator[tuple[Place, str, str]]:
    for number, statement in enumerate(entry.wrong):
        if not constant_of(statement):
            at = ("models", name, "wrong", number)
            yield at, f"{statement!r} does not set a constant", "write `NAME = VALUE` or `NAME <- OPERATOR`"
    if entry.fails is not None and entry.possible:
        found = f"models.{name} must fail, and need not come to what `possible` names"
        yield ("models", name, "possible"), found, "remove `possible`, or list it in a model that must hold"
    if entry.simulated is not None and (entry.fails is not None or entry.size != "large"):
        found = f"models.{name} is simulated, but only a large model that must hold may be"
        yield ("models", name, "simulated"), found, "remove `simulated`, so that it is explored"
    if entry.fails is None and entry.wrong:
        yield ("models", name, "wrong"), f"models.{name} must hold, but has `wrong`", "remove it, or add `fails`"
    if entry.fails is not None and not entry.wrong:
        found = f"models.{name} must fail, but does not say why"
        yield ("models", name, "fails"), found, "move the constants because of which it fails into `wrong`"


def _faults_of_likes(document: Document) -> Iterator[tuple[Place, str, str]]:
    models = document.models
    in_a_circle: set[str] = set()
    for name, entry in models.items():
        place = ("models", name, "like")
        if entry.like is not None and entry.like not in models:
            yield place, f"`like` names {entry.like!r}, which is not a model", f"choose from: {', '.join(models)}"
        chain = [name]
        while (above := models[chain[-1]].like) in models and above not in chain:
            chain.append(above)
        if above == name and name not in in_a_circle:
            in_a_circle.update(chain)
            circle = ", which is like ".join([*chain, name])
            yield place, f"these models are like each other, in a circle: {circle}", "remove `like` from one of them"


def _faults_of_model(document: Document, name: str) -> Iterator[tuple[Place, str, str]]:
    settings, entry = document.settings(name), document.models[name]
    if settings.module is None:
        yield ("models", name), f"models.{name} has no module", "add `module` to it or to `base`"
    checked = settings.invariants if entry.verdict == "invariant" else settings.properties
    if entry.violates and entry.violates not in checked:
        of = ", ".join(checked) or "none"
        yield ("models", name, "fails"), f"models.{name} does not check {entry.violates}", f"it checks {of}"


# --- Recording ------------------------------------------------------------------------------------------


def record(folder: Path, name: str, key: str, outcome: Outcome) -> None:
    """Writes a run's counts and time into a model's entry, never a verdict. All other text stays as it is.

    key: `recorded` for the model itself, `twin` for its twin.
    """
    path = folder / FILE
    text = path.read_text(encoding="utf-8")
    twin = load(folder).models[name].twin if key == "twin" else None
    size = "size: large, " if twin and twin.size == "large" else ""
    if twin and twin.simulated:
        size += f"simulated: {{behaviours: {twin.simulated.behaviours}, depth: {twin.simulated.depth}}}, "
    states = f"distinct: {outcome.distinct}" if outcome.distinct else f"generated: {outcome.states}"
    counts = f"{{{size}{states}, seconds: {outcome.seconds:.1f}}}"
    path.write_text(_with_record(text, name, key, counts), encoding="utf-8")


def _with_record(text: str, name: str, key: str, counts: str) -> str:
    root = yaml.compose(text, yaml.SafeLoader)
    entry = _below(_below(root, "models"), name)
    assert isinstance(entry, yaml.MappingNode), "the file was read already"
    if old := _below(entry, key):
        return text[: old.start_mark.index] + counts + text[_end(old, text) :]
    if entry.flow_style:
        comma = ", " if entry.value else ""
        closing = entry.end_mark.index - 1
        return f"{text[:closing]}{comma}{key}: {counts}{text[closing:]}"
    line_end = text.find("\n", _end(entry, text))
    line_end = len(text) if line_end < 0 else line_end
    indent = " " * entry.value[0][0].start_mark.column
    return f"{text[:line_end]}\n{indent}{key}: {counts}{text[line_end:]}"


def _below(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _end(node: yaml.Node, text: str) -> int:
    """Returns where the text of a node ends. A block's own mark is at the next token, behind comments."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return len(text[: node.end_mark.index].rstrip())
