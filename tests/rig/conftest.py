"""Compiles the BPF objects that these tests load, once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def bpf_object(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("bpf")

    def compiled(name: str) -> Path:
        target = folder / f"{name}.bpf.o"
        if not target.exists():
            machine = subprocess.run(
                ["gcc", "-print-multiarch"], capture_output=True, text=True, check=True
            ).stdout.strip()
            subprocess.run(
                [
                    "clang-19",
                    "-target",
                    "bpf",
                    "-O2",
                    "-g",
                    "-mcpu=v3",
                    "-Wall",
                    "-Werror",
                    f"-I/usr/include/{machine}",
                    "-c",
                    str(HERE / f"{name}.bpf.c"),
                    "-o",
                    str(target),
                ],
                check=True,
            )
        return target

    return compiled
