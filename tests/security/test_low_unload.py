"""Low: `unload` waits for the batch under way and not for a fixed time, so every reply gets TC's completion."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime import conftest as runtime
from tests.runtime.conftest import ASK, COMPLETED, MESSAGE, Client, Echo, wait_for

HERE = Path(__file__).parent
WAITS_S = 0.5  # far longer than the 20 ms that `unload` once gave a batch

built, rig, build, echo, client = runtime.built, runtime.rig, runtime.build, runtime.echo, runtime.client


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], tuple[str, ...]]:
    """A command's prefix, with which a daemon is about to send for as long as a file is there."""
    target = tmp_path_factory.mktemp("slow") / "slow_sending.so"
    subprocess.run(
        [
            "gcc",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-fPIC",
            "-shared",
            HERE / "slow_sending.c",
            "-o",
            target,
            "-ldl",
        ],
        check=True,
    )
    return lambda switch: ("env", f"LD_PRELOAD={target}", f"SENDING_WAITS={switch}")


@pytest.fixture
def unload(echo: Echo) -> Callable[[], subprocess.Popen[str]]:
    return lambda: echo.rig.server.popen(
        [echo.daemon, "unload", echo.iface], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def begin_batch(echo: Echo, client: Client, switch: Path) -> None:
    """The daemon has decided what to answer, and is about to send it."""
    switch.touch()
    client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
    wait_for(lambda: switch.with_name(f"{switch.name}.now").exists(), "the daemon is about to send")


def test_a_reply_that_is_about_to_leave_is_completed(
    echo: Echo,
    client: Client,
    slow: Callable[[Path], tuple[str, ...]],
    unload: Callable[[], subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    switch = tmp_path / "waits"
    echo.load()
    daemon = echo.serve(prefix=slow(switch))
    begin_batch(echo, client, switch)
    unloading = unload()
    time.sleep(WAITS_S)
    assert unloading.poll() is None, "TC was taken off from under a reply"
    switch.unlink()
    assert unloading.wait(10) == 0
    answer = client.receive()
    assert answer and MESSAGE.unpack(answer[0])[0] == COMPLETED, "it left without TC"
    assert echo.status()["interfaces"] == []
    assert echo.end(daemon)[0] == 0


def test_a_daemon_that_stands_still_in_a_batch_is_said_and_tc_stays(
    echo: Echo, client: Client, slow: Callable[[Path], tuple[str, ...]], tmp_path: Path
) -> None:
    switch = tmp_path / "waits"
    echo.load()
    daemon = echo.serve(prefix=slow(switch))
    begin_batch(echo, client, switch)
    refused = echo.refuse("unload", echo.iface)
    assert (
        f"cannot wait for the daemon of echo (pid {daemon.pid}): it has worked on one batch for 2 s" in refused
        and "stop it first" in refused
    )
    assert [each["name"] for each in echo.status()["interfaces"]] == [echo.iface]
    switch.unlink()
    answer = client.receive()
    assert answer and MESSAGE.unpack(answer[0])[0] == COMPLETED
    echo.succeed("unload", echo.iface)
    assert echo.status()["interfaces"] == []
    assert echo.end(daemon)[0] == 0


def test_nobody_waits_for_a_daemon_that_died_in_a_batch(
    echo: Echo,
    client: Client,
    slow: Callable[[Path], tuple[str, ...]],
    unload: Callable[[], subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    """Neither for one that is dead already, nor for one that dies meanwhile."""
    switch = tmp_path / "waits"
    for dies_first in (True, False):
        echo.load()
        daemon = echo.serve(prefix=slow(switch))
        begin_batch(echo, client, switch)
        if dies_first:
            echo.end(daemon, signal.SIGKILL)
        unloading = unload()
        if not dies_first:
            time.sleep(WAITS_S)
            assert unloading.poll() is None
            echo.end(daemon, signal.SIGKILL)
        assert unloading.wait(10) == 0
        switch.with_name(f"{switch.name}.now").unlink()
        switch.unlink()


def test_an_idle_daemon_is_not_waited_for(echo: Echo) -> None:
    """Not even one that stands still."""
    echo.load()
    daemon = echo.serve()
    for _ in range(20):
        daemon.send_signal(signal.SIGSTOP)
        done = echo.run("unload", echo.iface)
        daemon.send_signal(signal.SIGCONT)
        # It may have been stopped in a sweep, which is a round as well.
        assert done.returncode == 0 or "it has worked on one batch" in done.stderr
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert echo.end(daemon)[0] == 0
