"""Each TLA+ module can be opened alone: an editor finds what it extends, and no two have one name."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from codegen.tla import sany
from harness.base.protocols import MODEL, protocols
from harness.tla import models
from harness.tla.model import LIBRARY, folders_of_modules
from harness.tla.tlc import ROOT

SETTINGS = json.loads((ROOT / ".vscode" / "settings.json").read_text())
EDITOR_PATH = SETTINGS["tlaplus.moduleSearchPaths"]
"""The extension gives these to SANY, which it runs in the folder of the module: they are relative to that."""

FOLDERS = sorted({path.parent for part in ("spec", "generated") for path in (ROOT / part).rglob("*.tla")})


def _names(folders: Iterable[Path]) -> dict[str, set[Path]]:
    """Returns the files of each module name."""
    found: dict[str, set[Path]] = defaultdict(set)
    for folder in folders:
        for path in folder.glob("*.tla"):
            found[path.stem].add(path.resolve())
    return found


def _doubles(folders: Iterable[Path]) -> list[str]:
    return [name for name, files in _names(folders).items() if len(files) > 1 or name in sany.STANDARD_MODULES]


def _needed(folder: Path) -> list[Path]:
    """Returns the folders from which the modules of a folder may take others, as docs/reference/models.md says."""
    if folder.is_relative_to(LIBRARY):
        return [LIBRARY]
    return folders_of_modules(folder.parent.name if folder.name == MODEL else folder.name)


def _parsed(folder: Path, modules: Sequence[str], search_path: Iterable[str]) -> set[Path]:
    """Parses modules in their folder, and returns the files that were read. Fails if SANY refuses one."""
    jar = sany.tools_jar(ROOT)
    arguments = ["tla2sany.SANY", *(f"{name}.tla" for name in modules)]
    run = sany.java(jar, [f"-DTLA-Library={os.pathsep.join(search_path)}"], arguments, folder)
    log = run.stdout + run.stderr
    assert run.returncode == 0, log
    assert not re.search(r"\*\*\* (Errors|Abort)|Parse Error|Lexical error|Could not|Cannot find", log), log
    for name in modules:
        assert f"Semantic processing of module {name}\n" in log, log
    return {(folder / name).resolve() for name in re.findall(r"Parsing file (\S+)", log)}


def test_no_two_modules_have_one_name() -> None:
    assert len(FOLDERS) > 10
    assert not _doubles(FOLDERS)


def test_a_name_that_is_there_twice_is_found(tmp_path: Path) -> None:
    for folder, name in (("one", "Frame"), ("two", "Frame"), ("two", "Sequences"), ("one", "Own")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.tla").touch()
    assert sorted(_doubles([tmp_path / "one", tmp_path / "two"])) == ["Frame", "Sequences"]
    assert _doubles([tmp_path / "one", tmp_path / "one"]) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_each_module_parses_alone_in_an_editor(folder: Path) -> None:
    """One run of SANY parses each module anew. It takes no file but those of the folders that the module needs."""
    modules = sorted(path.stem for path in folder.glob("*.tla"))
    allowed = {path.resolve() for path in (*_needed(folder), folder)}
    read = [path for path in _parsed(folder, modules, EDITOR_PATH) if path.is_relative_to(ROOT)]
    assert len(read) >= len(modules)
    assert not [path for path in read if path.parent not in allowed]


@pytest.mark.parametrize("protocol", protocols())
def test_the_folders_that_a_model_needs_are_enough(protocol: str) -> None:
    """The search path of the checker, for a module that needs them all."""
    model = models.models_of(protocol)[-1]
    _parsed(model.module.parent, [model.module.stem], [str(path) for path in model.search_path])


def test_a_module_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Lone.tla").write_text("---- MODULE Lone ----\nEXTENDS Program\n====\n")
    with pytest.raises(AssertionError, match="Program"):
        _parsed(tmp_path, ["Lone"], [str(LIBRARY)])
