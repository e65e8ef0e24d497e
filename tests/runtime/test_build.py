"""The build is quiet under two compilers, and clean under the address sanitizer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.runtime.conftest import ADD, ADDED, ASK, COMPLETED, MESSAGE, Build, Client, wait_for


def test_clang_builds_it_without_a_warning(built: Callable[..., Path]) -> None:
    folder = built(make_variables=("CC=clang-19",))
    assert {"echo.bpf.o", "echo.skel.h", "echod", "echo-udp", "libecho_user.so"} <= {
        each.name for each in folder.iterdir()
    }


def test_what_was_not_generated_is_named(tmp_path: Path) -> None:
    runtime = Path(__file__).resolve().parents[2] / "runtime"
    command = ["make", "-C", runtime, "PROTOCOL=unborn", f"GENERATED={tmp_path}", f"BUILD={tmp_path}/build"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"cannot build unborn: there is no {tmp_path}/unborn.bpf.c; run `just generate unborn` first" in done.stderr


def test_sanitizers_find_nothing(build: Build, client: Client) -> None:
    """Every command, under the address and undefined-behaviour sanitizers, leaks included."""
    echo = build(make_variables=("SANITIZE=1",))
    assert b"__asan_init" in Path(echo.daemon).read_bytes()

    def quietly(*arguments: str) -> None:
        done = echo.succeed(*arguments)
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr

    quietly("load", echo.iface)
    quietly("load", "lo", "--generic", "--clsact")
    daemon = echo.serve()
    assert client.ask(ADD, 1, 1000, echo.rig.server.ipv4) == (ADDED, 1, 1000)
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    for length in (0, 3, MESSAGE.size + 1, 1400):  # the first two do not reach it
        client.send(bytes(length), echo.rig.server.ipv4)
    wait_for(lambda: echo.status()["daemon"]["malformed"] == 2, "what reaches the daemon is counted")
    wait_for(lambda: echo.status()["daemon"]["strangers"] == 2, "and what is too short for XDP to hand over")
    wait_for(lambda: echo.status()["daemon"]["sweep_cells_continued"] == 2, "the cell is swept")
    for arguments in (("status",), ("status", "--json"), ("status", "--prometheus")):
        quietly(*arguments)
    returned, errors = echo.end(daemon)
    assert (returned, errors) == (0, "")
    for arguments in (("load", echo.iface), ("load", "nosuch0"), ("serve", "--user", "nosuchuser"), ("purge",)):
        echo.refuse(*arguments)
    quietly("unload", "lo")
    quietly("unload", echo.iface, "--purge")
