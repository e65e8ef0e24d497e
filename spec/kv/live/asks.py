"""Defines what a client asks for that wants many keys, which are there: it gets them, or updates them. See asks.h."""

from __future__ import annotations

from typing import Any

from spec.kv.live.client import Entry, KvCaller, KvSession, Outcome, Wanted

Session, Caller = KvSession, KvCaller


def loads(count: int) -> list[Wanted]:
    """Operations to run before, so that all of the others succeed."""
    return [("INSERT", key, bytes(8)) for key in range(1, count + 1)]


def workloads(count: int) -> dict[str, list[list[Wanted]]]:
    """The turns of each workload. All of a turn may be asked for at once."""
    keys = range(1, count + 1)
    return {
        "gets": [[("GET", key, b"") for key in keys]],
        "updates": [[("UPDATE", key, key.to_bytes(8, "little")) for key in keys]],
    }


def is_right(wanted: Wanted, outcome: Any) -> bool:
    return isinstance(outcome, Entry) if wanted[0] == "GET" else isinstance(outcome, Outcome) and outcome.is_done
