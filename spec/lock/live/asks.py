"""Defines what a client asks for that wants many locks: it acquires all, and then releases all. See asks.h."""

from __future__ import annotations

from typing import Any

from spec.lock.live.client import LockCaller, LockSession, Wanted

Session, Caller = LockSession, LockCaller


def loads(_count: int) -> list[Wanted]:
    """Operations to run before, so that all of the others succeed."""
    return []


def workloads(count: int) -> dict[str, list[list[Wanted]]]:
    """The turns of each workload. All of a turn may be asked for at once."""
    locks = range(1, count + 1)
    return {"acquire and release": [[(lock, "SHARED") for lock in locks], [(lock, None) for lock in locks]]}


def is_right(_wanted: Wanted, outcome: Any) -> bool:
    return outcome is True
