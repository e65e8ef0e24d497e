"""Tests operations of unknown outcome: they count if seen, and are left out if not.

The check gives no false alarm, and misses nothing.
"""

from __future__ import annotations

import pytest

from harness.histories.transactions import Anomaly, check

SETUP = """
1 1 write 11 Committed:1 0 10
1 2 write 21 Committed:1 0 10
1 0 end - Committed 0 10
"""

# An unknown transaction that locks keys 1 and 2, and key 3 as one that does not exist.
UNKNOWN = """
2 1 read 11 Value:1 20 25
2 1 lock - Granted:1 20 25
2 2 lock - Granted:1 20 25
2 3 lock - Granted 20 25
2 1 write 12 - 20 -
2 2 write 22 - 20 -
2 3 write 31 - 20 -
2 0 end - - 20 -
"""
UNLOCKED = """
2 1 write 12 - 20 -
2 0 end - - 20 -
3 1 write 13 - 20 -
3 0 end - - 20 -
"""
DELETIONS = """
2 1 delete - - 20 -
2 0 end - - 20 -
3 2 lock - Granted:1 20 25
3 2 delete - - 20 -
3 0 end - - 20 -
"""


def observer(name: int, operations: str, call: int = 40) -> str:
    """A transaction whose outcomes are all known. Operations are `key operation argument outcome`, with semicolons
    between.
    """
    lines = [f"{name} {operation.strip()} {call} {call + 5}" for operation in operations.split(";")]
    return "\n".join([*lines, f"{name} 0 end - Committed {call} {call + 5}", ""])


def judged(tmp_path, *parts: str):
    path = tmp_path / "history.txt"
    path.write_text("".join(parts))
    return check([path])


HOLD = {
    "not seen, and everything as before": (
        UNKNOWN,
        observer(9, "1 read 11 Value:1; 2 read 21 Value:1; 3 read - Missing"),
    ),
    "seen by its value": (UNKNOWN, observer(9, "1 read 12 Value:2; 2 read 22 Value:2; 3 read 31 Value:1")),
    "seen by its version": (UNKNOWN, observer(9, "1 lock - Granted:2; 1 write 13 Committed:3; 2 read 22 Value:2")),
    "not seen, and written over": (
        UNKNOWN,
        observer(9, "1 lock - Granted:1; 1 write 13 Committed:2; 2 read 21 Value:1"),
    ),
    "seen late, it was under way": (
        UNKNOWN,
        observer(8, "1 read 11 Value:1", 30),
        observer(9, "1 read 12 Value:2", 40),
    ),
    "its insertion was deleted": (
        UNKNOWN,
        observer(8, "1 read 12 Value:2; 3 read 31 Value:4; 3 lock - Granted:4; 3 delete - Committed:4", 30),
        observer(9, "3 read - Missing:4; 1 read 12 Value:2"),
    ),
    "its insertion was deleted by another that is not known": (
        UNKNOWN,
        "7 3 delete - - 20 -\n7 0 end - - 20 -\n",
        observer(9, "1 read 12 Value:2; 3 read - Missing:4"),
    ),
    "either of two": (UNLOCKED, observer(9, "1 lock - Granted:2; 1 write 14 Committed:3")),
    "both of two": (UNLOCKED, observer(8, "1 read 13 Value:2", 30), observer(9, "1 read 12 Value:3")),
    "versions that were not seen": (UNLOCKED, observer(9, "1 write 14 Committed:4")),
    "equal values": (
        UNLOCKED.replace("13", "12"),
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "1 read 12 Value:3"),
    ),
    "deletion that was seen": (DELETIONS, observer(9, "1 read - Missing:1; 2 read - Missing:3")),
    "deletion that was not": (DELETIONS, observer(9, "1 read 11 Value:1; 2 read 21 Value:1")),
    "deleted, and inserted again": (DELETIONS, observer(9, "2 read - Missing:4; 2 write 29 Committed:5")),
    "deletion without a version": (
        observer(9, "2 read 21 Value:1; 2 lock - Granted:1; 2 delete - Committed"),
        observer(10, "2 read - Missing:1", 50),
    ),
    "deletion of nothing": (
        observer(9, "3 read - Missing:2; 3 lock - Granted; 3 delete - Committed"),
        observer(10, "3 read - Missing:2", 50),
    ),
    "locked twice": (
        UNKNOWN.replace("2 1 write", "2 1 lock - Granted:1 20 25\n2 1 write"),
        observer(9, "1 read 12 Value:2; 2 read 22 Value:2"),
    ),
    "either of two, one of which writes another key": (
        UNLOCKED.replace("13", "12").replace("2 0 end", "2 2 lock - Granted:1 20 25\n2 2 write 22 - 20 -\n2 0 end"),
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "2 read 21 Value:1"),
    ),
    "either of two deletions, one of which writes another key": (
        UNLOCKED.replace("write 12", "delete -")
        .replace("write 13", "delete -")
        .replace("2 0 end", "2 2 lock - Granted:1 20 25\n2 2 write 22 - 20 -\n2 0 end"),
        observer(8, "1 read - Missing:1", 30),
        observer(9, "2 read 21 Value:1"),
    ),
    "updated, seen, and deleted": (
        UNLOCKED.replace("write 13", "delete -"),
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "1 read - Missing:5"),
    ),
    "one of two insertions was deleted": (
        UNKNOWN,
        "3 2 write 29 Committed:3 20 30\n3 3 lock - Granted 20 25\n3 3 write 31 - 20 -\n3 0 end - - 20 -\n",
        observer(7, "1 read 12 Value:2; 3 read 31 Value:4; 3 delete - Committed:4", 30),
        observer(9, "3 read - Missing:4; 1 read 12 Value:2"),
    ),
    "no answer at all": ("2 1 read - - 20 -\n2 1 lock - - 20 -\n2 0 end - - 20 -\n",),
}

REFUSED = {
    "half of it, by value": (Anomaly.READ_SKEW, UNKNOWN, observer(9, "1 read 12 Value:2; 2 read 21 Value:1")),
    "half of it, later": (
        Anomaly.REAL_TIME,
        UNKNOWN,
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "2 read 21 Value:1"),
    ),
    "half of it, without the insertion": (
        Anomaly.READ_SKEW,
        UNKNOWN,
        observer(9, "1 read 12 Value:2; 3 read - Missing:9"),
    ),
    "half of it, without the insertion, later": (
        Anomaly.REAL_TIME,
        UNKNOWN,
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "3 read - Missing:9"),
    ),
    "half of it was told": (
        Anomaly.REAL_TIME,
        UNKNOWN.replace("2 1 write 12 - 20 -", "2 1 write 12 Committed:2 20 30"),
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "2 read 21 Value:1"),
    ),
    "either of two, and then neither": (
        Anomaly.REAL_TIME,
        UNLOCKED.replace("13", "12"),
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "1 read 11 Value:1"),
    ),
    "its version is another's": (
        Anomaly.VERSION_TWICE,
        UNKNOWN,
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "2 lock - Granted:1; 2 write 29 Committed:2"),
    ),
    "seen before it began": (Anomaly.REAL_TIME, UNKNOWN, observer(9, "1 read 12 Value:2", 12)),
    "seen, and gone": (
        Anomaly.REAL_TIME,
        UNLOCKED,
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "1 read 11 Value:1"),
    ),
    "seen with two versions": (
        Anomaly.INTERMEDIATE_READ,
        UNLOCKED,
        observer(8, "1 read 12 Value:2", 30),
        observer(9, "1 read 12 Value:3"),
    ),
    "seen with a version that it cannot have": (
        Anomaly.THIN_AIR,
        UNKNOWN,
        observer(8, "1 lock - Granted:1; 1 write 19 Committed:2", 30),
        observer(9, "1 read 12 Value:3"),
    ),
    "its deletion, and not another's, was seen": (
        Anomaly.REAL_TIME,
        DELETIONS,
        observer(7, "2 lock - Granted:1; 2 write 22 Committed:2", 30),
        "4 2 lock - Granted:2 40 45\n4 2 delete - - 40 -\n4 1 lock - Granted:1 40 45\n4 1 write 19 - 40 -\n4 0 end - - "
        "40 -\n",
        observer(8, "2 read - Missing:2", 60),
        observer(9, "1 read 11 Value:1", 70),
    ),
    "its reading was of a value that nobody wrote": (
        Anomaly.THIN_AIR,
        UNKNOWN.replace("read 11", "read 99"),
        observer(9, "2 read 22 Value:2"),
    ),
    "deleted by another, after it was missing": (
        Anomaly.REAL_TIME,
        DELETIONS,
        observer(8, "2 read - Missing:1", 30),
        observer(9, "2 delete - Committed:1", 60),
    ),
    "deleted twice": (
        Anomaly.VERSION_TWICE,
        DELETIONS.replace("3 2 delete", "3 1 write 14 Committed:2 20 30\n3 2 delete"),
        observer(9, "2 delete - Committed:1", 60),
    ),
    "locked as absent, and deleted": (Anomaly.LOST_UPDATE, observer(9, "2 lock - Granted; 2 delete - Committed:1")),
    "deletion by a transaction that has another lock": (
        Anomaly.THIN_AIR,
        DELETIONS,
        observer(8, "2 lock - Granted:1; 2 write 22 Committed:2", 30),
        observer(9, "2 read - Missing:2"),
    ),
}


@pytest.mark.parametrize("name", HOLD)
def test_holds(name, tmp_path):
    verdict = judged(tmp_path, SETUP, *HOLD[name])
    assert verdict.serializable and verdict.anomaly is None, verdict.text


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name, tmp_path):
    anomaly, *parts = REFUSED[name]
    verdict = judged(tmp_path, SETUP, *parts)
    assert verdict.anomaly == anomaly, verdict.text


def test_the_verdict_says_how_many_were_not_known(tmp_path):
    seen = judged(tmp_path, SETUP, UNKNOWN, observer(9, "1 read 12 Value:2"))
    assert seen.text.endswith(
        "3 transactions with 10 operations on 3 keys; of 1 the outcome was not known, 1 of these were seen"
    )
    unseen = judged(tmp_path, SETUP, UNKNOWN, observer(9, "1 read 11 Value:1"))
    assert unseen.text.endswith("of 1 the outcome was not known, 0 of these were seen")


def test_what_is_its_own_is_no_step(tmp_path):
    """It has read that the key is missing itself, before it inserted it."""
    own = UNKNOWN.replace("2 3 lock", "2 3 read - Missing 20 25\n2 3 lock")
    over = observer(8, "1 lock - Granted:2; 1 write 13 Committed:3")
    verdict = judged(tmp_path, SETUP, own, over, observer(9, "1 read 13 Value:3; 3 read - Missing:9"))
    assert verdict.text.splitlines()[1:] == [
        "  transaction 9 -rw-> transaction 2: key 3: "
        "the one read no value after version 9, the other wrote an unknown version",
        "  transaction 2 -ww-> transaction 8: key 1: the one wrote version 2, the other wrote version 3",
        "  transaction 8 -wr-> transaction 9: key 1: the one wrote version 3, the other read version 3",
    ]


def test_one_tells_of_the_next(tmp_path):
    """Only the last of a row of unknown transactions is seen; each has locked what the one before wrote."""
    length = 50
    row = "".join(
        f"{name} 1 lock - Granted:{name - 1} 20 25\n{name} 1 write {name + 1000} - 20 -\n{name} 0 end - - 20 -\n"
        for name in range(2, length + 2)
    )
    last = observer(99, f"1 read {length + 1001} Value:{length + 1}")
    verdict = judged(tmp_path, SETUP, row, last)
    assert verdict.serializable and verdict.text.endswith(
        f"of {length} the outcome was not known, {length} of these were seen"
    )
    assert judged(tmp_path, SETUP, row, last, observer(100, "1 read 11 Value:1", 60)).anomaly == Anomaly.REAL_TIME
