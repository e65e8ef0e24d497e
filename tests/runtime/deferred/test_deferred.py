"""Tests the messages that the daemon keeps, for each socket, until it can answer.

They stay unchanged, and the oldest gives way.
"""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RUNTIME = HERE.parents[2] / "runtime"
KEPT_MAX = 4096


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("again") / "probe"
    sources = [HERE / "probe.c", *(RUNTIME / name for name in ("daemon/deferred.c", "base/log.c"))]
    command = [
        "cc",
        "-std=gnu11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-D_GNU_SOURCE",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        f"-I{RUNTIME}",
        f"-I{RUNTIME}/abi",
        "-pthread",
        *sources,
        "-lbpf",
        "-o",
        program,
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(probe: Path, payloads: list[bytes], times: int, senders: int = 1) -> tuple[list[list[int]], list[list[bytes]]]:
    """Returns the probe's output, and the answers to each sender. They send in turn."""
    port = free_port()
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(senders)]
    process = subprocess.Popen([probe, str(port), str(len(payloads)), str(times)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "READY\n"
    for each in sockets:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        each.connect(("127.0.0.1", port))
    for number, payload in enumerate(payloads):
        sockets[number % senders].send(payload)
    lines = [list(map(int, line.split())) for line in process.stdout]
    assert process.wait(30) == 0
    got: list[list[bytes]] = []
    for each in sockets:
        got.append([])
        each.settimeout(0.2)
        try:
            while True:
                got[-1].append(each.recv(2000))
        except TimeoutError:
            each.close()
    return lines, got


@pytest.mark.parametrize("times", [0, 1, 3])
def test_what_waits_is_answered_in_the_end(probe: Path, times: int) -> None:
    payloads = [b"%d " % number * (1 + number % 90) for number in range(200)]
    lines, got = run(probe, payloads, times, senders=3)
    assert lines == [[200, 0]] * (times + 1)
    for sender, answers in enumerate(got):
        assert answers == [payload + b"!" for payload in payloads[sender::3]], "each to its own sender, in order"


def test_of_too_many_the_oldest_are_dropped(probe: Path) -> None:
    payloads = [b"%d" % number for number in range(KEPT_MAX + 300)]
    lines, (answers,) = run(probe, payloads, 1)
    assert lines == [[KEPT_MAX, 300]] * 2, "and those that are kept once more take no place of others"
    assert set(answers) <= {payload + b"!" for payload in payloads[300:]} and len(answers) > 100
