"""Each anomaly is found, under its name, in a history that has it, and not in one that nearly has it."""

from __future__ import annotations

import pytest

from harness.histories.transactions import Anomaly, check


def history(text: str) -> str:
    """Makes a history of lines without call and return. All lines of a transaction get those of its end: `CALL
    RETURN` there, else 0 100.
    """
    lines = [line.split() for line in text.strip().splitlines()]
    times = {words[0]: words[5:] or ["0", "100"] for words in lines if words[2] == "end"}
    written = []
    for words in lines:
        call, returned = times[words[0]]
        written.append(" ".join([*words[:5], call, "-" if words[4] == "-" else returned]))
    return "\n".join(["# comment", "", *written]) + "\n"


def judged(text: str, tmp_path):
    path = tmp_path / "history.txt"
    path.write_text(history(text))
    return check([path])


SETUP = """
1 1 write 11 Committed:1
1 2 write 21 Committed:1
1 0 end - Committed 0 10
"""

# Name: anomaly, the history after SETUP, and what to change in both for one that holds: (old, new).
CASES = {
    "write cycle": (
        Anomaly.WRITE_CYCLE,
        """
        2 1 write 12 Committed:2
        2 2 write 23 Committed:3
        2 0 end - Committed
        3 1 write 13 Committed:3
        3 2 write 22 Committed:2
        3 0 end - Committed
        """,
        ("2 1 write 12 Committed:2", "2 1 write 12 Committed:3"),
        ("3 1 write 13 Committed:3", "3 1 write 13 Committed:2"),
    ),
    "aborted read": (
        Anomaly.ABORTED_READ,
        """
        2 1 lock - Granted:1
        2 1 write 12 -
        2 0 end - Aborted
        3 1 read 12 Value:2
        3 0 end - Committed
        """,
        ("2 0 end - Aborted", "2 0 end - -"),
    ),
    "aborted version locked": (
        Anomaly.ABORTED_READ,
        """
        2 1 lock - Granted:1
        2 1 write 12 -
        2 0 end - Aborted
        3 1 lock - Granted:2
        3 1 write 13 Committed:3
        3 0 end - Committed
        """,
        ("2 0 end - Aborted", "2 0 end - -"),
    ),
    "aborted deletion": (
        Anomaly.ABORTED_READ,
        """
        2 1 lock - Granted:1
        2 1 delete - -
        2 0 end - Aborted
        3 1 read - Missing:1
        3 0 end - Committed
        """,
        ("2 0 end - Aborted", "2 0 end - -"),
    ),
    "aborted, and told that it was committed": (
        Anomaly.ABORTED_READ,
        """
        2 1 write 12 Committed:2
        2 0 end - Aborted
        """,
        ("Aborted", "-"),
    ),
    "intermediate version": (
        Anomaly.INTERMEDIATE_READ,
        """
        2 1 write 12 Committed:2
        2 1 write 13 Committed:3
        2 0 end - Committed
        3 1 read 12 Value:2
        3 0 end - Committed
        """,
        ("3 1 read 12 Value:2", "3 1 read 13 Value:3"),
        ("2 1 write 13", "2 1 read 12 Value:2\n2 1 write 13"),
    ),
    "value of another version": (
        Anomaly.INTERMEDIATE_READ,
        """
        2 1 write 12 Committed:2
        2 0 end - Committed
        3 1 read 11 Value:2
        3 0 end - Committed
        """,
        ("3 1 read 11 Value:2", "3 1 read 12 Value:2"),
    ),
    "circular information flow": (
        Anomaly.CIRCULAR_INFORMATION_FLOW,
        """
        2 1 write 12 Committed:2
        2 2 read 22 Value:2
        2 0 end - Committed
        3 1 read 12 Value:2
        3 2 write 22 Committed:2
        3 0 end - Committed
        """,
        ("2 2 read 22 Value:2", "2 2 read 21 Value:1"),
    ),
    "lost update": (
        Anomaly.LOST_UPDATE,
        """
        2 1 read 11 Value:1
        2 1 write 12 Committed:2
        2 0 end - Committed
        3 1 read 11 Value:1
        3 1 write 13 Committed:3
        3 0 end - Committed
        """,
        ("3 1 read 11 Value:1", "3 1 read 12 Value:2"),
    ),
    "lost update of a lock": (
        Anomaly.LOST_UPDATE,
        """
        2 1 lock - Granted:1
        2 1 write 12 Committed:2
        2 0 end - Committed
        3 1 lock - Granted:1
        3 1 write 13 Committed:3
        3 0 end - Committed
        """,
        ("3 1 lock - Granted:1", "3 1 lock - Granted:2"),
    ),
    "lost insertion": (
        Anomaly.LOST_UPDATE,
        """
        2 3 lock - Granted
        2 3 write 31 Committed:4
        2 0 end - Committed
        3 3 lock - Granted
        3 3 write 32 Committed:5
        3 0 end - Committed
        """,
        ("3 3 lock - Granted", "3 3 lock - Granted:4"),
    ),
    "read skew": (
        Anomaly.READ_SKEW,
        """
        2 1 write 12 Committed:2
        2 2 write 22 Committed:2
        2 0 end - Committed
        3 1 read 12 Value:2
        3 2 read 21 Value:1
        3 0 end - Committed
        """,
        ("3 1 read 12 Value:2", "3 1 read 11 Value:1"),
    ),
    "one key read twice": (
        Anomaly.READ_SKEW,
        """
        2 1 write 12 Committed:2
        2 0 end - Committed
        3 1 read 11 Value:1
        3 1 read 12 Value:2
        3 0 end - Committed
        """,
        ("3 1 read 11 Value:1", "3 1 read 12 Value:2"),
    ),
    "write skew": (
        Anomaly.WRITE_SKEW,
        """
        2 1 read 11 Value:1
        2 2 write 22 Committed:2
        2 0 end - Committed
        3 2 read 21 Value:1
        3 1 write 12 Committed:2
        3 0 end - Committed
        """,
        ("3 2 read 21 Value:1", "3 2 read 22 Value:2"),
    ),
    "phantom": (
        Anomaly.READ_SKEW,
        """
        2 3 lock - Granted
        2 3 write 31 Committed:7
        2 2 write 22 Committed:2
        2 0 end - Committed
        3 3 delete - Committed:7
        3 0 end - Committed
        4 3 read - Missing:6
        4 2 read 22 Value:2
        4 0 end - Committed
        """,
        ("4 3 read - Missing:6", "4 3 read - Missing:7"),
    ),
    "phantom that comes and goes": (
        Anomaly.READ_SKEW,
        """
        2 3 write 31 Committed:7
        2 0 end - Committed
        3 3 delete - Committed:7
        3 0 end - Committed
        4 3 read - Missing:6
        4 3 read - Missing:7
        4 0 end - Committed
        """,
        ("4 3 read - Missing:6", "4 3 read - Missing:8"),
    ),
    "two insertions over what is missing": (
        Anomaly.WRITE_SKEW,
        """
        2 3 read - Missing:4
        2 4 write 41 Committed:1
        2 0 end - Committed
        3 4 read - Missing
        3 3 write 31 Committed:5
        3 0 end - Committed
        """,
        ("3 4 read - Missing", "3 4 read 41 Value:1"),
    ),
    "real time": (
        Anomaly.REAL_TIME,
        """
        2 1 write 12 Committed:2
        2 0 end - Committed 20 30
        3 1 read 11 Value:1
        3 0 end - Committed 40 50
        """,
        ("Committed 40 50", "Committed 30 50"),
    ),
    "real time over another key": (
        Anomaly.REAL_TIME,
        """
        2 2 read 22 Value:2
        2 0 end - Committed 20 30
        3 2 write 22 Committed:2
        3 0 end - Committed 10 100
        4 2 read 21 Value:1
        4 0 end - Committed 40 50
        """,
        ("4 0 end - Committed 40 50", "4 0 end - Committed 25 50"),
    ),
    "two writes with one version": (
        Anomaly.VERSION_TWICE,
        """
        2 1 write 12 Committed:2
        2 0 end - Committed
        3 1 write 13 Committed:2
        3 0 end - Committed
        """,
        ("3 1 write 13 Committed:2", "3 1 write 13 Committed:3"),
    ),
    "deleted twice": (
        Anomaly.VERSION_TWICE,
        """
        2 1 delete - Committed:1
        2 0 end - Committed
        3 1 delete - Committed:1
        3 0 end - Committed
        """,
        ("3 1 delete - Committed:1", "3 2 delete - Committed:1"),
    ),
    "value that nobody wrote": (
        Anomaly.THIN_AIR,
        """
        2 1 read 99 Value:1
        2 0 end - Committed
        """,
        ("99", "11"),
    ),
    "version that nobody wrote": (
        Anomaly.THIN_AIR,
        """
        2 1 lock - Granted:2
        2 1 write 13 Committed:3
        2 0 end - Committed
        """,
        ("Granted:2\n2 1 write 13 Committed:3", "Granted:1\n2 1 write 13 Committed:2"),
    ),
    "absence that nobody made": (
        Anomaly.THIN_AIR,
        """
        2 1 read - Missing:1
        2 0 end - Committed
        """,
        ("2 1 read - Missing:1", "2 1 read - Missing"),
    ),
    "version that is skipped": (
        Anomaly.THIN_AIR,
        """
        2 1 write 13 Committed:3
        2 0 end - Committed
        """,
        ("Committed:3", "Committed:2"),
    ),
}


def case(name: str) -> tuple[Anomaly, str, list[tuple[str, str]]]:
    anomaly, text, *changes = CASES[name]
    return anomaly, SETUP + "\n".join(line.strip() for line in text.strip().splitlines()) + "\n", changes


@pytest.mark.parametrize("name", CASES)
def test_anomaly_is_found(name, tmp_path):
    anomaly, text, _ = case(name)
    verdict = judged(text, tmp_path)
    assert not verdict.serializable
    assert verdict.anomaly == anomaly, verdict.text
    assert verdict.text.startswith("NOT strictly serializable: ") and verdict.text.count("\n") >= 1


@pytest.mark.parametrize("name", CASES)
def test_what_nearly_has_it_holds(name, tmp_path):
    _, text, changes = case(name)
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    verdict = judged(text, tmp_path)
    assert verdict.serializable and verdict.anomaly is None, verdict.text
    assert "\n" not in verdict.text


def test_every_anomaly_has_a_history():
    assert {case(name)[0] for name in CASES} == set(Anomaly)


def test_the_witness_is_a_cycle(tmp_path):
    text = case("real time")[1]
    assert judged(text, tmp_path).text.splitlines()[1:] == [
        "  transaction 2 -rt-> transaction 3: the one had ended at 30, the other started at 40",
        "  transaction 3 -rw-> transaction 2: key 1: the one read version 1, the other wrote version 2",
    ]
    assert judged(case("lost insertion")[1], tmp_path).text.splitlines()[1:] == [
        "  transaction 3 locked the key as one that does not exist, and wrote version 5 over key 3, version 4"
    ]
    assert judged(case("phantom")[1], tmp_path).text.splitlines()[1:] == [
        "  transaction 4 -rw-> transaction 2: key 3: the one read no value after version 6, the other wrote version 7",
        "  transaction 2 -wr-> transaction 4: key 2: the one wrote version 2, the other read version 2",
    ]


def test_what_is_read_of_the_own_writes_is_no_step(tmp_path):
    text = case("circular information flow")[1].replace("2 1 write", "2 1 read 12 Value:2\n2 1 write")
    assert judged(text, tmp_path).text.splitlines()[1:] == [
        "  transaction 3 -wr-> transaction 2: key 2: the one wrote version 2, the other read version 2",
        "  transaction 2 -wr-> transaction 3: key 1: the one wrote version 2, the other read version 2",
    ]


def test_several_histories_are_each_judged(tmp_path):
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text(history(SETUP))
    bad.write_text(history(case("write skew")[1]))
    verdict = check([good, bad, good])
    assert verdict.anomaly == Anomaly.WRITE_SKEW and not verdict.serializable
    assert [line.split(":")[0] for line in verdict.text.splitlines() if not line.startswith(" ")] == [
        "strictly serializable",
        "NOT strictly serializable",
        "strictly serializable",
    ]
