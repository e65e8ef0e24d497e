"""M4: only the daemon's user and root read the records, and nobody else can keep a daemon from its folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime import conftest as runtime
from tests.runtime import test_drain
from tests.runtime.conftest import wait_for
from tests.runtime.test_drain import Ledger

NAME = "nobody"
STRANGER = ("setpriv", "--reuid=65533", "--regid=65533", "--clear-groups")

built, reachable, folder, rig, ledger = (
    runtime.built,
    runtime.reachable,
    test_drain.folder,
    test_drain.rig,
    test_drain.ledger,
)

# Takes whatever hold of a file or folder there is to take, says so, and keeps it.
HOLDER = """
import fcntl, os, sys, time
taken = []
for path in sys.argv[1:]:
    for flags in (os.O_RDWR, os.O_RDONLY):
        try:
            file = os.open(path, flags)
        except OSError:
            continue
        for hold, how in ((fcntl.flock, fcntl.LOCK_EX), (fcntl.lockf, fcntl.LOCK_EX), (fcntl.lockf, fcntl.LOCK_SH)):
            try:
                hold(file, how)
                taken.append(path)
            except OSError:
                pass
        break
print(len(taken), flush=True)
time.sleep(60)
"""


@contextmanager
def held_by_a_stranger(*paths: Path) -> Iterator[int]:
    """How many holds a process has that is neither root nor the daemon's user."""
    process = subprocess.Popen(
        [*STRANGER, sys.executable, "-c", HOLDER, *map(str, paths)], stdout=subprocess.PIPE, text=True
    )
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def umask(ledger: Ledger) -> Iterator[None]:
    """None: what files may be is the daemon's choice."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_stranger_reads_no_record(ledger: Ledger, reachable: Path) -> None:
    ledger.segments = reachable / "segments"
    daemon = ledger.begin()
    ledger.fill(2000)
    assert ledger.end(daemon)[0] == 0
    assert ledger.segments.stat().st_mode & 0o7777 == 0o700
    paths = list(ledger.segments.iterdir())
    assert len(paths) >= 3, "two segments and the claim"
    assert {path.stat().st_mode & 0o7777 for path in paths} == {0o600}
    # Nor where the folder is opened for others.
    ledger.segments.chmod(0o755)
    for path in paths:
        assert subprocess.run([*STRANGER, "cat", path], check=False, capture_output=True).returncode == 1
    assert ledger.places() == set(ledger.added)


def test_a_stranger_does_not_keep_a_daemon_from_its_folder(ledger: Ledger, reachable: Path) -> None:
    """With a folder that everybody may enter, whatever they take hold of in it."""
    ledger.segments = reachable / "segments"
    ledger.segments.mkdir(mode=0o755)
    ledger.segments.chmod(0o755)
    ledger.end(ledger.begin())
    with held_by_a_stranger(ledger.segments, *ledger.segments.iterdir()) as holds:
        assert holds, "the folder itself can be held"
        daemon = ledger.begin()
        ledger.fill(30)
        assert ledger.end(daemon)[0] == 0
        assert 'is_written": false' in ledger.succeed("segments", str(ledger.segments), "--json").stdout
    assert ledger.places() == set(ledger.added)


def test_a_folder_that_others_enter_gets_a_warning_and_stays_as_it_is(ledger: Ledger, reachable: Path) -> None:
    ledger.segments = reachable / "segments"
    for mode, words in ((0o755, None), (0o700, None), (0o777, "they can replace the files")):
        ledger.segments.mkdir(exist_ok=True)
        ledger.segments.chmod(mode)
        said = ledger.end(ledger.begin())[1]
        warned = f"warning: other users can enter the folder of segments {ledger.segments} (mode {mode:04o})"
        assert (warned in said) == (mode != 0o700), said
        assert words is None or words in said
        assert ledger.segments.stat().st_mode & 0o7777 == mode
    shutil.rmtree(ledger.segments)
    ledger.succeed("unload", ledger.iface, "--purge")
    ledger.load()
    assert "other users can enter" not in ledger.end(ledger.begin())[1], "it was made here"


def test_the_claim_of_another_is_refused(ledger: Ledger, reachable: Path) -> None:
    """In a folder where others may make files, one could be there first, and be held by whoever made it."""
    ledger.segments = reachable / "segments"
    ledger.segments.mkdir()
    claim = ledger.segments / "claim"
    claim.touch(mode=0o600)
    shutil.chown(claim, 65533)
    # Root without the capability to read what is not its own cannot even open it.
    assert "it, and the segments, must belong to the user that the daemon runs as" in ledger.refuse(
        "serve", "--segments", str(ledger.segments), code=4
    )
    claim.chmod(0o666)
    assert "its file claim belongs to user 65533, with mode 0666, so other users could claim it" in ledger.refuse(
        "serve", "--segments", str(ledger.segments), code=4
    )
    shutil.chown(claim, 0)
    assert "its file claim belongs to user 0, with mode 0666" in ledger.refuse(
        "serve", "--segments", str(ledger.segments), code=4
    )
    claim.unlink()
    claim.symlink_to(reachable / "elsewhere")
    assert "its file claim: Too many levels of symbolic links; remove it" in ledger.refuse(
        "serve", "--segments", str(ledger.segments)
    )
    assert not (reachable / "elsewhere").exists()
    claim.unlink()
    assert ledger.end(ledger.begin())[0] == 0


def test_two_daemons_do_not_write_to_one_folder(ledger: Ledger, folder: Path, tmp_path: Path) -> None:
    """Nor one of another run directory, whose claim on the protocol is another."""
    daemon = ledger.begin()
    with open(ledger.segments / "claim", "r+b") as claim, pytest.raises(BlockingIOError):
        fcntl.lockf(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    second = test_drain.Rig("drain")
    with second:
        other = Ledger(folder, second, ledger.segments)
        other.load()
        assert "another daemon has it open; stop that daemon first, or name another folder" in other.refuse(
            "serve", "--segments", str(ledger.segments)
        )
        other.socket.close()
    ledger.fill(30)
    # However it ends, the folder is free then.
    ledger.end(daemon, signal.SIGKILL)
    daemon = ledger.begin()
    ledger.fill(30)
    assert ledger.end(daemon)[0] == 0
    assert ledger.places() == set(ledger.added)


def test_root_looks_and_truncates_while_another_user_writes(ledger: Ledger, reachable: Path) -> None:
    ledger.segments = reachable / "segments"
    ledger.segments.mkdir(mode=0o700)
    shutil.chown(ledger.segments, NAME)
    daemon = ledger.begin("--user", NAME)
    ledger.fill(2000)
    wait_for(lambda: ledger.drained("segments") >= 1, "another segment has begun")
    wait_for(lambda: ledger.drained("records") == 2000, "all are in files")
    assert "; a daemon still writes" in ledger.succeed("segments", str(ledger.segments)).stdout
    assert "; a daemon still writes" in ledger.succeed("recover", str(ledger.segments), "--text").stderr
    assert "removed 1 segment" in ledger.succeed("truncate", str(ledger.segments), "--before", "2").stderr
    ledger.fill(30)
    assert ledger.end(daemon)[0] == 0
    assert "a daemon still writes" not in ledger.succeed("segments", str(ledger.segments)).stdout
    assert ledger.places() < set(ledger.added)


def test_who_cannot_tell_whether_it_is_written_says_so(ledger: Ledger, reachable: Path) -> None:
    """A reader whom the operator has given the segments, and not the claim."""
    ledger.segments = reachable / "segments"
    daemon = ledger.begin()
    ledger.fill(30)
    ledger.end(daemon)
    ledger.segments.chmod(0o755)
    for path in ledger.segments.glob("*.log"):
        path.chmod(0o644)
    # The daemon's own folder is pytest's, which only root may enter.
    shutil.copy(ledger.daemon, reachable / "ledgerd")
    done = subprocess.run(
        [*STRANGER, reachable / "ledgerd", "segments", ledger.segments], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0 and "30 entries" in done.stdout
    assert (
        f"warning: cannot tell whether a daemon writes to {ledger.segments}: its file claim: Permission denied"
        in done.stderr
    )
