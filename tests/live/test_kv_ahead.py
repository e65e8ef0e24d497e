"""Tests the store's second program: it takes packets whose bucket was not seen lately."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.live.build import Build, build
from harness.live.server import Server
from harness.rig import bpf
from harness.rig.netns import Rig
from spec.kv.live.client import Entry, Outcome
from spec.lib.live.session_client import NotServed

# Three keys for each way, and room for all of them in any one page.
FEW_BUCKETS = {
    "types": {"client": "u3", "note": "u7"},
    "constants": {"Ways": 1, "PageSize": 16, "Lease": 1_000_000, "Sessions": 8, "SessionsOfPeer": 8, "Notes": 128},
    "tables": {
        "bucket": {"capacity": 4},
        "page": {"capacity": 4},
        "row": {"capacity": 1},
    },
}
KEYS = range(12)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("kva") as made:
        yield made


@pytest.fixture(scope="module")
def built() -> Build:
    return build("kv", FEW_BUCKETS)


@pytest.fixture(autouse=True)
def statistics() -> Iterator[None]:
    with bpf.statistics():
        yield


def runs(server: Server) -> dict[str, int]:
    """How often each of the two programs has run."""
    pins = Path(server.rig.bpffs) / "stepwise" / "kv" / "build" / "programs"

    def count(name: str) -> int:
        command = ["bpftool", "--json", "prog", "show", "pinned", str(pins / name)]
        return json.loads(server.rig.server.run(command, capture_output=True, check=True).stdout).get("run_cnt", 0)

    return {name: count(name) for name in ("kv_xdp", "kv_ahead")}


def test_both_programs_answer(server, caller):
    """Spilled and found keys reach the daemon by a ring buffer from one program, and by a socket from the other."""
    for key in KEYS:
        assert caller.insert(key, b"first of %d" % key) == Outcome("INSERTED", 1)
    for key in KEYS:
        assert caller.update(key, b"second of %d" % key) == Outcome("UPDATED", 2)
    assert [caller.get(key) for key in KEYS] == [Entry(2, b"second of %d" % key) for key in KEYS]
    ran = runs(server)
    assert 0.25 < ran["kv_ahead"] / ran["kv_xdp"] < 0.75
    assert server.status()["daemon"]["malformed"] == 0


def test_long_values_are_not_put_off(server, caller):
    """Their requests go whole: by the ring buffer they would arrive without what is behind the fields."""
    before = runs(server)["kv_ahead"]
    for key in KEYS[:4]:
        assert caller.insert(key, b"%d" % key * 500) == Outcome("INSERTED", 1)
    assert runs(server)["kv_ahead"] == before
    assert [caller.get(key) for key in KEYS[:4]] == [Entry(1, b"%d" % key * 500) for key in KEYS[:4]]


def test_without_the_daemon(server, caller):
    """The second program goes on with what needs nobody; what needs the daemon is lost there once, and refused by the
    stack then.
    """
    for key in KEYS:
        assert caller.insert(key, b"%d" % key) == Outcome("INSERTED", 1)
    here = [cell["keys"][0] for cell in server.tables()["bucket"] if cell["marks"][0] != "Empty"]
    away = next(key for key in KEYS if key not in here)
    server.kill()
    before = runs(server)["kv_ahead"]
    for key in here * 4:
        assert caller.get(key) == Entry(1, b"%d" % key)
    assert runs(server)["kv_ahead"] > before
    for _ in range(4):
        with pytest.raises(NotServed):
            caller.get(away)
    server.start()
    assert caller.get(away) == Entry(1, b"%d" % away)
