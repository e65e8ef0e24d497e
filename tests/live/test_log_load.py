"""Runs many clients of the log at once: everything that was acknowledged is recovered.

The daemon is killed, and there is little room for waiting requests.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from harness import histories
from harness.fuzz.kill import kill_under_load
from harness.histories import NEVER, Operation
from harness.live import plugin
from spec.log.live import recovery
from spec.log.live.recovery import Recovery, identity

LEAST = 1  # bytes of a receive buffer: the kernel makes the least of it that it gives


def test_killed_daemon_loses_nothing():
    report = kill_under_load("log", seconds=5, period_seconds=0.7)
    assert report.problems == []
    assert report.history.holds and report.kills >= 3
    assert report.load["faults"] > 0 and report.load["refused"] > 0 and report.load["died"] > 0
    assert 0.05 < report.rare_share < 1
    acknowledged = int(report.files.split()[0].replace(",", ""))
    assert acknowledged == report.load["operations"] - report.load["refused"] > 1000
    assert f"files                     {report.files}" in str(report)


def test_most_of_what_waits_for_the_disk_lost():
    report = kill_under_load("log", seconds=5, period_seconds=None, receive_buffer=LEAST, standstill_seconds=0.02)
    assert report.problems == []
    assert report.history.holds
    assert report.lost_share >= 0.3
    assert report.load["operations"] > 1000


class Forgetful(Recovery):
    """As if the files lacked what was acknowledged last."""

    def _read(self, entries):
        super()._read(list(entries)[:-1])


def test_a_record_that_is_not_in_the_files_is_found_out(monkeypatch):
    monkeypatch.setattr(plugin, "recovery", lambda _: Forgetful)
    report = kill_under_load("log", seconds=1, period_seconds=0.5)
    assert any("and is in no file" in problem for problem in report.problems), report.problems


# --- What is complained of ----------------------------------------------------------------------------


def entry(number: int, key: int, version: int, log: int = 0, transaction: int | None = None) -> dict[str, Any]:
    about = {
        "epoch": 1,
        "log": log,
        "number": number,
        "transaction": 100 * log + number if transaction is None else transaction,
    }
    return about | {"key": key, "version": version, "deletes": version == 3, "length": 2, "value": f"{version:04x}"}


ENTRIES = [entry(1, 5, 1), entry(1, 6, 1, log=1), entry(2, 5, 3), entry(3, 5, 2), entry(2, 6, 2, log=1), entry(4, 7, 1)]
ROWS = [
    {
        "key": str(each["key"]),
        "version": str(each["version"]),
        "deletes": str(each["deletes"]).lower(),
        "length": "2",
        "value": each["value"],
    }
    for each in (ENTRIES[2], ENTRIES[4], ENTRIES[5])
]


def told(number: int, **changes: Any) -> Operation:
    """The operation of an entry: begun at 10 times its place in the files, answered 5 later."""
    found, kind = ENTRIES[number], "Stored" if number % 2 else "Appended"
    operation = Operation(
        "1",
        str(256 + found["log"]),
        "append",
        str(identity(found)),
        f"{kind}:{found['number']}",
        10 * number,
        10 * number + 5,
    )
    return operation._replace(**changes)


OPERATIONS = [told(number) for number in range(6)]
OPEN = {"key": "0", "outcome": "-", "returned": NEVER}


def complaints(
    operations: list[Operation], entries: list[dict[str, Any]] = ENTRIES, rows: list[dict[str, str]] = ROWS
) -> list[str]:
    return Recovery(lambda: operations, entries).complaints(rows)


def test_right_files():
    assert complaints(OPERATIONS) == []
    nowhere = Operation("2", "0", "append", str(9 << 32), "Full", 5, 6)
    assert (
        complaints(
            [
                *OPERATIONS[:3],
                told(3, **OPEN),
                *OPERATIONS[4:],
                nowhere,
                nowhere._replace(argument=str(8 << 32), **OPEN),
            ]
        )
        == []
    )
    found = Recovery(lambda: OPERATIONS, ENTRIES)
    found.complaints(ROWS)
    assert found.summary == "6 acknowledged records are among 6 in the files; 3 keys recovered"


@pytest.mark.parametrize(
    "operations, complaint",
    [
        (
            [*OPERATIONS, told(5, argument=str(77 << 32))],
            "transaction 77 was answered Stored:4 of (1, 0, 4), and is in no file",
        ),
        (
            [*OPERATIONS[:5], told(5, outcome="Stored:5")],
            "transaction 4 was answered Stored:5 of (1, 0, 5), and is (1, 0, 4)",
        ),
        ([*OPERATIONS[:5], told(5, key="257")], "was answered Stored:4 of (1, 1, 4), and is (1, 0, 4)"),
        (
            [*OPERATIONS[:5], told(5, key="0", outcome="Full")],
            "transaction 4 was answered Full of None, and is (1, 0, 4)",
        ),
        (OPERATIONS[1:], "(1, 0, 1) has transaction 1, but no client asked for it"),
    ],
)
def test_wrong_answers(operations, complaint):
    found = complaints(operations)
    assert any(complaint in each for each in found), found


@pytest.mark.parametrize(
    "entries, complaint",
    [
        (ENTRIES[:-1], "was answered Stored:4 of (1, 0, 4), and is in no file"),
        (ENTRIES[1:], "a file has (1, 0, 2), but 1 is next there"),
        ([*ENTRIES, entry(5, 7, 1, transaction=4)], "transaction 4 is there twice: (1, 0, 4) and (1, 0, 5)"),
        ([*ENTRIES[:-1], ENTRIES[-1] | {"value": "0000"}], "was answered Stored:4 of (1, 0, 4), and is in no file"),
        ([*ENTRIES[:-1], ENTRIES[-1] | {"key": 8}], "no client asked for it"),
    ],
)
def test_wrong_entries(entries, complaint):
    found = complaints(OPERATIONS, entries)
    assert any(complaint in each for each in found), found


@pytest.mark.parametrize(
    "rows, complaint",
    [
        (ROWS[1:], "key 5 was not recovered"),
        ([*ROWS, ROWS[0] | {"key": "9"}], "key 9 was recovered as"),
        ([ROWS[0] | {"version": "2", "value": "0002", "deletes": "false"}, *ROWS[1:]], "key 5 was recovered as"),
        ([*ROWS, ROWS[0]], "but its newest record is None"),
    ],
)
def test_wrong_rows(rows, complaint):
    found = complaints(OPERATIONS, rows=rows)
    assert any(complaint in each for each in found), found


def test_what_files_tell_of_those_who_were_not_answered(tmp_path: Path):
    """A number was given before the one behind it was answered, the last one before all was over. A record that is
    in no file never existed.
    """
    operations = [
        told(0),
        told(1),
        told(2, **OPEN),
        told(3),
        told(4),
        told(5, **OPEN),
        told(0, argument=str(7 << 32), **OPEN),
    ]
    found = Recovery(lambda: operations, ENTRIES)
    settled = list(found.settled(operations))
    assert settled == [
        told(0),
        told(1),
        told(2, outcome="Appended:2", returned=35),
        told(3),
        told(4),
        told(5, outcome="Appended:4", returned=51),
    ]
    history = tmp_path / "history.txt"
    histories.write(history, settled)
    assert histories.check("log", [history]).linearizable
    late = [told(2, call=36, **OPEN) if each.argument == operations[2].argument else each for each in operations]
    histories.write(history, found.settled(late))
    assert not histories.check("log", [history]).linearizable


def test_the_load_writes_the_same_of_a_record():
    found = ENTRIES[0]
    kept = bytes.fromhex("000000000000000100000000000000050000000100020001")
    assert identity(found) == 1 << 32 | zlib.crc32(kept)
    assert recovery.KEPT.size == 22
