"""Tests `just recover`: the records that a log drained to files reach the store, and clients find them there."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.protocols import REPOSITORY
from harness.live.build import Build, build
from harness.live.server import Server, wait_until
from harness.operate import recover
from harness.rig.netns import Rig
from spec.kv.live.client import Entry, KvCaller, KvSession
from spec.log.live.client import LogCaller, LogSession
from tests.live.conftest import connected

FEW_BUCKETS = {
    "types": {"client": "u3", "note": "u7"},
    "constants": {"PageSize": 16, "Lease": 1_000_000, "Sessions": 8, "SessionsOfPeer": 8, "Notes": 128},
    "tables": {
        "bucket": {"capacity": 8},
        "page": {"capacity": 64},
        "row": {"capacity": 16},
    },
}
KEYS = range(40)
VERSIONS = 30
WITH_DAEMONS = """
import sys
from pathlib import Path
from harness.operate import recover, service
recover.daemon = service.daemon = {"log": Path(sys.argv[1]), "kv": Path(sys.argv[2])}.__getitem__
raise SystemExit(recover.main([sys.argv[3], "--first"]))
"""


@pytest.fixture(scope="module")
def log() -> Build:
    return build(
        "log",
        {"constants": {"Lease": 1_000_000, "Sessions": 64, "SessionsOfPeer": 64}, "drain": {"segment_bytes": 65_536}},
    )


@pytest.fixture(scope="module")
def store() -> Build:
    return build("kv", FEW_BUCKETS)


def append_some(server: Server) -> dict[int, Entry | None]:
    """Records of each key, in any order, until all are in files; the newest of each, as the store has it."""
    generator, newest = random.Random(5), {}
    with connected(server) as connection:
        caller = LogCaller(LogSession(server.build.codec), connection)
        caller.open(generator, server.build.capacities["session"])
        records = [(key, version) for key in KEYS for version in range(1, VERSIONS + 1)]
        generator.shuffle(records)
        for key, version in records:
            deletes = version == VERSIONS and key % 8 == 7
            value = None if deletes else b"%d of %d" % (version, key)
            assert caller.append("DISK" if deletes else "MEMORY", key, version, value) is not None
            if version == VERSIONS:
                newest[key] = None if deletes else Entry(version, value)
    wait_until(lambda: server.status()["daemon"]["drain_records"] == len(records), 10, "all records to be drained")
    return newest


def rebuild(rig: Rig, log: Build, store: Build, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITH_DAEMONS, str(log.daemon), str(store.daemon), str(folder)]
    return rig.server.run(command, cwd=REPOSITORY, capture_output=True, text=True)


def damaged(folder: Path, copy: Path) -> Path:
    """A copy of a folder, of which one segment, and not the last, has a bit that is wrong. Returns that segment."""
    shutil.copytree(folder, copy)
    segment = min(copy.glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    return segment


def test_the_store_has_the_newest_of_each_key(log, store, tmp_path):
    """Corrupt files are named, and every whole record is restored nevertheless. A second time changes nothing."""
    with Rig("rec") as rig:
        with Server(rig, log) as server:
            server.start()
            newest = append_some(server)
            server.kill()
            segment = damaged(server.segments, tmp_path / "damaged")
            some = rebuild(rig, log, store, segment.parent)
            assert some.returncode == recover.EXIT_CORRUPT, some.stderr
            assert (
                segment.name in some.stderr
                and "Restored" in some.stderr
                and "some of the files are corrupt" in some.stderr
            )
            for _ in range(2):
                done = rebuild(rig, log, store, server.segments)
                assert done.returncode == 0 and f"{len(KEYS)} keys" in done.stderr, done.stderr
        with Server(rig, store) as server:
            server.start()
            with connected(server) as connection:
                caller = KvCaller(KvSession(store.codec), connection)
                caller.open(random.Random(1), store.capacities["session"])
                assert {key: caller.get(key) for key in KEYS} == newest


def test_the_store_is_meant_and_not_what_uses_its_tables():
    assert set(recover.able("restore")) >= {"kv", "occ"}
    assert recover.one(None, "restore", "--into", "cannot restore rows") == "kv"
    assert recover.one("occ", "restore", "--into", "cannot restore rows") == "occ"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--from", "lock"], "spec/lock/layout.yaml has no `recover`; these can: log"),
        (["nowhere", "--into", "log"], "spec/log/layout.yaml has no `restore`"),
        (["nowhere", "--into", "nosuch"], "there is no protocol 'nosuch'"),
    ],
)
def test_what_cannot_be_recovered(arguments, said, capfd):
    assert recover.main(arguments) == 1
    assert said in capfd.readouterr().err
