"""Compiles the daemon's readers as libFuzzer targets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.base.protocols import BUILD, GENERATED, REPOSITORY
from harness.fuzz_targets.parsers.build import ParsersError, compile_target, stamped

HERE = Path(__file__).parent
FLAGS = (
    "-std=gnu11",
    "-O2",
    "-D_GNU_SOURCE",
    "-fsanitize=fuzzer",
    "-no-pie",
    "-fvisibility=hidden",
    f"-fsanitize-coverage-ignorelist={HERE / 'around.txt'}",
)


@dataclass(frozen=True)
class Target:
    """One reader.

    protocol: the protocol whose generated code is used.
    handles: whether that code is fuzzed itself.
    libraries: what the readers use.
    readers: the daemon's sources, in runtime/.
    small: limits so small that inputs of a few hundred bytes reach them.
    """

    name: str
    protocol: str
    readers: tuple[str, ...]
    small: tuple[str, ...] = ()
    handles: bool = False
    libraries: tuple[str, ...] = ()


TARGETS = {
    each.name: each
    for each in (
        Target(
            "segments",
            "log",
            (
                "base/crc32c",
                "base/files",
                "segments/recovery",
                "segments/segment_file",
                "segments/segments",
                "segments/segments_folder",
                "segments/segment_reader",
            ),
            ("-DCHUNK_BYTES=256", "-DSEGMENTS_FINDINGS_MAX=4"),
        ),
        Target("rows", "kv", ("base/crc32c", "segments/row_reader")),
        Target(
            "frames",
            "kv",
            ("net/xsk_endpoint", "net/frame_reply", "net/ring_endpoint"),
            handles=True,
            libraries=("-l:libxdp.a", "-lbpf"),
        ),
    )
}


def target_of(name: str) -> Target:
    """Returns the target of a name. Raises ParsersError."""
    if name not in TARGETS:
        raise ParsersError(f"there is no reader {name!r}; choose from {' and '.join(TARGETS)}")
    return TARGETS[name]


def folder(target: Target) -> Path:
    """The folder of a target, and of the files that a run leaves."""
    return BUILD / "readers" / target.name


def build(target: Target, into: Path, runtime: Path = REPOSITORY / "runtime") -> Path:
    """Returns the path of the target, compiled again if its sources have changed.

    runtime: its folder; tests name a copy. Raises ParsersError.
    """
    generated = GENERATED / target.protocol
    if not (generated / f"{target.protocol}_user.c").is_file():
        raise ParsersError(f"compiling the reader of {target.name}: run `just generate {target.protocol}` first")
    sources = [HERE / f"{target.name}.c", HERE / "quiet.c", *(runtime / f"{each}.c" for each in target.readers)]
    sources += [generated / f"{target.protocol}_user.c"] if target.handles else []
    made_of = [
        *sources,
        HERE / "holds.h",
        HERE / "around.txt",
        HERE / "build.py",
        *sorted(runtime.rglob("*.h")),
        *sorted(generated.glob("*.[ch]")),
    ]
    path = into / f"{target.name}-reader"
    with stamped(into, made_of) as is_current:
        if not is_current or not path.is_file():
            # No reader uses the compiled programs, so they are empty.
            skeleton = (
                f"static inline const void *{target.protocol}_bpf__elf_bytes(size_t *size)\n"
                "{\n\t*size = 0;\n\treturn size;\n}\n"
            )
            (into / f"{target.protocol}.skel.h").write_text(skeleton)
            include = [f"-I{each}" for each in (HERE, runtime, runtime / "abi", generated, into)]
            compile_target(
                f"reader of {target.name}",
                *FLAGS,
                *target.small,
                *include,
                *map(str, sources),
                *target.libraries,
                "-o",
                str(path),
            )
    return path
