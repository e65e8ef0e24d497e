"""H3: the daemon and the commands write and read no file but their own in the folder of segments.

The folder's owner puts links, pipes and other files there.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime import conftest as runtime
from tests.runtime import test_drain
from tests.runtime.test_drain import Ledger

HERE = Path(__file__).parent
NAME = "nobody"
PROMPT_S = 20  # what waits for a pipe waits for ever

built, reachable, folder, rig, ledger = (
    runtime.built,
    runtime.reachable,
    test_drain.folder,
    test_drain.rig,
    test_drain.ledger,
)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[str, ...]]:
    """A command's prefix, with which a link to a file is there whenever a new segment is to be made."""
    target = tmp_path_factory.mktemp("planted") / "planted_file.so"
    subprocess.run(
        [
            "gcc",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-fPIC",
            "-shared",
            HERE / "planted_file.c",
            "-o",
            target,
            "-ldl",
        ],
        check=True,
    )
    # Another user cannot enter the folders of pytest.
    return lambda path, *how: ("env", f"LD_PRELOAD={target}", f"PLANTED={path}", *how)


@pytest.fixture
def owned(ledger: Ledger, reachable: Path) -> Path:
    """The folder of segments, which belongs to NAME."""
    ledger.segments = reachable / "segments"
    ledger.segments.mkdir(mode=0o700)
    shutil.chown(ledger.segments, NAME)
    return ledger.segments


def file_of(path: Path, user: str) -> Path:
    path.write_bytes(b"what was there before")
    shutil.chown(path, user)
    return path


def serve_once(ledger: Ledger, prefix: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Runs a daemon that gets SIGTERM soon after it starts."""
    command = ("timeout", "--preserve-status", "--signal=TERM", "3")
    return ledger.run("serve", "--segments", str(ledger.segments), "--user", NAME, prefix=(*prefix, *command))


def test_a_file_of_root_is_not_written_through_a_planted_link(
    ledger: Ledger, owned: Path, reachable: Path, planted: Callable[..., tuple[str, ...]]
) -> None:
    """The attack, with every race won: the link is there when the daemon makes its file."""
    victim = file_of(reachable / "victim", "root")
    done = serve_once(ledger, planted(victim))
    assert victim.read_bytes() == b"what was there before"
    assert (
        done.returncode == 1
        and "cannot make" in done.stderr
        and "another program makes files in this folder" in done.stderr
    )
    assert ledger.status()["daemon"]["alive"] is False


@pytest.mark.parametrize("how", [(), ("PLANTED_HARD=1",)], ids=["symbolic", "hard"])
def test_a_file_of_the_daemons_user_is_not_written_either(
    ledger: Ledger, owned: Path, reachable: Path, planted: Callable[..., tuple[str, ...]], how: tuple[str, ...]
) -> None:
    """Which that user could write: here it is not the rights that save it, but that only a new file is written."""
    shutil.chown(reachable, NAME)
    victim = file_of(reachable / "victim", NAME)
    done = serve_once(ledger, planted(victim, *how))
    assert victim.read_bytes() == b"what was there before"
    assert done.returncode == 1 and "another program makes files in this folder" in done.stderr


def test_a_link_that_waits_for_the_daemon_is_removed(ledger: Ledger, owned: Path, reachable: Path) -> None:
    victim = file_of(reachable / "victim", "root")
    (owned / "00000001.new").symlink_to(victim)
    daemon = ledger.begin("--user", NAME)
    ledger.fill(30)
    assert ledger.end(daemon)[0] == 0
    assert ledger.places() == set(ledger.added)
    assert victim.read_bytes() == b"what was there before" and not os.path.lexists(owned / "00000001.new")


def test_every_file_belongs_to_the_daemons_user(ledger: Ledger, owned: Path) -> None:
    """It makes them itself; root never touches the folder."""
    daemon = ledger.begin("--user", NAME)
    ledger.fill(2000)
    assert ledger.end(daemon)[0] == 0
    uid = pwd.getpwnam(NAME).pw_uid
    assert len(list(owned.glob("*.log"))) > 1
    assert {path.stat().st_uid for path in owned.iterdir()} == {uid}


def commands(folder: Path) -> list[tuple[str, ...]]:
    return [
        ("segments", str(folder)),
        ("recover", str(folder), "--text"),
        ("truncate", str(folder), "--before", "9"),
        ("serve", "--segments", str(folder)),
    ]


@pytest.fixture
def filled(ledger: Ledger) -> Path:
    """Segments of root, the last of which is then taken away."""
    daemon = ledger.begin()
    ledger.fill(2000)
    assert ledger.end(daemon)[0] == 0
    return max(ledger.segments.glob("*.log"))


@pytest.mark.parametrize("place", ["last", "next"])
@pytest.mark.parametrize("number", range(4), ids=["segments", "recover", "truncate", "serve"])
def test_a_pipe_with_the_name_of_a_segment_is_refused(ledger: Ledger, filled: Path, number: int, place: str) -> None:
    """And nobody waits for a writer. In the place of the last segment, or as if it were another one."""
    pipe = filled if place == "last" else filled.with_name(f"{int(filled.stem) + 1:08}.log")
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe, 0o600)
    refused = ledger.refuse(*commands(filled.parent)[number], prefix=("timeout", "--signal=KILL", str(PROMPT_S)))
    assert (
        f"cannot read {pipe}: it is a named pipe, and not a regular file; remove it, or put the file itself there"
        in refused
    )


@pytest.mark.parametrize("number", range(4), ids=["segments", "recover", "truncate", "serve"])
def test_a_link_with_the_name_of_a_segment_is_refused(
    ledger: Ledger, filled: Path, tmp_path: Path, number: int
) -> None:
    """Though what it leads to is a segment: what root reads there would be shown to whoever owns the folder."""
    elsewhere = filled.rename(tmp_path / "elsewhere")
    filled.symlink_to(elsewhere)
    refused = ledger.refuse(*commands(filled.parent)[number])
    assert f"cannot read {filled}: it is a symbolic link, and not a regular file" in refused


def test_a_socket_is_named_as_well(ledger: Ledger, filled: Path) -> None:
    filled.unlink()
    subprocess.run(
        ["python3", "-c", "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])", filled.name],
        cwd=filled.parent,
        check=True,
    )
    assert "it is a socket, and not a regular file" in ledger.refuse("segments", str(filled.parent))


@pytest.mark.parametrize("how", ["link", "hard"])
def test_rows_are_not_written_through_a_planted_link(
    ledger: Ledger, filled: Path, tmp_path: Path, planted: Callable[..., tuple[str, ...]], how: str
) -> None:
    """`recover --output FILE` makes FILE.new: what it meets there it does not write to, whether it came before or
    meanwhile.
    """
    victim = file_of(tmp_path / "victim", "root")
    output = tmp_path / "rows"
    (tmp_path / "rows.new").symlink_to(victim)
    ledger.succeed("recover", str(filled.parent), "--output", str(output))
    assert victim.read_bytes() == b"what was there before"
    assert output.is_file() and not output.is_symlink() and output.stat().st_mode & 0o777 == 0o600
    prefix = planted(victim, *(["PLANTED_HARD=1"] if how == "hard" else []))
    refused = ledger.refuse("recover", str(filled.parent), "--output", str(output), prefix=prefix)
    assert victim.read_bytes() == b"what was there before" and "another program makes files in this folder" in refused


def test_rows_do_not_take_the_place_of_a_device(ledger: Ledger, filled: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows")
    refused = ledger.refuse("recover", str(filled.parent), "--output", str(tmp_path / "rows"))
    assert "it is a named pipe, and not a regular file; without --output, rows go to standard output" in refused
    assert (tmp_path / "rows").is_fifo()


def test_the_daemon_goes_on_when_it_was_stopped_meanwhile(ledger: Ledger, owned: Path) -> None:
    """As the other user, over a kill, with the folder opened anew."""
    for how in (signal.SIGKILL, signal.SIGTERM):
        daemon = ledger.begin("--user", NAME)
        ledger.fill(300)
        ledger.end(daemon, how)
    assert ledger.places() == set(ledger.added)
