"""Conformance of mutants from a process in which all is ready that does not depend on the mutant.

The command keeps one process for each protocol, which has imported everything and has what the protocol's
campaigns share. For each mutant that process forks: what a mutant loads into memory or into the kernel ends
with it.

    the command ── control ── the warm process of a protocol
                                 ├── a leader ── the campaign ── make, clang, ...
                                 └── a leader ── ...

A leader is asked and answers over a connection of its own, and leads a process group, which it ends, with all that was
started in it, when the campaign is done, when its connection is closed, or when the warm process is gone: whichever of
the others is killed, nothing is left.

    python -m harness.mutants.warm PROTOCOL SCRATCH CONTROL

SCRATCH: of the first mutant. CONTROL: the number of a socket.
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

from harness import command, tlc
from harness.conform import __main__ as conform
from harness.conform.campaign import Campaign
from harness.conform.shared import Shared
from harness.mutants.scratch import TIMEOUT_SECONDS, Scratch, work_of
from harness.protocols import REPOSITORY, SPEC

LAST_WORDS_SECONDS = 10


class WarmError(RuntimeError):
    """A warm process ended when it should not have."""


# --- The command's side -------------------------------------------------------------------------


class Warm:
    """The warm processes of a command, each begun when it is first asked for. To be used from any thread, and
    closed.
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
        """As scratch.run() of harness.conform with these arguments, but with the repository's own checker."""
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
    """All that comes until the other side is closed."""
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def _end(connection: socket.socket) -> None:
    """Has the leader end its group, and waits for that, so that nobody is left who writes into the mutant's folder."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(LAST_WORDS_SECONDS)
    with contextlib.suppress(TimeoutError):
        _received(connection)


# --- The warm process's side --------------------------------------------------------------------


def serve(protocol: str, root: Path, control: socket.socket) -> None:
    """Forks for every connection that comes, until the command is gone."""
    shared = _made_ready(protocol, root)
    gc.collect()
    gc.freeze()  # else a collection in the child would touch, and so copy, all of it
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
    """None where it cannot be: a mutant's own campaign comes upon the reason too, and says it.

    What it writes stays where no mutant's campaign does; but that of the first one has what TLC has said.
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
    """Has a child run the campaign, and ends it with all that it started, and itself."""
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
    """The command harness.conform, as if it had been started by itself."""
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
