"""Compiles all that a benchmark of one protocol runs, for the sizes in the protocol's bench.py."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from codegen.layout.folders import used_folders
from harness.base.protocols import BENCH, BUILD, REPOSITORY, RUNTIME_INCLUDE, SPEC
from harness.builds.make import BuildError, make
from harness.builds.program_variants import form_for, merged

HERE = Path(__file__).resolve().parent


class BenchError(RuntimeError):
    """The benchmark cannot be run; the message says why."""


@dataclass(frozen=True)
class Client:
    """A program that sends requests, with the maps of client.bpf.h.

    port: the server's. payload_size: bytes of a message.
    """

    path: Path
    port: int
    payload_size: int


@dataclass(frozen=True)
class Build:
    """The compiled files of one protocol.

    plugin: spec/<protocol>/bench/bench.py. codec: the generated Python codec, for the benchmark's sizes.
    home: the build folder.
    counter_names: in the order of the map `counters`. include: folders of headers.
    """

    protocol: str
    plugin: ModuleType
    codec: ModuleType
    home: Path
    counter_names: list[str]
    server_object: Path
    client: Client
    reflector_object: Path
    udp_server: Path
    daemon: Path
    poll_queues: Path
    frames_object: Path
    frames_server: Path
    include: list[Path]


def has_benchmark(protocol: str) -> bool:
    return all((SPEC / protocol / BENCH / name).exists() for name in ("bench.py", "bench.h"))


def build(
    protocol: str, variant: str = "", override: dict[str, Any] | None = None, programs_only: bool = False
) -> Build:
    """Generate and compile; files that are up to date stay as they are.

    variant: the name of another build of the same protocol. override: changes to the layout, on top of the
    benchmark's sizes.
    programs_only: compile nothing for userspace. The daemon and the kernel-UDP server are then missing.
    """
    plugin = load_module(f"bench_of_{protocol}", SPEC / protocol / BENCH / "bench.py")
    spec = SPEC / protocol
    home = BUILD / "bench" / (f"{protocol}-{variant}" if variant else protocol)
    generated = home / "generated"
    generated.mkdir(parents=True, exist_ok=True)
    override_file = home / "override.yaml"
    override_file.write_text(
        yaml.safe_dump(merged(form_for(spec).laid_over, plugin.OVERRIDE, override or {})), encoding="utf-8"
    )
    _run([sys.executable, "-m", "codegen", "generate", "--spec", spec, "--out", generated, "--override", override_file])
    made = ["bpf"] if programs_only else ["all", "frames"]
    try:
        make(protocol, generated, home, *made, doing=f"building {home.name} for benchmarks")
    except BuildError as error:
        raise BenchError(str(error)) from None
    include = [*(folder / BENCH for folder in (spec, *used_folders(spec))), generated, *RUNTIME_INCLUDE]
    codec = load_module(f"bench_codec_of_{home.name.replace('-', '_')}", generated / f"{protocol}_codec.py")
    return Build(
        protocol=protocol,
        plugin=plugin,
        codec=codec,
        home=home,
        counter_names=counter_names(generated / f"{protocol}.h"),
        server_object=home / f"{protocol}.bpf.o",
        client=Client(compile_bpf(HERE / "client.bpf.c", home, include), codec.PORT, codec.WIRE_SIZE),
        reflector_object=compile_bpf(HERE / "reflector.bpf.c", home, include),
        udp_server=home / f"{protocol}-udp",
        daemon=home / f"{protocol}d",
        poll_queues=compile_poll_queues(home),
        frames_object=compile_bpf(HERE / "frames.bpf.c", home, include),
        frames_server=home / f"{protocol}-frames",
        include=include,
    )


def gathering_client(of: Build, operations: int) -> Client:
    """Compile a client whose messages have so many operations each."""
    home = of.home / f"gathered-{operations}"
    program = compile_bpf(HERE / "client.bpf.c", home, of.include, defines=[f"-DBENCH_OPERATIONS={operations}"])
    return Client(program, of.codec.PORT, of.codec.WIRE_SIZE + operations * of.codec.OPERATION_SIZE)


def compile_bpf(
    source: Path, target: Path, include: list[Path], requests: str | None = None, defines: Sequence[str] = ()
) -> Path:
    """Compile <name>.bpf.c to <target>/bench_<name>.bpf.o, with the benchmark's own headers.

    requests: the header that defines the slots' requests; bench.h by default.
    """
    target.mkdir(parents=True, exist_ok=True)
    compiled = target / f"bench_{source.name.removesuffix('.c')}.o"
    machine = _run(["gcc", "-print-multiarch"]).strip()
    flags = ["-target", "bpf", "-O2", "-g", "-mcpu=v3", "-Wall", "-Wextra", "-Werror", f"-I{HERE}"]
    flags += [f"-I{folder}" for folder in include] + ["-idirafter", f"/usr/include/{machine}"]
    flags += [*defines, *([f'-DBENCH_REQUESTS="{requests}"'] if requests else [])]
    _run(["clang-19", *flags, "-c", source, "-o", compiled])
    return compiled


def compile_poll_queues(target: Path) -> Path:
    """Compile the program that polls several queues, for harness/bench/poller.py."""
    compiled = target / "poll_queues"
    _run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", HERE / "poll_queues.c", "-o", compiled])
    return compiled


def counter_names(header: Path) -> list[str]:
    """Read the counters' names from the generated header's `#define <PROTOCOL>_COUNTER_NAMES { "...", ... }`."""
    found = re.search(r"_COUNTER_NAMES \{(.*?)\}", header.read_text(encoding="utf-8"), re.DOTALL)
    if not found:
        raise BenchError(f"{header} does not list the names of its counters")
    return re.findall(r'"([^"]+)"', found[1])


def load_module(name: str, path: Path) -> ModuleType:
    """Load a Python file that does not belong to a package."""
    if not path.exists():
        raise BenchError(f"{path} does not exist")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BenchError(f"loading {path}: Python cannot import it; its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module there
    spec.loader.exec_module(module)
    return module


def _run(command: list[object]) -> str:
    argv = list(map(str, command))
    try:
        done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise BenchError(f"cannot run {argv[0]}: it is not installed; run ./bootstrap") from None
    if done.returncode != 0:
        raise BenchError(f"{' '.join(argv)} failed:\n{(done.stderr or done.stdout).strip()}")
    return done.stdout
