"""The checker of histories accepts correct ones and refuses the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.histories import HistoriesError, check, read, write

GOOD = Path(__file__).parent / "lock" / "good.txt"

# Each changes one line of the good history so that no order of its operations is left.
BAD = {
    "two writers": ("4 7 acquire Exclusive Granted 101 110", "4 7 acquire Exclusive Granted 95 99"),
    "shared beside exclusive": ("2 7 acquire Shared Rejected 15 25", "2 7 acquire Shared Granted 15 25"),
    "released twice": ("2 7 release - Released 62 63", "2 7 release - Released 62 63\n2 7 release - Released 64 65"),
    "released without a share": ("4 7 acquire Shared Rejected 50 55", "4 7 release - Released 50 55"),
    "released too late for the next": ("1 7 release - Released 30 40", "1 7 release - Released 46 50"),
    "lease ended too late": ("3 7 expire - - 100 -", "3 7 expire - - 111 -"),
    "exclusive beside the own second share": ("2 7 release - Released 62 63", "6 7 acquire Exclusive Granted 62 63"),
    "outcome of another operation": ("1 8 acquire Exclusive Granted 40 50", "1 8 acquire Exclusive Released 40 50"),
    "unknown operation": ("5 8 release - - 30 -", "5 8 relent - - 30 -"),
}


def test_good_history_is_accepted():
    verdict = check("lock", [GOOD])
    assert verdict.linearizable and verdict.decided, verdict.text


@pytest.mark.parametrize("name", BAD)
def test_bad_history_is_refused(name, tmp_path):
    right, wrong = BAD[name]
    text = GOOD.read_text()
    assert text.count(right) == 1
    history = tmp_path / "bad.txt"
    history.write_text(text.replace(right, wrong))
    verdict = check("lock", [history], drawing=tmp_path / "bad.html")
    assert verdict.decided and not verdict.linearizable, verdict.text
    assert "first wrong on key " in verdict.text
    assert (tmp_path / "bad.html").stat().st_size > 0


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("1 7 acquire Exclusive Granted 10", "6 words"),
        ("one 7 acquire Exclusive Granted 10 20", "the client must be a number"),
        ("1 7 acquire Exclusive Granted 20 10", "before its call"),
        ("1 7 acquire Exclusive Granted 20 soon", "the return must be a number"),
        ("# nothing", "no operation"),
    ],
)
def test_history_that_cannot_be_read(line, complaint, tmp_path):
    history = tmp_path / "broken.txt"
    history.write_text(line + "\n")
    with pytest.raises(HistoriesError, match=complaint):
        check("lock", [history])


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("2 5 take 400 Allowed 150 250", "2 5 take 440 Allowed 150 250"),
        ("2 5 take 30 Denied 300 350", "2 5 take 30 Allowed 300 350"),
        ("1 5 take 20 Allowed 1100000 1100300", "1 5 take 41 Allowed 1100000 1100300"),
        ("1 5 take 1000 Allowed 900000000 900000100", "1 5 take 1001 Allowed 900000000 900000100"),
        ("1 6 take 1000 Allowed 110 120", "1 6 give 1000 Allowed 110 120"),
    ],
)
def test_limiter(right, wrong, tmp_path):
    good = GOOD.parents[1] / "limiter" / "good.txt"
    assert check("limiter", [good]).linearizable
    assert good.read_text().count(right) == 1
    bad = tmp_path / "bad.txt"
    bad.write_text(good.read_text().replace(right, wrong))
    assert not check("limiter", [bad]).linearizable


KV_BAD = {
    "acknowledged write lost": ("4 7 get 1000 Value:13 285 290", "4 7 get 900 Value:12 285 290"),
    "existing key reported absent": ("4 7 get 1000 Value:13 285 290", "4 7 get 0 Missing 285 290"),
    "value of nobody": ("4 7 get 1000 Value:13 285 290", "4 7 get 1001 Value:13 285 290"),
    "version moved without a write": ("4 7 get 1000 Value:13 285 290", "4 7 get 1000 Value:14 285 290"),
    "update executed twice": ("2 7 update 1000 Updated:13 255 260", "2 7 update 1000 Updated:14 255 260"),
    "update skipped a version": ("2 7 update 200 Updated:2 35 50", "2 7 update 200 Updated:3 35 50"),
    "two updates to one version": ("2 7 update 400 Updated:3 70 90", "2 7 update 400 Updated:4 70 90"),
    "given up, and executed later": ("2 7 get 500 Value:5 165 170", "2 7 get 0 Missing 165 170"),
    "given up, executed, and forgotten": (
        "2 7 get 500 Value:5 115 120",
        "2 7 get 500 Value:5 115 120\n2 7 get 300 Value:4 125 128",
    ),
    "inserted over an entry": ("2 7 insert 600 Exists:5 175 180", "2 7 insert 600 Inserted:6 175 180"),
    "deleted twice": ("3 7 delete 0 Absent 205 210", "3 7 delete 0 Deleted:5 205 210"),
    "version went down over a deletion": ("3 7 insert 800 Inserted:9 215 220", "3 7 insert 800 Inserted:5 215 220"),
    "key of nobody": ("4 8 get 0 Missing 285 290", "4 8 get 100 Value:1 285 290"),
    "unknown outcome": ("3 7 update 700 Absent 195 200", "3 7 update 700 Missing 195 200"),
}


@pytest.mark.parametrize("name", KV_BAD)
def test_kv(name, tmp_path):
    right, wrong = KV_BAD[name]
    text = (GOOD.parents[1] / "kv" / "good.txt").read_text()
    assert text.count(right) == 1
    history = tmp_path / "bad.txt"
    history.write_text(text.replace(right, wrong))
    verdict = check("kv", [history])
    assert verdict.decided and not verdict.linearizable, verdict.text


def test_kv_good_history_is_accepted():
    assert check("kv", [GOOD.parents[1] / "kv" / "good.txt"]).linearizable


LOG_BAD = {
    "number given twice": ("2 256 append 102 Appended:8 25 30", "2 256 append 102 Appended:7 25 30"),
    "number left out": ("1 256 append 112 Appended:15 120 130", "1 256 append 112 Appended:16 120 130"),
    "ended before the other began, and has the greater number": (
        "3 256 append 106 Appended:12 70 75",
        "3 256 append 106 Appended:12 96 99",
    ),
    "on the disk before it was appended": ("1 256 append 103 Stored:10 40 90", "1 256 append 103 Stored:10 66 90"),
    "numbers of another log": ("4 257 append 110 Appended:2 55 60", "4 257 append 110 Appended:16 55 60"),
    "appended in the other order": ("1 256 append 101 Appended:7 10 20", "1 256 append 101 Appended:7 31 36"),
    "Full with a number": ("3 0 append 107 Full 80 85", "3 0 append 107 Full:9 80 85"),
    "unknown outcome": ("4 257 append 109 Stored:1 5 50", "4 257 append 109 Kept:1 5 50"),
}


@pytest.mark.parametrize("name", LOG_BAD)
def test_log(name, tmp_path):
    right, wrong = LOG_BAD[name]
    text = (GOOD.parents[1] / "log" / "good.txt").read_text()
    assert text.count(right) == 1
    history = tmp_path / "bad.txt"
    history.write_text(text.replace(right, wrong))
    verdict = check("log", [history])
    assert verdict.decided and not verdict.linearizable, verdict.text


def test_log_good_history_is_accepted():
    assert check("log", [GOOD.parents[1] / "log" / "good.txt"]).linearizable


def test_history_is_what_was_written(tmp_path):
    """Also in the place of what it is made from."""
    for name in ("kv", "lock", "log"):
        path = tmp_path / f"{name}.txt"
        path.write_text((GOOD.parents[1] / name / "good.txt").read_text())
        operations = list(read(path))
        write(path, read(path))
        assert list(read(path)) == operations and len(operations) > 10
        assert check(name, [path]).linearizable


def long_history(count: int) -> list[str]:
    """One client after another, for more operations than are checked at a time."""
    lines = []
    for number in range(count // 2):
        client, call = 1 + number % 3, 10 * number
        lines.append(f"{client} 7 acquire Exclusive Granted {call} {call + 2}")
        lines.append(f"{client} 7 release - Released {call + 4} {call + 6}")
    return lines


def judged(lines: list[str], path: Path):
    path.write_text("\n".join(lines) + "\n")
    return check("lock", [path])


def test_long_history(tmp_path):
    lines = long_history(4000)
    assert judged(lines, tmp_path / "long.txt").linearizable
    for wrong in (1, 2500, 3999):
        verdict = judged(lines[:wrong] + lines[wrong + 1 :], tmp_path / "long.txt")
        assert verdict.linearizable == (wrong == 3999), verdict.text  # without the last release nothing is wrong
        assert verdict.decided


def test_operation_that_takes_effect_chunks_after_its_call(tmp_path):
    lines = long_history(4000)
    shared = [line.replace("Exclusive", "Shared") for line in lines]
    # The lease of client 9 may end from 5 on, but its release is answered at the very end.
    late = ["9 7 acquire Shared Granted 0 1", "9 7 expire - - 5 -", "9 7 release - Released 20000 20001"]
    assert judged([*late, *shared], tmp_path / "late.txt").linearizable
    assert not judged([*late, *lines], tmp_path / "late.txt").linearizable


def test_protocol_without_a_model():
    with pytest.raises(HistoriesError, match="spec/none/live/history.go does not exist"):
        check("none", [GOOD])
