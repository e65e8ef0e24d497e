"""Shared parts of the commands: clean ends after an interrupt, checks of privileges, and numbers in words."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from codegen.broken_pipe import read_or_left

CAPABILITY_NUMBERS = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
IN_SYS_ADMIN = ("CAP_BPF", "CAP_PERFMON")
PROGRAMS = ("CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN")
NAMESPACES = ("CAP_SYS_ADMIN", *PROGRAMS)

Item = TypeVar("Item")
Result = TypeVar("Result")

_children: set[subprocess.Popen[Any]] = set()
_children_guard = threading.RLock()  # a signal's handler may run while its thread holds it
_ending = threading.Event()


class NotPrivileged(RuntimeError):
    """The process lacks a privilege that the command needs; the message says which."""


# --- Interrupts and child processes -------------------------------------------------------------


@contextlib.contextmanager
def child(process: subprocess.Popen[Any]) -> Iterator[subprocess.Popen[Any]]:
    """Kills a process at the end of the block unless it has exited, so it never outlives this process."""
    with _children_guard:
        _children.add(process)
        if _ending.is_set():
            _kill(process)
    try:
        yield process
    finally:
        with _children_guard:
            _children.discard(process)
        _kill(process)
        process.wait()


def _kill(process: subprocess.Popen[Any]) -> None:
    """Kills a process, with its whole group if it leads one."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def end_children() -> None:
    """Kills the children that threads wait for, which an interrupt does not reach.

    This process is about to exit, so a child that is started from now on is killed at once.
    """
    with _children_guard:
        _ending.set()
        for process in _children:
            _kill(process)


def side_by_side(run_one: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """Runs a function on each item, as many at a time as there are workers. Yields each result when it is there.

    If one raises, or the caller is interrupted, no other is started, and the children of those that run are killed.
    """
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(run_one, item) for item in items]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_children()
            raise


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Kills the children at once: the exception may have to wait for threads on its way out."""
    end_children()
    signal.default_int_handler(number, frame)


def run(name: str, main: Callable[[], int]) -> int:
    """Runs a command's main().

    SIGINT, SIGTERM and a reader that closes the pipe cause no traceback and leave no child behind.
    """
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # background jobs of a shell ignore it
        signal.signal(signal.SIGINT, _interrupt)
    try:
        with read_or_left():
            return main()
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except NotPrivileged as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 2
    finally:
        end_children()


# --- Privileges ---------------------------------------------------------------------------------


def need(capabilities: tuple[str, ...], doing: str) -> None:
    """Raises NotPrivileged unless the process has all capabilities. doing: the purpose, after `cannot`."""
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    effective = int(found[1], 16) if found else 0

    def has(name: str) -> bool:
        names = (name, "CAP_SYS_ADMIN") if name in IN_SYS_ADMIN else (name,)
        return any(effective >> CAPABILITY_NUMBERS[each] & 1 for each in names)

    missing = [name for name in capabilities if not has(name)]
    if missing:
        raise NotPrivileged(f"cannot {doing}: this process lacks {', '.join(missing)}; run it as root")


# --- Words --------------------------------------------------------------------------------------


def counted(number: int, noun: str) -> str:
    """Puts a number before its noun: `1 model`, `2 models`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
