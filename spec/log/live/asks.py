"""Defines what a client asks for that appends many records to memory. See asks.h."""

from __future__ import annotations

from typing import Any

from spec.log.live.client import Content, LogCaller, LogSession, Place

Session, Caller = LogSession, LogCaller


def loads(_count: int) -> list[Content]:
    """Operations to run before: none."""
    return []


def workloads(count: int) -> dict[str, list[list[Content]]]:
    """The turns of each workload. All of a turn may be asked for at once."""
    return {"appends": [[Content(key, 1, key.to_bytes(8, "little")) for key in range(1, count + 1)]]}


def is_right(_wanted: Content, outcome: Any) -> bool:
    return isinstance(outcome, Place)
