"""Runs a protocol on a rig's server end: starts and kills its daemon, and reads its tables and counters."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from codegen.ir.types import Type
from harness.data.btf import Shapes
from harness.data.cells import cell_codecs
from harness.data.hash_seed import Seed
from harness.live.build import Build
from harness.live.counts import Counts
from harness.live.plugin import LiveError
from harness.rig.bpf import Map
from harness.rig.netns import Rig

READY_SECONDS_MAX = 20


class _Plain:
    """Leaves opaque bytes and wide integers as they are in memory; conformance puts patterns in their place."""

    @staticmethod
    def real(_kind: Type, value: int) -> int:
        return value

    model = real


class Server:
    """The protocol on `rig.server`, in native XDP. Use it as a context manager, which stops the daemon at exit.

    receive_buffer: size of the daemon's socket buffers in bytes; None leaves the choice to the daemon.
    seed: the seed of the tables' hashes, for a run that must repeat; if it is None, the loader draws one.
    segments: the folder that the daemon drains to, or None without a drain. It is removed at exit.
    """

    def __init__(self, rig: Rig, build: Build, receive_buffer: int | None = None, seed: Seed | None = None) -> None:
        self.rig = rig
        self.build = build
        self.receive_buffer = receive_buffer
        self.seed = seed if build.protocol.hashes else None
        # Beside the build, because the run directory of a rig is not on a disk, and a sync of it would take no time.
        self.segments = build.directory / f"segments-{rig.name}" if build.protocol.drain else None
        self.counts = Counts(build.protocol)
        self.kill_count = 0
        self.away_seconds_max = 0.0
        self._killed_at = 0.0
        self._daemon: subprocess.Popen[str] | None = None
        self._stands_still = False
        self._said: list[str] = []
        # The codecs use only the methods that _Plain has, but their type names the patterns of conformance.
        self._codecs = cell_codecs(build.protocol, Shapes(build.programs), _Plain())  # type: ignore[arg-type]
        codecs = self._codecs
        # Most cells are as they were when they were last looked at.
        self._unpack = lru_cache(maxsize=4096)(lambda table, element: codecs[table].unpack(element))
        self._maps: dict[str, Map] = {}

    def __enter__(self) -> Server:
        self.load()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._daemon_does(["unload", self.rig.server.iface])
        self._forget_maps()
        self._remove_segments()

    # --- The daemon ---------------------------------------------------------------------------

    def load(self, first: bool = True) -> None:
        """Attach the programs, and give the codec the seed by which they find cells.

        first: whether no client relies on what earlier tables granted, so that the new ones may grant at once.
        """
        options = ["--first"] if first else []
        options += [] if self.seed is None else ["--seed", str(self.seed)]
        self._daemon_must(
            ["load", self.rig.server.iface, *options], f"loading {self.build.name} on {self.rig.server.iface}"
        )
        if self.build.protocol.hashes:
            self.build.codec.seed = self.tables_seed()  # type: ignore[attr-defined] # the module is generated

    def tables_seed(self) -> Seed:
        """The seed of the pinned tables. The protocol must hash a field."""
        return Seed(*struct.unpack("=3Q", self._map("state/seed").lookup(0)))

    def unload(self) -> None:
        """Detach the programs; the tables stay, with their content."""
        self._daemon_must(
            ["unload", self.rig.server.iface], f"unloading {self.build.name} from {self.rig.server.iface}"
        )

    def purge(self) -> None:
        """Remove the tables with their content. The programs must be detached, and the daemon must have stopped."""
        self._daemon_must(["purge"], f"removing the tables of {self.build.name}")
        self._forget_maps()

    def _daemon_does(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return self.rig.server.run([str(self.build.daemon), *command], capture_output=True, text=True)

    def _daemon_must(self, command: list[str], doing: str) -> None:
        done = self._daemon_does(command)
        if done.returncode != 0:
            raise LiveError(f"{doing} failed: {done.stderr.strip()}")

    @property
    def is_running(self) -> bool:
        return self._daemon is not None and self._daemon.poll() is None

    @property
    def is_serving(self) -> bool:
        """Whether the daemon runs and is not suspended."""
        return self.is_running and not self._stands_still

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """Suspend the daemon during a block, so that requests wait in its sockets. If the block fails, it is killed."""
        daemon = self._started
        os.kill(daemon.pid, signal.SIGSTOP)
        self._stands_still = True
        try:
            wait_until(lambda: process_state(daemon.pid) == "T", READY_SECONDS_MAX, "the daemon to stand still")
            yield
        except BaseException:
            if self.is_running:
                self.kill()  # else it would serve the waiting requests in the middle of the next test
            raise
        finally:
            self._stands_still = False
            if self.is_running:  # not killed meanwhile
                os.kill(self.pid, signal.SIGCONT)

    @property
    def _started(self) -> subprocess.Popen[str]:
        """The last daemon, even if it has stopped. Raises LiveError if none was started."""
        if self._daemon is None:
            raise LiveError(f"no daemon of {self.build.name} has been started")
        return self._daemon

    @property
    def pid(self) -> int:
        return self._started.pid

    def start(self) -> None:
        """Start the daemon and wait until it serves."""
        command = [str(self.build.daemon), "serve"]
        if self.segments is not None:
            command += ["--segments", str(self.segments)]
        if self.receive_buffer is not None:
            command += ["--receive-buffer", str(self.receive_buffer)]
        daemon = self.rig.server.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._daemon = daemon
        output, errors = _pipes(daemon)
        ready, _, _ = select.select([output], [], [], READY_SECONDS_MAX)
        line = output.readline() if ready else ""
        if not line.startswith("READY"):
            daemon.kill()
            error = errors.read().strip()
            raise LiveError(
                f"the daemon of {self.build.name} did not get ready: {error or line or 'it printed nothing'}"
            )
        if self.kill_count:
            self.away_seconds_max = max(self.away_seconds_max, time.monotonic() - self._killed_at)

    def kill(self) -> None:
        """Kill the daemon with SIGKILL, and wait until it is gone."""
        self._killed_at = time.monotonic()
        self._end(signal.SIGKILL)
        self.kill_count += 1

    def stop(self) -> None:
        """Stop the daemon with SIGTERM, as an administrator would."""
        if self.is_running:
            self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        daemon = self._started
        os.kill(daemon.pid, number)
        daemon.wait()
        self._listen()
        for pipe in _pipes(daemon):
            pipe.close()
        if daemon in self.rig.server.processes:
            self.rig.server.processes.remove(daemon)

    def _listen(self) -> None:
        """Record the daemon's output on stderr since the last call."""
        _, errors = _pipes(self._started)
        os.set_blocking(errors.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            if words := os.read(errors.fileno(), 1 << 16).decode():
                self._said.append(f"{self.pid}: {words.strip()}")

    def status(self) -> dict[str, Any]:
        """The answer of the daemon's `status` command."""
        command = [str(self.build.daemon), "status", "--json"]
        done = self.rig.server.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise LiveError(f"asking for the status of {self.build.name} failed: {done.stderr.strip()}")
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def evidence(self) -> str:
        """The present state of the last daemon and its interface, to help find out why nothing was answered."""
        daemon = self._started
        there = f"in state {process_state(daemon.pid)}" if self.is_running else f"ended with {daemon.returncode}"
        self._listen()
        link = self.rig.server.run(
            ["ip", "-s", "link", "show", self.rig.server.iface], capture_output=True, text=True
        ).stdout
        packets = self.rig.server.run(["ethtool", "-S", self.rig.server.iface], capture_output=True, text=True).stdout
        return (
            f"the daemon is {there}, has counted {self.status()['daemon']}, the programs {dict(self.counters())}; "
            f"away for {self.away_seconds_max:.2f} s at most; the daemons said {self._said[-3:]}; "
            f"load average {os.getloadavg()[0]:.1f}; {' '.join((link + packets).split())}"
        )

    # --- Drained files ------------------------------------------------------------------------

    def _remove_segments(self) -> None:
        if self.segments is not None:
            shutil.rmtree(self.segments, ignore_errors=True)

    def entries(self, folder: Path | None = None) -> Iterator[dict[str, Any]]:
        """Every record in the segments, or in those of another folder, in the order in which they were written.

        Raises LiveError if a segment is corrupt.
        """
        lines = self._said_of_segments("segments", folder, "--json", "--entries")
        for line, _ in itertools.pairwise(lines):  # a report follows the last entry
            yield json.loads(line)

    def rows(self, folder: Path | None = None) -> Iterator[dict[str, str]]:
        """The rows that recovery makes of the segments: for each key, the fields of its row as text."""
        for line in self._said_of_segments("recover", folder, "--text"):
            yield dict(word.split("=", 1) for word in line.split())

    def _said_of_segments(self, command: str, folder: Path | None, *options: str) -> Iterator[str]:
        """A command's output, one line at a time, because a long load has hundreds of megabytes of it."""
        folder = folder or self.segments
        argv = [str(self.build.daemon), "--quiet", command, str(folder), *options]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            output, errors = _pipes(process)
            yield from output
            complaint = errors.read().strip()
        if process.returncode != 0:
            raise LiveError(f"{command} of {folder} ended with {process.returncode}: {complaint}")

    # --- Tables and counters ------------------------------------------------------------------

    def _forget_maps(self) -> None:
        for each in self._maps.values():
            os.close(each.fd)
        self._maps.clear()

    def _map(self, pin: str) -> Map:
        if pin not in self._maps:
            self._maps[pin] = Map.pinned(Path(self.rig.bpffs) / "stepwise" / self.build.name / pin)
        return self._maps[pin]

    def counters(self) -> Counter[str]:
        """Every counter that is not zero, summed over the CPUs."""
        values = self._map("build/counters").lookup_on_each_cpu(0)
        total: Counter[str] = Counter()
        for index, name in enumerate(self.counts.names):
            total[name] = sum(int.from_bytes(value[8 * index : 8 * index + 8], "little") for value in values)
        return +total

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """All cells of all tables. Call it only if the tables are small."""
        return {name: [self.cell(name, index) for index in range(self.build.capacities[name])] for name in self._codecs}

    def cell(self, table: str, index: int) -> dict[str, Any]:
        element = self._map(f"state/tables/{table}").lookup(index)
        return dict(self._unpack(table, element))

    def table_bytes(self) -> int:
        """Memory of all tables, as the kernel accounts it."""
        names = os.listdir(Path(self.rig.bpffs) / "stepwise" / self.build.name / "state/tables")
        return sum(self._memory_bytes(name) for name in names)

    def _memory_bytes(self, table: str) -> int:
        information = Path(f"/proc/self/fdinfo/{self._map(f'state/tables/{table}').fd}").read_text(encoding="ascii")
        found = re.search(r"^memlock:\s*(\d+)", information, re.MULTILINE)
        if found is None:
            raise LiveError(
                f"asking how much memory the table {table} takes: the kernel does not report it (no memlock)"
            )
        return int(found[1])

    def write(self, table: str, index: int, cell: dict[str, Any]) -> None:
        """Put a value into a cell."""
        self._map(f"state/tables/{table}").update(index, self._codecs[table].pack(cell))

    def clear(self) -> None:
        """Make all cells blank again.

        If the tables are drained, the daemon is killed first, and the next one starts with an empty folder.
        """
        if self.segments is not None:
            if self.is_running:
                self._end(signal.SIGKILL)
            self._remove_segments()
        for table, capacity in self.build.capacities.items():
            pinned = self._map(f"state/tables/{table}")
            for index in range(capacity):
                pinned.update(index, bytes(pinned.value_size))


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    """The stdout and stderr of a process that was started with both as pipes."""
    assert process.stdout is not None and process.stderr is not None, "they are pipes"
    return process.stdout, process.stderr


def process_state(pid: int) -> str:
    """The letter of a process's state in /proc: T if it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]


def wait_until(condition: Any, seconds: float, doing: str) -> None:
    """Poll until the condition holds. Raises LiveError if it does not hold in time."""
    end = time.monotonic() + seconds
    pause = 0.0001
    while not condition():
        if time.monotonic() > end:
            raise LiveError(f"waited {seconds} s in vain for {doing}")
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
