"""H6: unload, purge and load gave away what clients of the earlier tables still relied on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from harness.live.server import Server
from harness.rig.netns import Rig
from tests.security import locks

LEASE = 15  # ticks: 2 s


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig("h6") as made:
        yield made


def made_anew(server: Server, *options: str) -> str:
    """The tables go and come back, and the daemon with them; what `load` says."""
    server.stop()
    for words in (["unload", server.rig.server.iface], ["purge"]):
        assert locks.command(server.rig, server.build, *words).returncode == 0
    loaded = locks.command(server.rig, server.build, "load", server.rig.server.iface, *options)
    assert loaded.returncode == 0, loaded.stderr
    server.start()
    return loaded.stderr


def test_a_held_lock_is_nobody_elses_for_a_lease(rig: Rig) -> None:
    with (
        locks.serving(rig, locks.built(Lease=LEASE)) as server,
        locks.caller(server) as holder,
        locks.caller(server) as other,
    ):
        assert locks.opened(holder, 1, patience_seconds=9).acquire(7, "EXCLUSIVE")
        made_anew(server)
        assert locks.opened(other, 2, patience_seconds=9).acquire(7, "EXCLUSIVE")
        granted_ns = other.now_ns()
        assert granted_ns > holder.session.lease_end_ns, "the lock was another's while its holder relied on it"
        assert holder.session.beliefs(granted_ns) == {}


def test_load_says_how_long_nothing_is_granted(rig: Rig) -> None:
    with locks.serving(rig, locks.built(Lease=LEASE)) as server, locks.caller(server) as client:
        began = time.monotonic()
        said = made_anew(server)
        waits = re.search(r"the tables are new, .* the server promises nothing for another (\d\.\d) s", said)
        assert waits, said
        assert float(waits[1]) <= (LEASE + 1) * server.build.codec.TICK_NS / 1e9 + 0.1
        locks.opened(client, 1)
        assert time.monotonic() - began > float(waits[1]) - 0.1


def test_the_operator_may_know_that_nobody_relies_on_anything(rig: Rig) -> None:
    with locks.serving(rig, locks.built(Lease=75)) as server, locks.caller(server) as client:
        assert "the tables are new" not in made_anew(server, "--first")
        began = time.monotonic()
        locks.opened(client, 1)
        assert time.monotonic() - began < 2


def test_a_restart_of_the_daemon_changes_nothing(rig: Rig) -> None:
    """The moment is pinned with the tables: it is theirs, not the daemon's, nor that of the last load."""
    with locks.serving(rig, locks.built(Lease=LEASE)) as server, locks.caller(server) as client:
        made_anew(server)
        began = time.monotonic()
        locks.opened(client, 1)
        waited = time.monotonic() - began
        server.stop()
        server.unload()
        server.load(first=False)
        server.start()
        with locks.caller(server) as other:
            began = time.monotonic()
            locks.opened(other, 2)
            assert time.monotonic() - began < waited / 2
