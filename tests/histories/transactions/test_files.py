"""Invalid histories are refused with file and line; also tests the command's output and exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.histories.transactions import TransactionsError, check

REPOSITORY = Path(__file__).resolve().parents[3]
GOOD = "# a comment\n\n7 4 write 11 Committed:1 10 20\n7 0 end - Committed 10 20\n"

# A line that is wrong, and what is said of it.
WRONG = {
    "7 4 write 11 Committed:1 10": "6 words, but an operation has 7",
    "seven 4 write 11 Committed:1 10 20": "the transaction must be a number below 18446744073709551616, not 'seven'",
    "7 -4 write 11 Committed:1 10 20": "the key must be a number",
    "18446744073709551616 4 write 11 Committed:1 10 20": "the transaction must be a number",
    "7 4 write 11 Committed:1 soon 20": "the call must be a number",
    "7 4 write 11 Committed:1 10 later": "the return must be a number of nanoseconds or '-', not 'later'",
    "7 4 write 11 Committed:1 20 10": "returned at 10, before its call at 20",
    "7 4 write 11 Committed:1 10 -": "it has the outcome Committed:1, but no return",
    "7 4 write 11 Committed 10 20": "the version after Committed must be a number from 1 to 4294967295, not ''",
    "7 4 write 11 Committed:0 10 20": "the version after Committed must be a number from 1 to 4294967295, not '0'",
    "7 4 write 11 Committed:4294967296 10 20": "the version after Committed must be a number",
    "7 4 read 11 Value:new 10 20": "the version after Value must be a number from 1 to 4294967295, not 'new'",
    "7 4 read - Missing:-1 10 20": "the version after Missing must be a number from 0 to 4294967295, not '-1'",
    "7 4 write - Committed:1 10 20": "the digest of a value must be a number below 18446744073709551616, not '-'",
    "7 4 read 11 Missing:3 10 20": "read Missing must have the argument '-', not '11'",
    "7 4 write 11 -:3 10 -": "write - cannot have a version",
    "7 0 end - Committed:3 10 20": "end Committed cannot have a version",
    "7 4 end - Committed 10 20": "the key of an end must be 0, not 4",
    "7 4 write 11 Granted:1 10 20": "'write' with the outcome 'Granted', which must be one of read Value, ",
    "7 4 update 11 Committed:1 10 20": "'update' with the outcome 'Committed', which must be one of ",
    "7 0 end - Committed 10 21": "the transaction 7 already ended",
    "8 4 write 12 Committed:2 10 20": "the transaction 8 has no end",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_line(line, tmp_path):
    path = tmp_path / "history.txt"
    path.write_text(f"{GOOD}{line}\n")
    with pytest.raises(TransactionsError) as raised:
        check([path])
    assert str(raised.value).startswith(f"{path}:5: ")
    assert WRONG[line] in str(raised.value)


def test_file_that_cannot_be_read(tmp_path):
    with pytest.raises(TransactionsError, match="cannot read the history .*missing.txt: No such file"):
        check([tmp_path / "missing.txt"])
    path = tmp_path / "history.txt"
    path.write_bytes(b"7 4 write \xff")
    with pytest.raises(TransactionsError, match="a history must be UTF-8 text, but this has the byte 0xff"):
        check([path])
    path.write_text("# nothing\n")
    with pytest.raises(TransactionsError, match="no transaction was recorded"):
        check([path])


def test_largest_numbers(tmp_path):
    path = tmp_path / "history.txt"
    most = 2**64 - 1
    path.write_text(
        f"{most} {most} read - Missing:{2**32 - 2} 10 20\n"
        f"{most} {most} write {most} Committed:{2**32 - 1} 10 20\n"
        f"{most} 0 end - Committed 10 20\n"
        f"1 {most} read {most} Value:{2**32 - 1} 30 40\n1 0 end - Committed 30 40\n"
    )
    verdict = check([path])
    assert verdict.serializable, verdict.text


def test_transactions_without_operations(tmp_path):
    path = tmp_path / "history.txt"
    path.write_text("1 0 end - Committed 10 20\n2 0 end - Aborted 30 40\n3 0 end - - 30 -\n")
    assert check([path]).text == (
        f"strictly serializable: {path}: 3 transactions with 0 operations on 0 keys; "
        "of 1 the outcome was not known, 0 of these were seen"
    )


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness.histories.transactions", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def test_command(tmp_path):
    good, bad, broken = (tmp_path / name for name in ("good.txt", "bad.txt", "broken.txt"))
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("write 11 Committed", "read 11 Value"))
    broken.write_text("one two\n")
    done = run(str(good))
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("strictly serializable: ")
    done = run(str(good), str(bad))
    assert (done.returncode, done.stderr) == (1, "") and "\nNOT strictly serializable: " in done.stdout
    done = run(str(broken))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"transactions: {broken}:1: 2 words, but an operation has 7, in 'one two'\n"
