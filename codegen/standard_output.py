"""How a command ends when nobody reads what it says."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def read_or_left() -> Iterator[None]:
    """For a block that writes to standard output: SystemExit with what the shell makes of SIGPIPE once its
    reader left, as `| head` does.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, and not when the interpreter ends, where nothing can be caught
    except BrokenPipeError:
        if not _is_unread():
            raise  # another pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in the buffer
        raise SystemExit(128 + signal.SIGPIPE) from None


def _is_unread() -> bool:
    """Whether nobody reads standard output any more."""
    watched = select.poll()
    watched.register(sys.stdout, 0)  # for what is told unasked, which an error is
    return any(events & select.POLLERR for _, events in watched.poll(0))
