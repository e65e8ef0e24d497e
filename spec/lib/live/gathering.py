"""Gathers operations that are asked for at once, by several threads or by one, and asks for them in few messages.

While a message is on its way, further operations wait. The next message takes as many of them as it has room for.
Nothing else makes an operation wait. No timer runs, and one that is asked for alone goes out at once, by itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

W = TypeVar("W")


class Gatherer(Protocol[W]):
    """A caller whose messages may have several operations, such as LockCaller."""

    session: Any

    def key_of(self, wanted: W, /) -> int:
        """The key that an operation falls on. No two operations of a message have the same."""

    def ask(self, wanted: W, /) -> Any:
        """Ask for one operation, in a message of its own."""

    def gather(self, wanted: Sequence[W], /) -> Sequence[Any]:
        """Ask for several."""


@dataclass
class _Asked(Generic[W]):
    wanted: W
    outcome: Any = None
    error: BaseException | None = None
    is_done: bool = False


class Gathering(Generic[W]):
    """One session for several threads.

    A thread that finds no message on its way sends the next one, for all that wait, until its own operations are done.
    So it needs no thread of its own. Operations on one key keep the order in which they were asked for.
    """

    def __init__(self, caller: Gatherer[W]) -> None:
        self._caller = caller
        self._changed = threading.Condition()
        self._waiting: deque[_Asked[W]] = deque()
        self._is_sending = False

    def ask(self, wanted: W) -> Any:
        """Ask for one operation and return its outcome."""
        return self.ask_all([wanted])[0]

    def ask_all(self, wanted: Sequence[W]) -> list[Any]:
        """Ask for many operations at once and return the outcome of each.

        If a message fails, so do all operations in it, with its error. They may have been executed.
        """
        asked = [_Asked(each) for each in wanted]
        with self._changed:
            self._waiting += asked
            self._changed.wait_for(lambda: not self._is_sending or all(each.is_done for each in asked))
            is_sender = not all(each.is_done for each in asked)
            self._is_sending |= is_sender
        if is_sender:
            self._send_for(asked)
        for each in asked:
            if each.error is not None:
                raise each.error
        return [each.outcome for each in asked]

    def execute(self, part: Sequence[W]) -> Sequence[Any]:
        """Send one message, and return the outcomes of its operations."""
        return [self._caller.ask(part[0])] if len(part) == 1 else self._caller.gather(part)

    def _send_for(self, asked: Sequence[_Asked[W]]) -> None:
        try:
            while not all(each.is_done for each in asked):
                self._send_next()
        finally:
            with self._changed:
                self._is_sending = False
                self._changed.notify_all()

    def _send_next(self) -> None:
        with self._changed:
            part = self._taken()
        try:
            for each, outcome in zip(part, self.execute([each.wanted for each in part]), strict=True):
                each.outcome = outcome
        except BaseException as error:
            for each in part:
                each.error = error
            if not isinstance(error, Exception):
                raise
        finally:
            with self._changed:
                for each in part:
                    each.is_done = True
                self._changed.notify_all()

    def _taken(self) -> list[_Asked[W]]:
        """Take the operations of the next message: the first ones, and of each key the first only."""
        taken: dict[int, _Asked[W]] = {}
        kept: list[_Asked[W]] = []
        while self._waiting and len(taken) < self._caller.session.codec.OPERATIONS_MAX:
            each = self._waiting.popleft()
            key = self._caller.key_of(each.wanted)
            if key in taken:
                kept.append(each)
            else:
                taken[key] = each
        self._waiting.extendleft(reversed(kept))
        return list(taken.values())
