"""Serves the store's reference over plain UDP."""

from __future__ import annotations

from typing import Any

from spec.kv.live.client import VERSIONED
from spec.kv.live.reference import Reference
from tests.live.plain_server import PlainServer


class PlainStore(PlainServer):
    """Answers as a store would whose cells are a dict."""

    reference: Reference

    def complete(self, answer: Any) -> None:
        kind, said = answer.kind.name, self.reference.accounts.get(answer.client)
        if said is not None and said.said is not None and kind in VERSIONED and said.sequence == answer.sequence:
            answer.version = said.said.version
        elif kind in VERSIONED | {"VALUE"}:
            answer.version = self.reference.version_of(kind, answer.key)
        if kind == "VALUE":
            stored, size = self.reference.entries[answer.key], self.codec.SLOT_SIZE
            answer.length, answer.value, answer.tail = stored.length, stored.value[:size], stored.value[size:]
