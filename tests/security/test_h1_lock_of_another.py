"""H1: a client wrote and committed a key that another had locked.

It told the daemon, past XDP, that the lock was granted to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from harness.live.build import Build, build
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig
from spec.occ.live.client import OccCaller, OccSession
from tests.live.conftest import connected
from tests.security.strangers import TRANSACTIONS, WAYS, opened, past_xdp, strangers, wire

KEYS = range(1, 7)  # of one bucket
WAYS_OF_BUCKET = range(1, 5)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("thief") as made:
        yield made


@pytest.fixture(scope="module")
def built() -> Build:
    return build("occ", TRANSACTIONS)


@pytest.mark.parametrize("way", WAYS)
def test_a_thief_gets_nothing(server: Server, way: str) -> None:
    """Its own lock is on its way to the daemon. A forged packet has claimed before that it is granted, with each
    way of the bucket in turn.
    """
    codec, port = server.build.codec, server.build.protocol.port
    with connected(server) as one, connected(server) as other, wire(server.rig.client) as sending:
        holder = opened(server, OccCaller(OccSession(codec), one), 1)
        thief = opened(server, OccCaller(OccSession(codec), other), 2)
        for key in KEYS:
            assert holder.insert(key, b"first of %d" % key).is_done
        away = next(key for key in KEYS if key not in server.tables()["bucket"][0]["keys"])
        locked = next(key for key in KEYS if key != away)
        assert holder.lock(0, locked, holder.read_key(locked).lock_version, b"the holder's").kind.name == "GRANTED"

        before, session = strangers(server), thief.session
        for bucket_way in WAYS_OF_BUCKET:
            with server.standing_still():
                fields = {"sequence": session.sequence + 1, "secret": session.secret, "key": locked, "way": bucket_way}
                forged = codec.Message(kind=codec.Kind.GRANTED, client=session.number, **fields)
                for each in past_xdp(server.rig, forged.encode(), port, way):
                    sending.send(each)
                lock = session.lock(0, away, 99, b"the thief's", time.monotonic_ns())
                other.send(lock)
                wait_until(
                    lambda: server.tables()["session"][session.number]["state"] == "Forwarded",
                    5,
                    "the lock to be forwarded",
                )
            assert thief.call(lock).kind.name == "CONFLICT", "the version is another"
            assert thief.ask("COMMIT", 0, locked).kind.name == "REFUSED"
        if way != "a VLAN tag":  # that goes to an interface which nobody has made
            wait_until(lambda: strangers(server) - before == len(WAYS_OF_BUCKET), 5, "the strangers to be counted")

        assert holder.read_key(locked).value == b"first of %d" % locked, "nothing was written over the lock"
        assert holder.ask("COMMIT", 0, locked).kind.name == "COMMITTED"
        assert holder.get(locked).value == thief.get(locked).value == b"the holder's"
        others = [key for key in KEYS if key != locked]
        assert [holder.get(key).value for key in others] == [b"first of %d" % key for key in others]
