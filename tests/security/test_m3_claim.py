"""M3: only root can pass for the daemon, and no process but the daemon gets a signal."""

from __future__ import annotations

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
from tests.runtime import test_service
from tests.runtime.conftest import Echo, holder_of, wait_for
from tests.security.test_m4_segments_modes import HOLDER, STRANGER

HERE = Path(__file__).parent

built, rig, build, echo, reachable = runtime.built, runtime.rig, runtime.build, runtime.echo, runtime.reachable
recipe, no_daemon_stays = test_service.recipe, test_service.no_daemon_stays


@contextmanager
def bystander(*prefix: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that nobody has a reason to end."""
    process = subprocess.Popen([*prefix, sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def stranger_holding(run: Path) -> Iterator[None]:
    """A process of no privilege has taken hold of whatever it can in the run directory, that directory included."""
    process = subprocess.Popen(
        [*STRANGER, sys.executable, "-c", HOLDER, str(run), *map(str, run.iterdir())], stdout=subprocess.PIPE, text=True
    )
    try:
        assert int(process.stdout.readline()), "the directory and the pid file can be held"
        yield
    finally:
        process.kill()
        process.wait()


def run_of(echo: Echo) -> Path:
    """The run directory, which a stranger may enter, as it may /run/stepwise."""
    run = Path(echo.rig.run_directory)
    for folder in (run, *run.parents):
        if os.stat(folder).st_mode & 0o005 != 0o005:
            folder.chmod(0o755)
    return run


def kill_the_daemon(echo: Echo) -> None:
    os.kill(echo.status()["daemon"]["pid"], signal.SIGKILL)
    wait_for(lambda: not echo.status()["daemon"]["alive"], "it ends")


def test_a_stranger_is_not_the_daemon(echo: Echo) -> None:
    """Whatever it holds: a daemon begins, and one that died is dead."""
    echo.load()
    run = run_of(echo)
    echo.end(echo.serve(), signal.SIGKILL)
    with stranger_holding(run):
        assert echo.status()["daemon"]["alive"] is False
        daemon = echo.serve()
        assert echo.status()["daemon"]["pid"] == daemon.pid
        assert f"(pid {daemon.pid})" in echo.refuse("serve")
    # Nor does it come to hold what the daemon has.
    with stranger_holding(run):
        assert echo.end(daemon)[0] == 0
        assert echo.status()["daemon"]["alive"] is False


def test_only_root_opens_the_claim(echo: Echo) -> None:
    echo.load()
    run = run_of(echo)
    before = os.umask(0)
    try:
        daemon = echo.serve()
    finally:
        os.umask(before)
    claim, pid = run / "echo.claim", run / "echo.pid"
    assert (claim.stat().st_mode & 0o7777, claim.stat().st_uid) == (0o600, 0)
    assert subprocess.run([*STRANGER, "cat", claim], check=False, capture_output=True).returncode == 1
    # What people and their tools look for is there for all.
    assert (
        subprocess.run([*STRANGER, "head", "-1", pid], check=False, capture_output=True, text=True).stdout
        == f"{daemon.pid}\n"
    )
    assert echo.end(daemon)[0] == 0


def test_the_daemon_keeps_its_claim_as_another_user(echo: Echo) -> None:
    echo.load()
    daemon = echo.serve("--user", "nobody")
    assert holder_of(Path(echo.rig.run_directory, "echo.claim")) == daemon.pid
    assert f"(pid {daemon.pid})" in echo.refuse("serve", "--user", "nobody")
    assert f"the daemon of echo (process {daemon.pid}) has ended" in echo.succeed("stop").stderr
    assert daemon.wait(5) == 0
    assert echo.succeed("stop").stderr == "echod: no daemon of echo is running\n"


def test_unload_ends_no_process_that_has_the_daemons_number(echo: Echo, recipe: test_service.Recipe) -> None:
    """The attack: the daemon is dead, its number is another process', and a stranger holds the file that says so."""
    assert recipe("load", "echo", echo.iface)[0] == 0
    run = run_of(echo)
    kill_the_daemon(echo)
    with bystander() as process:
        (run / "echo.pid").write_text(f"{process.pid}\n1\n")
        with stranger_holding(run):
            code, _, errors = recipe("unload", echo.iface)
            assert process.poll() is None, "it was killed"
        assert code == 0 and "unloaded from" in errors


def test_a_number_that_is_reused_meanwhile_gets_no_signal(echo: Echo, tmp_path: Path) -> None:
    """The daemon dies while it is being ended, and its number goes to somebody else."""
    library = tmp_path / "other_process.so"
    subprocess.run(
        [
            "gcc",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-fPIC",
            "-shared",
            HERE / "other_process.c",
            "-o",
            library,
            "-ldl",
        ],
        check=True,
    )
    echo.load()
    daemon = echo.serve()
    with bystander() as process:
        done = echo.succeed("stop", prefix=("env", f"LD_PRELOAD={library}", f"OTHER={process.pid}"))
        assert process.poll() is None, "it got the signal"
    assert "has ended" in done.stderr
    assert daemon.wait(5) == -signal.SIGKILL


def test_a_daemon_that_does_not_end_is_said(echo: Echo) -> None:
    echo.load()
    daemon = echo.serve()
    daemon.send_signal(signal.SIGSTOP)
    assert f"the daemon of echo (process {daemon.pid}) did not end within 10 s of SIGTERM" in echo.refuse("stop")
    daemon.send_signal(signal.SIGCONT)
    assert daemon.wait(5) == 0, "it had the signal"


def test_who_may_not_look_is_told_so(echo: Echo, reachable: Path) -> None:
    echo.load()
    run = run_of(echo)
    daemon = echo.serve()
    # A stranger cannot enter the folders of pytest.
    ours, echo.daemon = echo.daemon, shutil.copy(echo.daemon, reachable)
    refused = echo.refuse("stop", prefix=STRANGER, code=4)
    assert (
        refused == "echod: error: cannot find the process of the daemon of echo: "
        f"{run}/echo.claim: Permission denied; run this as root"
    )
    echo.daemon = ours
    assert echo.end(daemon)[0] == 0


@pytest.mark.parametrize(
    ("mode", "user", "words"),
    [(0o777, 0, "with mode 0777"), (0o775, 0, "with mode 0775"), (0o755, 65534, "it belongs to user 65534")],
    ids=["all", "group", "owner"],
)
def test_a_directory_that_others_write_to_is_refused(echo: Echo, mode: int, user: int, words: str) -> None:
    echo.load()
    run = Path(echo.rig.run_directory)
    run.mkdir(exist_ok=True)
    run.chmod(mode)
    shutil.chown(run, user)
    refused = echo.refuse("serve", code=4)
    assert (
        f"cannot keep run state in {run}: " in refused
        and words in refused
        and "name another in STEPWISE_RUN" in refused
    )


@pytest.mark.parametrize("how", ["mode", "user", "link", "pipe"])
def test_a_claim_that_another_could_hold_is_refused(echo: Echo, tmp_path: Path, how: str) -> None:
    echo.load()
    claim = Path(echo.rig.run_directory, "echo.claim")
    claim.parent.mkdir(exist_ok=True)
    match how:
        case "mode":
            claim.touch()
            claim.chmod(0o644)
        case "user":
            claim.touch(mode=0o600)
            shutil.chown(claim, 65534)
        case "link":
            claim.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(claim, 0o644)
    refused = echo.refuse("serve", prefix=("timeout", "20"), code=1 if how == "link" else 4)
    assert f"cannot claim {claim}: " in refused and "others than root can open this file: remove it" in refused
    assert not (tmp_path / "elsewhere").exists()
    claim.unlink()
    assert echo.end(echo.serve())[0] == 0


def test_purge_does_not_take_the_claim_from_under_a_daemon(echo: Echo) -> None:
    echo.load()
    daemon = echo.serve()
    echo.succeed("unload", echo.iface)
    assert f"its daemon is running (pid {daemon.pid})" in echo.refuse("purge")
    assert holder_of(Path(echo.rig.run_directory, "echo.claim")) == daemon.pid
    assert echo.end(daemon)[0] == 0
    echo.succeed("purge")
    assert list(Path(echo.rig.run_directory).iterdir()) == []
