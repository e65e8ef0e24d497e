"""Runs the same steps as an ordinary UDP server."""

from __future__ import annotations

import select
import socket
import subprocess
import threading

from tests.runtime.conftest import ADD, ADDED, ASK, COMPLETED, MESSAGE, Build, Client, Echo


def serve(echo: Echo, *options: str) -> subprocess.Popen[str]:
    process = echo.rig.server.popen([echo.udp, *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert select.select([process.stdout], [], [], 10)[0]
    assert process.stdout.readline().startswith(f"READY {echo.protocol} port {echo.port} pid {process.pid} threads ")
    return process


def test_serves_both_paths_over_both_families(echo: Echo) -> None:
    serve(echo)
    for family, address in ((socket.AF_INET, echo.rig.server.ipv4), (socket.AF_INET6, echo.rig.server.ipv6)):
        with (client := Client(echo.rig.client, family)).socket:
            assert client.ask(ADD, 5, 1, address)[0] == ADDED
            assert client.ask(ASK, 0, 0, address)[:2] == (COMPLETED, 5)


def test_reads_cells_under_locks(build: Build) -> None:
    echo = build("ECHO_SPIN_LOCK")
    serve(echo)
    with (client := Client(echo.rig.client)).socket:
        assert client.ask(ADD, 9999, 7, echo.rig.server.ipv4) == (ADDED, 9999, 7)
        assert client.ask(ASK, 9999, 0, echo.rig.server.ipv4) == (COMPLETED, 9999, 7)
        client.send(MESSAGE.pack(ASK, 10_000, 0), echo.rig.server.ipv4)
        assert client.receive(0.1) is None


def test_threads_share_the_tables(echo: Echo) -> None:
    process = serve(echo, "--threads", "2")
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        assert "Threads:\t3\n" in status
    each = 300

    def add() -> None:
        with (client := Client(echo.rig.client)).socket:
            for _ in range(each):
                client.ask(ADD, 1, 1, echo.rig.server.ipv4)

    clients = [threading.Thread(target=add) for _ in range(4)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    with (client := Client(echo.rig.client)).socket:
        assert client.ask(ADD, 1, 0, echo.rig.server.ipv4) == (ADDED, 1, 4 * each)


def test_garbage_does_not_end_it(echo: Echo, client: Client) -> None:
    process = serve(echo)
    for payload in (b"", b"x", b"x" * 1400, MESSAGE.pack(ADD, 10_000, 1), MESSAGE.pack(99, 0, 0)):
        client.send(payload, echo.rig.server.ipv4)
    assert client.receive(0.1) is None
    assert client.ask(ADD, 0, 1, echo.rig.server.ipv4) == (ADDED, 0, 1)
    assert process.poll() is None


def test_refuses_a_wrong_command_line(echo: Echo) -> None:
    for arguments in (["--threads", "0"], ["--port", "70000"], ["extra"], ["--nonsense"]):
        done = echo.rig.server.run([echo.udp, *arguments], capture_output=True, text=True)
        assert done.returncode == 2 and "usage: echo-udp [--threads 1..256]" in done.stderr
