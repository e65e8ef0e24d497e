"""Tests transactions live: against the reference, under load with daemon kills, and after a client died with locks."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace

import pytest

from harness.fuzz.kill import kill_under_load
from harness.fuzz.run import play
from harness.histories import transactions
from harness.live import plugin
from harness.live.build import build
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig
from spec.occ.live import reference as occ
from spec.occ.live.client import OccCaller, OccSession
from tests.live.conftest import connected

VARIANTS = plugin.workload("occ").fuzz["variants"]


class Forgiving(occ.Reference):
    """Thinks that a lock asks for no version."""

    def _of_lock(self, message):
        outcomes = super()._of_lock(message)
        return {"GRANTED"} if outcomes == {"CONFLICT"} and self.holder(message.key) is None else outcomes


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_transactions_agree_with_the_reference(variant, monkeypatch):
    seen = Counter()

    class Listening(occ.Reference):
        def answered(self, message, answer):
            seen[answer.kind.name] += 1
            return super().answered(message, answer)

    monkeypatch.setattr(plugin, "reference", lambda _: SimpleNamespace(Reference=Listening, Actor=occ.Actor))
    wanted = (
        "GRANTED",
        "CONFLICT",
        "COMMITTED",
        "ABORTED",
        "REFUSED",
        "LOCKED",
        "VALUE",
        "MISSING",
        "FETCHED",
        "GATHERED",
    )
    for seed in range(100 * variant, 100 * variant + 10):  # what comes up is a matter of luck
        play("occ", VARIANTS[variant], 4, seed, examples=4)
        if all(seen[name] for name in wanted):
            break
    assert all(seen[name] for name in wanted), f"not every answer came: {seen}"


def test_wrong_reference_is_found_out(monkeypatch):
    monkeypatch.setattr(plugin, "reference", lambda _: SimpleNamespace(Reference=Forgiving, Actor=occ.Actor))
    with pytest.raises(AssertionError, match="answered CONFLICT, expected"):
        for seed in range(10):
            play("occ", VARIANTS[1], 4, seed, examples=10, shrink=False)


def test_killed_daemon_leaves_transactions_whole():
    report = kill_under_load("occ", seconds=4, period_seconds=0.7)
    assert report.problems == []
    assert report.history.holds and report.history.promise == "strictly serializable" and report.kills >= 3
    assert report.load["died"] > 0 and report.load["given_up"] > 0 and report.load["faults"] > 0
    assert report.load["read_back"] == report.load["read_back_due"] > 0
    assert 0.1 < report.rare_share < 1


@pytest.mark.parametrize("commits", [True, False])
def test_what_a_dead_client_has_locked_is_settled_by_the_sweep(commits):
    """All of it or nothing, and others may write it then; until then it is read as it was."""
    override = {**VARIANTS[1], "constants": {**VARIANTS[1]["constants"], "Lease": 4}}
    built = build("occ", override)
    with Rig("occ") as rig, Server(rig, built) as server, connected(server) as one, connected(server) as other:
        server.clear()
        server.start()
        doomed, heir = (OccCaller(OccSession(built.codec), connection, patient=True) for connection in (one, other))
        for seed, caller in enumerate((doomed, heir)):
            caller.open(random.Random(seed), built.capacities["session"])
        assert doomed.insert(1, b"old").is_done
        assert doomed.lock(0, 1, 1, b"new").kind.name == "GRANTED"
        assert doomed.lock(1, 2, 0, b"two").kind.name == "GRANTED"
        assert heir.update(1, b"mine").kind == "LOCKED" and heir.insert(2, b"mine").kind == "LOCKED"
        assert heir.read_key(1).locked and heir.get(1).value == b"old" and heir.get(2) is None
        if commits:
            assert doomed.ask("COMMIT", 1, 2).kind.name == "COMMITTED"
        heir.renew()

        def is_free() -> bool:
            heir.renew()
            return not heir.read_key(1).locked and not heir.read_key(2).locked

        wait_until(is_free, 15, "the sweep to settle what a dead client had locked")
        found = [heir.get(key) and heir.get(key).value for key in (1, 2)]
        assert found == ([b"new", b"two"] if commits else [b"old", None])
        assert heir.update(1, b"mine").is_done


# Found under load: key 7 came and went between the reading and the lock of transaction 3, which saw no difference.
CAME_AND_WENT = """\
1 7 lock - Granted 20 30
1 7 write 11 Committed:1 30 40
1 0 end - Committed 20 40
2 7 delete - Committed:1 50 60
2 0 end - Committed 50 60
3 7 lock - Granted 70 80
3 7 write 33 Committed:2 80 90
3 0 end - Committed 10 90
"""


def test_a_reading_of_what_is_missing_is_of_the_state_that_is_locked(tmp_path):
    """So the load leaves it out: with its floor it would be one of an earlier state."""
    history = tmp_path / "history.txt"
    history.write_text(CAME_AND_WENT)
    assert transactions.check([history]).serializable
    history.write_text("3 7 read - Missing 10 15\n" + CAME_AND_WENT)
    assert transactions.check([history]).anomaly == transactions.Anomaly.LOST_UPDATE
