"""Runs conformance of mutants in a warm process, which has everything ready that does not depend on the mutant.

The command keeps one warm process for each protocol. It has imported everything, and holds what the protocol's
campaigns share. It forks for each mutant, so that whatever a mutant loads into memory or into the kernel is gone when
its process stops.

    the command ── control ── the warm process of a protocol
                                 ├── a leader ── the campaign ── make, clang, ...
                                 └── a leader ── ...

A leader receives its request and sends its answer over a connection of its own. It leads a process group, and kills
this whole group when the campaign is done, when its connection is closed, or when the warm process is gone. So nothing
is left over, whichever of the other processes is killed.

    python -m harness.mutants.conform_worker PROTOCOL SCRATCH CONTROL

SCRATCH is the folder of the first mutant. CONTROL is the number of a socket.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import IO, Any, NoReturn

from harness.base import command
from harness.base.protocols import REPOSITORY, SPEC
from harness.conform import __main__ as conform
from harness.conform.campaign import Campaign
from harness.conform.campaign_cache import Shared
from harness.mutants.scratch import TIMEOUT_SECONDS, Scratch, work_of
from harness.tla import tlc

LAST_WORDS_SECONDS = 10


class WarmError(RuntimeError):
    """A warm process stopped unexpectedly."""


# --- The command's side -------------------------------------------------------------------------


class Warm:
    """The warm processes of a command. Each starts when it is first needed.

    Any thread may use this object. It is a context manager, which stops the processes at exit.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._controls: dict[str, socket.socket] = {}
        self._running = contextlib.ExitStack()

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def conform(
        self, protocol: str, arguments: list[str], scratch: Scratch, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run harness.conform with these arguments, as scratch.run() does, but with the repository's own checker."""
        control = self._control(protocol, scratch)
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                socket.send_fds(control, [b"\0"], [theirs.fileno()])
            ours.sendall(json.dumps({"arguments": arguments, "folder": str(scratch.root)}).encode() + b"\n")
            ours.settimeout(timeout_seconds)
            try:
                answer = _received(ours)
            except TimeoutError:
                _end(ours)
                raise subprocess.TimeoutExpired(arguments, timeout_seconds) from None
        if not answer:
            raise WarmError(f"the process in which mutants of {protocol} are run has ended")
        return subprocess.CompletedProcess(arguments, **json.loads(answer))

    def _control(self, protocol: str, scratch: Scratch) -> socket.socket:
        with self._guard:
            if protocol not in self._controls:
                ours, theirs = socket.socketpair()
                arguments = [protocol, str(scratch.root), str(theirs.fileno())]
                with theirs:
                    process = subprocess.Popen(
                        [sys.executable, "-m", __name__, *arguments],
                        cwd=REPOSITORY,
                        env=scratch.environment(),
                        pass_fds=[theirs.fileno()],
                        stdin=subprocess.DEVNULL,
                        start_new_session=True,
                    )
                self._running.enter_context(command.child(process))
                self._controls[protocol] = self._running.enter_context(ours)
            return self._controls[protocol]


def _received(connection: socket.socket) -> bytes:
    """Everything that arrives until the other side is closed."""
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def _end(connection: socket.socket) -> None:
    """Have the leader kill its group, and wait for that, so that no process still writes into the mutant's folder."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(LAST_WORDS_SECONDS)
    with contextlib.suppress(TimeoutError):
        _received(connection)


# --- The warm process's side --------------------------------------------------------------------


def serve(protocol: str, root: Path, control: socket.socket) -> None:
    """Fork for every connection that arrives, until the command is gone."""
    shared = _made_ready(protocol, root)
    gc.collect()
    gc.freeze()  # otherwise a collection in a child would touch, and so copy, all of this memory
    life, alive = os.pipe()
    while True:
        message, received, *_ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        with socket.socket(fileno=received[0]) as connection:
            connection.set_inheritable(False)
            if os.fork() == 0:
                control.close()
                os.close(alive)
                _lead(connection, life, shared)


def _made_ready(protocol: str, root: Path) -> Shared | None:
    """Prepare what campaigns share. Returns None if that fails: a mutant's own campaign then reports the same error.

    The files go to a folder of their own, which no mutant's campaign uses. Only TLC's results go to the folder of the
    first mutant.
    """
    try:
        tlc.version()
        shared = Shared(SPEC / protocol)
        Campaign(shared.spec, root / "build/warm" / protocol, shared=shared).make_ready(
            work_of(root, protocol) / "oracle"
        )
        return shared
    except conform.ERRORS:
        return None


def _lead(connection: socket.socket, life: int, shared: Shared | None) -> NoReturn:
    """Have a child run the campaign. Then kill the whole group: the child, all that it started, and this process."""
    os.setsid()
    try:
        with connection.makefile("r") as lines:
            asked = json.loads(lines.readline())
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            campaign = os.fork()
            if campaign == 0:
                _run(asked, shared, out, err)
            done = os.pidfd_open(campaign)
            waited: list[int | socket.socket] = [done, connection, life]
            if done in select.select(waited, [], [])[0]:
                code = os.waitstatus_to_exitcode(os.waitpid(campaign, 0)[1])
                answer = {"returncode": code, "stdout": _text(out), "stderr": _text(err)}
                connection.sendall(json.dumps(answer).encode())
    except Exception:
        traceback.print_exc()
    finally:
        os.killpg(0, signal.SIGKILL)
    raise AssertionError("killed")


def _run(asked: dict[str, Any], shared: Shared | None, out: IO[bytes], err: IO[bytes]) -> NoReturn:
    """Run the command harness.conform, as if it had been started by itself."""
    code = 1
    try:
        os.dup2(out.fileno(), sys.stdout.fileno())
        os.dup2(err.fileno(), sys.stderr.fileno())
        os.chdir(asked["folder"])
        code = command.run("conform", lambda: conform.main(asked["arguments"], shared))
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])))
