"""M7: an attacker cannot choose keys that share a cell.

Every load of fresh tables has its own seed, which stays as long as the tables do.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import pytest

from harness.data.model_values import MASK_64
from harness.live.build import Build, build
from harness.live.server import Server
from harness.rig.bpf import BpfError, Map
from harness.rig.netns import Rig
from spec.kv.live.client import Entry, KvCaller, KvSession
from tests.live.conftest import connected

SMALL = {"tables": {"bucket": {"capacity": 4096}, "page": {"capacity": 256}}}
WAYS, PAGE_SIZE = 4, 16
CHOSEN = 20230  # the key whose place the attacker wants


def mixed(key: int) -> int:
    """The finalizer of MurmurHash3, which everybody can compute: its upper half chose the bucket."""
    key = (key ^ key >> 33) * 0xFF51AFD7ED558CCD & MASK_64
    key = (key ^ key >> 33) * 0xC4CEB9FE1A85EC53 & MASK_64
    return key ^ key >> 33


def unmixed(mix: int) -> int:
    mix = (mix ^ mix >> 33) * pow(0xC4CEB9FE1A85EC53, -1, 2**64) & MASK_64
    mix = (mix ^ mix >> 33) * pow(0xFF51AFD7ED558CCD, -1, 2**64) & MASK_64
    return mix ^ mix >> 33


def attacking_keys() -> list[int]:
    """As many as a bucket and its page have room for, all in the bucket of the chosen one."""
    upper = mixed(CHOSEN) >> 32 << 32
    found = [unmixed(upper | lower) for lower in range(WAYS + PAGE_SIZE)]
    assert CHOSEN not in found and {mixed(key) >> 32 for key in found} == {mixed(CHOSEN) >> 32}
    return found


@contextlib.contextmanager
def calling(server: Server) -> Iterator[KvCaller]:
    """A client of a daemon that is started for it, and ends."""
    server.start()
    with connected(server) as connection:
        caller = KvCaller(KvSession(server.build.codec), connection, patient=True)
        caller.open(random.Random(1), server.build.capacities["session"])
        yield caller
    server.stop()


def seed_of_tables(server: Server) -> bytes:
    return pinned_seed(server).lookup(0)


def pinned_seed(server: Server) -> Map:
    return Map.pinned(f"{server.rig.bpffs}/stepwise/{server.build.name}/state/seed")


def test_twenty_chosen_keys_leave_room_for_another():
    built = build("kv", SMALL)
    with Rig("m7") as rig, Server(rig, built) as server:
        for _ in range(2):
            with calling(server) as attacker:
                assert {attacker.insert(key, b"mine").kind for key in attacking_keys()} == {"INSERTED"}
            with calling(server) as caller:
                assert caller.insert(CHOSEN, b"yours").kind == "INSERTED"
                assert caller.get(CHOSEN) == Entry(1, b"yours")
            server.unload()
            server.purge()
            server.load()


def store(caller: KvCaller, keys: range) -> None:
    for key in keys:
        assert caller.insert(key, b"%d" % key).is_done


def check(caller: KvCaller, keys: range) -> None:
    missing = [key for key in keys if (entry := caller.get(key)) is None or entry.value != b"%d" % key]
    assert missing == [], "not found again"


@pytest.fixture(scope="module")
def crowded() -> list[Build]:
    """Two builds of one layout, of whose keys some are in pages whatever the seed, and no page is full."""
    override = {"tables": {"bucket": {"capacity": 64}, "page": {"capacity": 4096}}}
    return [build("kv", override), build("kv", override, defines="")]


KEYS = range(1, 321)


def test_the_seed_stays_with_the_tables_and_goes_with_them(crowded):
    seeds = []
    with Rig("m7") as rig:
        for _ in range(2):
            with Server(rig, crowded[0]) as server:
                seeds.append(seed_of_tables(server))
                with calling(server) as caller:
                    store(caller, KEYS)
                server.unload()
                server.load()
                with calling(server) as caller:
                    check(caller, KEYS)
                assert seed_of_tables(server) == seeds[-1], "loaded again, the same build drew another one"
            with Server(rig, crowded[1]) as other:
                assert seed_of_tables(other) == seeds[-1], "another build drew another one"
                with calling(other) as caller:
                    check(caller, KEYS)
                    store(caller, range(1001, 1033))
                    check(caller, range(1001, 1033))
            other.purge()
    assert len(set(seeds)) == 2, "fresh tables have the seed of those before"


def test_programs_and_daemon_work_by_the_seed_that_is_pinned(crowded):
    """The programs and the daemon put a key where the codec computes it with that seed."""
    with Rig("m7") as rig, Server(rig, crowded[0]) as server:
        with calling(server) as caller:
            store(caller, KEYS)
        codec = server.build.codec
        found = {
            way
            for slot, bucket in enumerate(server.tables()["bucket"])
            for way in bucket["keys"]
            if way and codec.hash_slot(way) == slot
        }
        spilled = [
            (index, each)
            for index, page in enumerate(server.tables()["page"])
            for each in page["spilled"]
            if each["mark"] != "Vacant"
        ]
        assert found | {each["key"] for _, each in spilled} == set(KEYS) and len(spilled) >= len(KEYS) - 64 * WAYS
        for index, each in spilled:
            assert each["slot"] == codec.hash_slot(each["key"]) and index == codec.hash_home(each["slot"])
            assert each["bit"] == codec.hash_bit(each["key"])


def test_nobody_writes_the_seed(crowded):
    with Rig("m7") as rig, Server(rig, crowded[0]) as server, pytest.raises(BpfError, match="Operation not permitted"):
        pinned_seed(server).update(0, bytes(24))
