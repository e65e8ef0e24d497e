"""Recovered rows reach the store, and clients find them there."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.data import row_files
from harness.data.row_files import Column
from harness.live.build import Build, build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.kv.live.client import Entry, KvCaller, KvSession, Outcome
from tests.live.conftest import connected

# Buckets of two ways, so that half of the rows go to their pages.
FEW_BUCKETS = {
    "types": {"client": "u3", "note": "u7"},
    "constants": {"Ways": 2, "PageSize": 16, "Lease": 1_000_000, "Sessions": 8, "SessionsOfPeer": 8, "Notes": 128},
    "tables": {
        "bucket": {"capacity": 8},
        "page": {"capacity": 64},
        "row": {"capacity": 16},
    },
}
KEYS = range(32)
COLUMNS = (
    Column("version", 4),
    Column("key", 8),
    Column("value", 16, opaque=True),
    Column("length", 1),
    Column("deletes", 1),
)


@pytest.fixture(scope="module")
def built() -> Build:
    return build("kv", FEW_BUCKETS)


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig("rst") as made:
        yield made


def row(key: int, version: int, value: bytes = b"", deletes: bool = False) -> dict[str, int | bytes]:
    return {"key": key, "version": version, "value": value, "length": len(value), "deletes": deletes}


def restore(rig: Rig, built: Build, content: bytes) -> subprocess.CompletedProcess[bytes]:
    return rig.server.run([str(built.daemon), "restore", "-", "--first"], input=content, capture_output=True)


def restored(rig: Rig, built: Build, content: bytes) -> str:
    done = restore(rig, built, content)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode()


def refused(rig: Rig, built: Build, content: bytes) -> str:
    done = restore(rig, built, content)
    assert done.returncode == 1
    return done.stderr.decode()


def shuffled(of: list[dict[str, int | bytes]], seed: int) -> bytes:
    random.Random(seed).shuffle(of)
    return row_files.encode(COLUMNS, of)


def test_clients_find_what_was_restored(rig, built):
    """In the bucket or in the page, and versions go on from there; a second time changes nothing."""
    first = shuffled([row(key, 3 + key, b"value %d" % key, deletes=key % 8 == 7) for key in KEYS], seed=1)
    assert f"Restored         {len(KEYS)}" in restored(rig, built, first)
    older = shuffled([row(key, 2, b"older") for key in KEYS if key % 8 != 7], seed=2)
    assert "Restored" not in restored(rig, built, older)
    restored(rig, built, first)
    with Server(rig, built) as server:
        assert "is loaded on" in refused(rig, built, first)
        server.start()
        assert any(entry["mark"] == "Held" for page in server.tables()["page"] for entry in page["spilled"])
        caller = KvCaller(KvSession(built.codec), connected(server))
        caller.open(random.Random(3), built.capacities["session"])
        for key in KEYS:
            there = None if key % 8 == 7 else Entry(3 + key, b"value %d" % key)
            assert caller.get(key) == there, key
        for key in KEYS:
            if key % 8 == 7:
                assert caller.insert(key, b"again").version > 3 + key
            else:
                assert caller.update(key, b"again") == Outcome("UPDATED", 4 + key)
        assert [caller.get(key).value for key in KEYS] == [b"again"] * len(KEYS)


def test_what_finds_no_room_is_said(rig, built):
    many = range(200)
    said = refused(rig, built, row_files.encode(COLUMNS, [row(key, 1, b"x") for key in many]))
    assert "NoRoom" in said and "rows were not restored" in said and "(key " in said


@pytest.mark.parametrize("cut", [0, 7, 31, 40, 32 + 5 * 48, -1])
def test_a_file_that_was_cut_short(rig, built, cut):
    whole = row_files.encode(COLUMNS, [row(key, 1, b"x") for key in KEYS])
    assert "cut short" in refused(rig, built, whole[:cut])


def without(name: str) -> tuple[Column, ...]:
    return tuple(column for column in COLUMNS if column.name != name)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (without("deletes"), "lacks field deletes"),
        ((*COLUMNS, Column("colour", 4)), "has a field colour"),
        ((*COLUMNS, Column("key", 8)), "has field key twice"),
        ((*without("value"), Column("value", 41, opaque=True)), "field value has 41 bytes there, but 40 in this build"),
        (
            (*without("version"), Column("version", 4, opaque=True)),
            "field version is bytes there, but a number in this build",
        ),
        ((*without("version"), Column("version", 8)), "field version has 8 bytes there, but 4 in this build"),
    ],
)
def test_rows_of_another_kind(rig, built, columns, problem):
    content = row_files.encode(columns, [row(1, 1, b"x") | {"colour": 7}])
    assert problem in refused(rig, built, content)
    assert not (Path(rig.bpffs) / "stepwise" / "kv").exists()


def test_a_file_of_something_else(rig, built):
    assert "is not a file of rows" in refused(rig, built, b"x" * 100)
    whole = bytearray(row_files.encode(COLUMNS, [row(1, 1, b"x")]))
    whole[8] = 9
    assert "version 9 of the format" in refused(rig, built, bytes(whole))


def test_a_file_that_was_damaged(rig, built):
    whole = bytearray(row_files.encode(COLUMNS, [row(1, 1, b"x"), row(2, 1, b"y")]))
    whole[-5] ^= 1
    assert "is damaged" in refused(rig, built, bytes(whole))
