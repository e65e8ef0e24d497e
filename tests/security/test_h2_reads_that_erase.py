"""H2: gets that bypassed XDP claimed what the daemon would find, and erased other clients' keys."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from harness.live.build import Build, build
from harness.live.server import Server, wait_until
from harness.rig.netns import Rig
from spec.kv.live.client import KvCaller, KvSession
from spec.occ.live.client import OccCaller, OccSession
from tests.live.conftest import connected
from tests.security.strangers import OVERRIDES, opened, past_xdp, strangers, wire

KEYS = range(1, 7)
CALLERS = {
    "kv": lambda codec, one: KvCaller(KvSession(codec), one),
    "occ": lambda codec, one: OccCaller(OccSession(codec), one),
}


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Rig("erase") as made:
        yield made


@pytest.fixture(scope="module", params=CALLERS)
def built(request: pytest.FixtureRequest) -> Build:
    return build(request.param, OVERRIDES[request.param])


@pytest.mark.parametrize("way", ["options", "fragments", "hop-by-hop", "destination options"])
def test_every_key_stays(server: Server, way: str) -> None:
    codec, port = server.build.codec, server.build.protocol.port
    call = CALLERS[server.build.name]
    with connected(server) as one, connected(server) as other, wire(server.rig.client) as sending:
        owner, blind = opened(server, call(codec, one), 1), opened(server, call(codec, other), 2)
        for key in KEYS:
            assert owner.insert(key, b"first of %d" % key).is_done
        before = strangers(server)
        numbers = itertools.count(1)
        # Guesses: the bucket's epoch counts what was moved to its page.
        for bucket_way, victim, entry, epoch in itertools.product(range(1, 5), KEYS, range(1, 5), range(4)):
            session = blind.session
            forged = codec.Message(
                kind=codec.Kind.GET,
                client=session.number,
                sequence=next(numbers),
                secret=session.secret,
                key=1000 + entry,
                spot=1,
                found=True,
                evicts=True,
                way=bucket_way,
                victim=victim,
                entry=entry,
                epoch=epoch,
            )
            for each in past_xdp(server.rig, forged.encode(), port, way):
                sending.send(each)
        sent = next(numbers) - 1
        wait_until(lambda: strangers(server) - before == sent, 5, "the strangers to be counted")
        found = [owner.get(key) for key in KEYS]
        assert [entry and entry.value for entry in found] == [b"first of %d" % key for key in KEYS]
