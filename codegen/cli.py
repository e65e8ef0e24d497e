"""Runs the generator from the command line.

    python -m codegen generate [PROTOCOL|all]
    python -m codegen generate --spec DIR --out DIR [--override FILE.yaml | --older]
    python -m codegen fresh
    python -m codegen schema
    python -m codegen --version

Exit codes:

    0    done
    1    a specification or a layout is wrong; or (fresh) the committed files differ from the generator's
    2    the command line is wrong
    130  interrupted; each file is either written whole or left as it was
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codegen.analysis.cost import estimates
from codegen.c.format import FormatError
from codegen.compile import load
from codegen.emit import generate
from codegen.errors import Errors, SpecErrors
from codegen.ir import Protocol
from codegen.layout.older_kernels import older_of
from codegen.layout.older_kernels import override as override_of
from codegen.layout.schema import json_schema
from codegen.layout.source import Source, parse, text_of

REPOSITORY = Path(__file__).resolve().parent.parent
SPEC = REPOSITORY / "spec"
GENERATED = REPOSITORY / "generated"
SCHEMA = SPEC / "layout.schema.json"
EDITOR = REPOSITORY / ".vscode" / "settings.json"
"""Where an editor looks for TLA+ modules. Generated, because each new protocol adds folders."""
PROJECT = REPOSITORY / "pyproject.toml"
"""Has the version, which no generated file contains. So a release changes none of them."""


class UserError(Exception):
    """A mistake that the user can correct; the message says how."""


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except SpecErrors as errors:
        print(errors, file=sys.stderr)
        count = len(errors.errors)
        print(f"{count} error{'s' if count != 1 else ''}; nothing was generated", file=sys.stderr)
    except (UserError, FormatError) as error:
        print(f"error: {error}", file=sys.stderr)
    except BrokenPipeError:
        raise  # It comes from standard output and names no file, so __main__ handles it.
    except OSError as error:
        print(f"error: {error.strerror}: {error.filename}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m codegen", description="Compile protocols from TLA+ and a layout.")
    parser.add_argument("--version", action="version", version=f"Stepwise {version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    make = commands.add_parser("generate", help="write generated/<protocol>/, or any folder")
    make.add_argument("protocol", nargs="?", help="a folder of spec/ with a layout.yaml, or all (default)")
    make.add_argument("--spec", type=Path, metavar="DIR", help="folder of the protocol, instead of a name")
    make.add_argument("--out", type=Path, metavar="DIR", help="folder to write to; with --spec")
    make.add_argument(
        "--override", type=Path, metavar="FILE.yaml", help="YAML whose keys replace those of the layout; with --spec"
    )
    make.add_argument("--older", action="store_true", help="use the layout's variant for older kernels; with --spec")
    make.set_defaults(run=_generate)

    check = commands.add_parser("fresh", help="fail if generated/ or the schema differs from what the generator writes")
    check.set_defaults(run=_fresh)

    schema = commands.add_parser("schema", help="write spec/layout.schema.json")
    schema.set_defaults(run=_schema)
    return parser


def version() -> str:
    """Returns the version of Stepwise, such as `0.1.0`."""
    return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"])


# --- Protocols and their files -------------------------------------------------------------------------


def protocols() -> list[str]:
    """Returns the names of the folders of spec/ that have a layout.yaml."""
    return sorted(entry.parent.name for entry in SPEC.glob("*/layout.yaml"))


def _chosen(name: str | None) -> list[str]:
    known = protocols()
    if name in (None, "all"):
        return known
    if name not in known:
        raise UserError(
            f"there is no protocol {name!r}: spec/ has {', '.join(known)}; a protocol is a folder with a layout.yaml"
        )
    return [name]


def files_of(name: str) -> dict[str, str]:
    """Generates the files of the protocol in spec/<name>; the layout must give it the folder's name."""
    return generate(_protocol(name))


def _protocol(name: str) -> Protocol:
    return load(SPEC / name, name=name)


def _copy(spec: Path, override: Source | dict[str, Any] | None) -> Protocol:
    """Compiles the protocol in any folder; a copy may have another name than its protocol."""
    if not (spec / "layout.yaml").is_file():
        raise UserError(f"cannot generate from {spec}: it has no layout.yaml, so it is not a protocol")
    return load(spec, override)


def _older_override(spec: Path) -> dict[str, Any]:
    older = older_of(spec) if (spec / "layout.yaml").is_file() else None
    if older is None:
        raise UserError(
            f"{spec}/layout.yaml has no variant for older kernels; add the key `older` (docs/how-to/kernels.md)"
        )
    return override_of(older)


def _read_override(path: Path | None) -> Source | None:
    if path is None:
        return None
    errors = Errors()
    text = text_of(path, str(path), errors)
    found = parse(text, str(path), errors, "the override", "constants:") if text is not None else None
    errors.raise_if_any()
    return found


# --- Commands --------------------------------------------------------------------------------------------


def _generate(options: argparse.Namespace) -> int:
    if (options.spec is None) != (options.out is None):
        return _usage("--spec and --out go together")
    if options.spec is not None and options.protocol is not None:
        return _usage("give a PROTOCOL or --spec, not both")
    if options.override is not None and options.spec is None:
        return _usage("--override goes with --spec and --out: files in generated/ are never overridden")
    if options.older and (options.spec is None or options.override is not None):
        return _usage("--older goes with --spec and --out, and without --override")
    if options.spec is not None:
        override = _older_override(options.spec) if options.older else _read_override(options.override)
        made = _copy(options.spec, override)
        _write_all(options.out, generate(made))
        print(_costs(made))
        return 0
    chosen = {name: _protocol(name) for name in _chosen(options.protocol)}
    files = {name: generate(made) for name, made in chosen.items()}
    for name, made in chosen.items():
        _write_all(GENERATED / name, files[name])
        print(_costs(made))
    EDITOR.parent.mkdir(exist_ok=True)
    _write(EDITOR, editor_settings())
    return 0


def _costs(protocol: Protocol) -> str:
    """Returns a line with the estimated cost of each program of the kernel, and its budget."""
    budgets = dict(protocol.budgets)
    costs = ", ".join(
        f"{round(instructions, -2):,} in {program} (budget {budgets[program].insns:,})"
        for program, instructions in estimates(protocol).items()
    )
    return f"{protocol.name}: instructions that the verifier will follow, estimated: {costs}"


def _usage(message: str) -> int:
    print(f"error: {message}; see `python -m codegen generate --help`", file=sys.stderr)
    return 2


def _write_all(folder: Path, files: dict[str, str]) -> None:
    """Writes the files that changed, and removes those that only an earlier generator made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        _write(folder / name, text)
    for stale in _strays(folder, files):
        stale.unlink()
        print(f"removed {_shown(stale)}")


def _strays(folder: Path, files: dict[str, str]) -> list[Path]:
    """Finds generated files that no longer belong to the protocol. Other files of the folder are left alone."""
    if not folder.is_dir():
        return []
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name not in files and b"Generated by Stepwise from " in path.read_bytes()[:400]:
            found.append(path)
    return found


def _write(path: Path, text: str) -> None:
    """Writes a file only if its text differs. Otherwise the file keeps its time, and make does not rebuild."""
    if path.is_file() and path.read_text() == text:
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    print(f"wrote {_shown(path)}")


def _shown(path: Path) -> str:
    resolved = path.resolve()
    return str(resolved.relative_to(REPOSITORY) if resolved.is_relative_to(REPOSITORY) else path)


def _schema(_: argparse.Namespace) -> int:
    _write(SCHEMA, json_schema())
    return 0


def editor_settings() -> str:
    """Returns the settings of Visual Studio Code: the folders of TLA+ modules, relative to the one of any module.

    A module is two folders deep, or three if it is in a room.
    """
    names = protocols()
    folders = [
        "spec/lib",
        *(f"spec/{name}" for name in names),
        *(f"spec/{name}/model" for name in names),
        *(f"generated/{name}" for name in names),
    ]
    paths = [f"{up}/{folder}" for up in ("../..", "../../..") for folder in folders]
    return json.dumps({"tlaplus.moduleSearchPaths": paths}, indent=2) + "\n"


def _fresh(_: argparse.Namespace) -> int:
    """Compares the committed files with the generator's, without writing."""
    stale, repairs = False, []
    for name in protocols():
        files = files_of(name)
        folder = GENERATED / name
        differing = [_difference(folder / each, text) for each, text in files.items()]
        differing += [
            f"{_shown(path)} is left over: the generator does not write it" for path in _strays(folder, files)
        ]
        if any(differing):
            repairs.append(f"python -m codegen generate {name}")
        for difference in filter(None, differing):
            print(difference)
    unknown = sorted(entry.name for entry in GENERATED.iterdir() if entry.is_dir() and entry.name not in protocols())
    for name in unknown:
        print(f"generated/{name} belongs to no protocol of spec/")
        repairs.append(f"rm -r generated/{name}")
    for path, text, repair in (
        (SCHEMA, json_schema(), "python -m codegen schema"),
        (EDITOR, editor_settings(), "python -m codegen generate"),
    ):
        if difference := _difference(path, text):
            print(difference)
            repairs.append(repair)
    stale = bool(repairs)
    if stale:
        print(f"error: committed files differ from the generator's; run: {' && '.join(repairs)}", file=sys.stderr)
    return int(stale)


def _difference(path: Path, text: str) -> str:
    if not path.is_file():
        return f"{_shown(path)} is missing"
    lines = difflib.unified_diff(
        path.read_text().splitlines(),
        text.splitlines(),
        f"{_shown(path)} (committed)",
        f"{_shown(path)} (generated)",
        "",
        "",
        2,
        "",
    )
    return "\n".join(lines)
