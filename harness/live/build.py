"""Builds a protocol, as shipped or with an override of its layout."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from codegen import ir
from codegen.compile import load
from codegen.layout.folders import used_folders
from harness.base.folder_lock import alone
from harness.base.protocols import BUILD, LIVE, REPOSITORY, SPEC
from harness.builds.make import BuildError, make
from harness.builds.program_variants import form_for, merged
from harness.builds.protocol import build as build_shipped
from harness.live.plugin import LiveError, NotPlayed

FORGETFUL = "-DSTEPWISE_FORGETFUL"
"""Look-ahead puts off every other packet. Otherwise it would put off few, because small tables stay in the caches."""


@dataclass(frozen=True)
class Build:
    """A protocol, generated and compiled.

    directory: the folder of the daemon, the programs and all other build products.
    generated: the folder of the generated sources and codecs.
    """

    protocol: ir.Protocol
    directory: Path
    generated: Path

    @property
    def name(self) -> str:
        return self.protocol.name

    @property
    def daemon(self) -> Path:
        return self.directory / f"{self.name}d"

    @property
    def programs(self) -> Path:
        """The BPF object file."""
        return self.directory / f"{self.name}.bpf.o"

    @property
    def capacities(self) -> dict[str, int]:
        """Cells of each table."""
        return {table.name: table.capacity for table in self.protocol.tables}

    @functools.cached_property
    def codec(self) -> ModuleType:
        """The generated Python codec of this build."""
        path = self.generated / f"{self.name}_codec.py"
        spec = importlib.util.spec_from_file_location(f"{self.name}_codec_of_{self.directory.name}", path)
        if spec is None or spec.loader is None:
            raise LiveError(f"loading the codec {path}: Python cannot import it")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    def load_program(self) -> Path:
        """Compile harness/live/load.c with the protocol's workload, and return the program's path."""
        return self._compiled("load", "workload.h")

    def ask_program(self) -> Path:
        """Compile harness/live/ask.c with the protocol's operations, and return the program's path."""
        return self._compiled("ask", "asks.h")

    def _compiled(self, name: str, header: str) -> Path:
        if not (SPEC / self.name / LIVE / header).exists():
            raise LiveError(f"{self.name} has no {name}: spec/{self.name}/live/{header} does not exist")
        program = self.directory / name
        used = used_folders(SPEC / self.name)
        include = [
            "harness/live",
            *(folder / LIVE for folder in (SPEC / self.name, *used, SPEC / "lib")),
            self.generated,
            "runtime",
            "runtime/abi",
        ]
        command = ["gcc", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", *[f"-I{path}" for path in include]]
        partial = program.with_suffix(f".{os.getpid()}")  # another process may be running the old file
        _run([*command, "-o", str(partial), f"harness/live/{name}.c"], f"compiling the {name} of {self.name}")
        return partial.replace(program)


def build(protocol: str, override: Mapping[str, Any] | None = None, defines: str = FORGETFUL) -> Build:
    """Build a protocol; make does nothing if everything is up to date.

    defines: options for the compiler, used only in a build with an override.
    """
    spec = SPEC / protocol
    form = form_for(spec)
    if not override:
        try:
            generated = build_shipped(protocol)
        except BuildError as error:
            raise NotPlayed(str(error)) from None
        return Build(load(spec, form.laid_over or None), BUILD / protocol, generated)
    laid_over = merged(form.laid_over, override)
    text = yaml.safe_dump(laid_over, sort_keys=True)
    digest = hashlib.sha256(f"{defines}\n{text}".encode()).hexdigest()[:12]
    directory = BUILD / "variants" / f"{protocol}-{digest}"
    generated = directory / "generated"
    override_file = directory / "override.yaml"
    generate = [sys.executable, "-m", "codegen", "generate", "--spec", str(spec), "--out", str(generated)]
    with alone(directory):
        generated.mkdir(exist_ok=True)
        override_file.write_text(text)
        _run([*generate, "--override", str(override_file)], f"generating {protocol} with {override_file}")
        try:
            make(protocol, generated, directory, doing=f"building {protocol} with {override_file}", defines=defines)
        except BuildError as error:
            raise NotPlayed(str(error)) from None
    return Build(load(spec, laid_over), directory, generated)


def _run(command: list[str], doing: str) -> None:
    done = subprocess.run(command, check=False, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotPlayed(f"{doing} failed:\n{(done.stderr or done.stdout).strip()}")
