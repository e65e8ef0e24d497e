"""H5: a layout with another lease was loaded over live tables, and clients kept relying on their codec's lease.

There are two remedies. Tables of other constants are refused. After a purge, a client whose codec is of the old layout
gets an error before it relies on anything.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.rig.netns import Rig
from spec.lib.live.session_client import SessionError
from tests.security import locks


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig("h5") as made:
        yield made


def test_tables_of_another_lease_are_refused(rig: Rig) -> None:
    long, short = locks.built(Lease=75), locks.built(Lease=15)
    try:
        loaded = locks.command(rig, long, "load", rig.server.iface)
        assert loaded.returncode == 0, loaded.stderr
        assert locks.command(rig, long, "unload", rig.server.iface).returncode == 0
        refused = locks.command(rig, short, "load", rig.server.iface)
        assert refused.returncode == 1, "another lease was loaded over the tables"
        assert "are of another layout" in refused.stderr and "purge" in refused.stderr
        again = locks.command(rig, long, "load", rig.server.iface)
        assert again.returncode == 0, again.stderr
    finally:
        for each in (long, short):
            locks.command(rig, each, "unload", rig.server.iface)
            locks.command(rig, each, "purge")


def test_a_client_with_the_old_lease_is_told_so(rig: Rig) -> None:
    """It would rely on 9.6 s where the server ends its session after 2."""
    old, new = locks.built(Lease=75), locks.built(Lease=15)
    with locks.serving(rig, new) as server, locks.caller(server, old.codec) as client:
        with pytest.raises(SessionError, match="the server was built from another layout"):
            locks.opened(client, 1)
        assert not client.session.is_open and client.session.lease_end_ns == 0
        assert server.tables()["session"][client.session.number]["state"] == "Vacant"
        with locks.caller(server) as other:
            assert locks.opened(other, 1).acquire(7, "EXCLUSIVE")
