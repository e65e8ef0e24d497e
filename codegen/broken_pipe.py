"""Ends a command when the reader of its standard output has left."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def read_or_left() -> Iterator[None]:
    """Wraps a block that writes to standard output.

    Once the reader left, as `| head` does, it raises SystemExit with the shell's exit code for SIGPIPE.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # An error in the flush at the interpreter's exit could not be caught.
    except BrokenPipeError:
        if not _is_unread():
            raise  # Another pipe broke.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # The rest of the buffer goes there.
        raise SystemExit(128 + signal.SIGPIPE) from None


def _is_unread() -> bool:
    """Whether nobody reads standard output any more."""
    watched = select.poll()
    watched.register(sys.stdout, 0)  # poll reports an error even if no event is asked for.
    return any(events & select.POLLERR for _, events in watched.poll(0))
