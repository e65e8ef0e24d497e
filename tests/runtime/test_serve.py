"""Tests the daemon: the rare path, the sweep, and how it starts and stops."""

from __future__ import annotations

import os
import pwd
import random
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from harness.rig import bpf
from tests.runtime.conftest import (
    ADD,
    ADDED,
    ASK,
    COMPLETED,
    EXIT_PRIVILEGE,
    IGNORED,
    MESSAGE,
    PORT,
    RING_MAPPINGS,
    Build,
    Client,
    Echo,
    bpf_mappings,
    cpu_seconds,
    hold_port,
    holder_of,
    process_status,
    wait_for,
)

SWEPT = 1000
BPF_MAP_TYPE_RINGBUF = 27


def counted(echo: Echo, name: str) -> int:
    return echo.status()["daemon"][name]


def wait_for_count(echo: Echo, name: str, count: int) -> None:
    wait_for(lambda: counted(echo, name) >= count, f"{name} reaches {count}")
    assert counted(echo, name) == count


def cells(echo: Echo) -> bpf.Map:
    [table] = echo.status()["tables"]
    return bpf.Map.pinned(table["pin"])


def cell(table: bpf.Map, index: int) -> int:
    value = table.lookup(index)
    assert isinstance(value, bytes)
    return int.from_bytes(value, "little")


BY_RING = ("ECHO_BY_RING",)  # a build that does not know of the daemon's AF_XDP sockets
by_either_way = pytest.mark.parametrize("variant", [(), BY_RING])


@by_either_way
def test_answers_over_both_families(build: Build, variant: tuple[str, ...]) -> None:
    echo = build(*variant)
    echo.load()
    echo.serve()
    for family, address in ((socket.AF_INET, echo.rig.server.ipv4), (socket.AF_INET6, echo.rig.server.ipv6)):
        with (client := Client(echo.rig.client, family)).socket:
            assert client.ask(ASK, 1, 1, address)[0] == COMPLETED
    with (client := Client(echo.rig.client)).socket:
        assert client.ask(ADD, 41, 5, echo.rig.server.ipv4) == (ADDED, 41, 5)
        assert client.ask(ASK, 0, 0, echo.rig.server.ipv4) == (COMPLETED, 41, 5), "it reads the tables"
    wait_for_count(echo, "replied", 3)
    assert counted(echo, "received_by_ring") == (3 if variant == BY_RING else 0)


@by_either_way
def test_answers_from_the_address_that_was_asked(build: Build, client: Client, variant: tuple[str, ...]) -> None:
    echo = build(*variant)
    with echo.rig.server.entered(), IPRoute() as route:
        route.addr("add", index=echo.rig.server.ifindex, address="10.77.0.99", prefixlen=24)
    echo.load()
    echo.serve()
    assert client.ask(ASK, 0, 0, "10.77.0.99")[0] == COMPLETED
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED


def test_completes_by_a_clsact_filter_too(echo: Echo, client: Client) -> None:
    echo.load(None, "--clsact")
    echo.serve()
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED


def test_reads_cells_under_locks_one_by_one(build: Build, client: Client) -> None:
    echo = build("ECHO_SPIN_LOCK")
    echo.load()
    daemon = echo.serve()
    assert bpf_mappings(daemon.pid) == RING_MAPPINGS
    assert client.ask(ADD, 9999, 3, echo.rig.server.ipv4) == (ADDED, 9999, 3)
    assert client.ask(ASK, 9999, 0, echo.rig.server.ipv4) == (COMPLETED, 9999, 3)
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4) == (COMPLETED, 0, 0)
    client.send(MESSAGE.pack(ASK, 10_000, 0), echo.rig.server.ipv4)
    wait_for_count(echo, "dropped", 1)
    assert client.ask(ADD, 1, SWEPT, echo.rig.server.ipv4)[0] == ADDED
    wait_for(lambda: counted(echo, "sweep_cells_continued") == 2, "the cell is swept")


@pytest.mark.parametrize("variant", [(), BY_RING, ("ECHO_SPIN_LOCK",), ("ECHO_SPIN_LOCK", *BY_RING)])
def test_no_two_decisions_of_a_batch_rest_on_the_same_cell_as_it_was(
    build: Build, client: Client, variant: tuple[str, ...]
) -> None:
    """TC takes one from the cell, and refuses a reply that did not find what is there."""
    echo = build("ECHO_TAKE", *variant)
    echo.load()
    daemon = echo.serve()
    for index in range(8):
        client.ask(ADD, index, 50, echo.rig.server.ipv4)
    daemon.send_signal(signal.SIGSTOP)
    for number in range(60):
        client.send(MESSAGE.pack(ASK, 0 if number % 2 else number % 8, 0), echo.rig.server.ipv4)
    daemon.send_signal(signal.SIGCONT)
    answers = [MESSAGE.unpack(received[0]) for _ in range(60) if (received := client.receive(1))]
    assert len(answers) == 60
    assert len({(index, value) for _, index, value in answers}) == 60, "each has found another value"
    wait_for_count(echo, "replied", 60)


def test_garbage_does_not_end_it(echo: Echo, client: Client) -> None:
    echo.load()
    daemon = echo.serve()
    seed = random.randrange(1 << 32)
    garble = random.Random(seed)
    lengths = [0, 1, MESSAGE.size - 1, MESSAGE.size + 1, 1400] + [garble.randrange(1400) for _ in range(500)]
    for length in lengths:
        payload = garble.randbytes(length)
        if length and payload[0] in (ADD, ASK):
            payload = b"\xff" + payload[1:]
        client.send(payload, echo.rig.server.ipv4)
    forwarded = [length for length in lengths if length >= MESSAGE.size]
    wait_for(lambda: counted(echo, "received") == len(forwarded), f"all that XDP forwards have arrived (seed {seed})")
    wait_for_count(echo, "strangers", len(lengths) - len(forwarded))
    assert counted(echo, "malformed") == len(forwarded) - forwarded.count(MESSAGE.size)
    assert counted(echo, "dropped") == forwarded.count(MESSAGE.size)
    assert daemon.poll() is None
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED


def test_drops_what_the_handler_drops(echo: Echo, client: Client) -> None:
    echo.load()
    echo.serve()
    client.send(MESSAGE.pack(IGNORED, 0, 0), echo.rig.server.ipv4)
    wait_for_count(echo, "dropped", 1)
    assert client.receive(0.05) is None


def test_ignores_what_did_not_come_through_xdp(echo: Echo, client: Client) -> None:
    """Its reply would leave without TC's completion."""
    echo.load()
    echo.serve()
    with (local := Client(echo.rig.server)).socket:
        for address in ("127.0.0.1", echo.rig.server.ipv4):
            local.send(MESSAGE.pack(ASK, 0, 0), address)
        wait_for_count(echo, "strangers", 2)
        assert local.receive(0.05) is None
        # An interface that is loaded later on is noticed.
        echo.load("lo", "--generic")
        local.send(MESSAGE.pack(ASK, 0, 0), "127.0.0.1")
        wait_for_count(echo, "replied", 1)
        assert counted(echo, "received_by_ring") == 1
        echo.succeed("unload", "lo")
        local.send(MESSAGE.pack(ASK, 0, 0), "127.0.0.1")
        wait_for_count(echo, "strangers", 3)


def test_follows_unloads_and_loads(echo: Echo, client: Client) -> None:
    echo.load()
    echo.serve()
    for _ in range(3):
        echo.succeed("unload", echo.iface)
        client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
        assert client.receive(0.05) is None, "no reply leaves without completion"
        echo.refuse("load", "lo")
        echo.load()
        assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    wait_for_count(echo, "strangers", 3)  # what came while it was not loaded
    assert counted(echo, "received_by_ring") == 0, "the queues outlive an unload"


@by_either_way
def test_no_reply_leaves_uncompleted_while_unloading(build: Build, client: Client, variant: tuple[str, ...]) -> None:
    echo = build(*variant)
    echo.load()
    echo.serve()
    stop = threading.Event()
    kinds: list[int] = []

    def ask_on() -> None:
        while not stop.is_set():
            client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
            if answer := client.receive(0.01):
                kinds.append(MESSAGE.unpack(answer[0])[0])

    asking = threading.Thread(target=ask_on)
    asking.start()
    try:
        for _ in range(20):
            echo.succeed("unload", echo.iface)
            echo.load()
    finally:
        stop.set()
        asking.join()
    assert len(kinds) > 20 and set(kinds) == {COMPLETED}


def test_survives_an_interface_that_is_down(echo: Echo, client: Client) -> None:
    echo.load()
    daemon = echo.serve()
    daemon.send_signal(signal.SIGSTOP)
    client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
    with echo.rig.server.entered(), IPRoute() as route:
        route.link("set", index=echo.rig.server.ifindex, state="down")
        daemon.send_signal(signal.SIGCONT)
        route.link("set", index=echo.rig.server.ifindex, state="up")

    def asked_again() -> bool:
        client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
        return client.receive(0.1) is not None

    wait_for(asked_again, "it answers again")
    assert daemon.poll() is None


@pytest.mark.parametrize("user", [None, "nobody"])
def test_keeps_no_capability_that_it_does_not_need(echo: Echo, client: Client, user: str | None) -> None:
    """This kernel (5.19 on) asks for none of what it does; an older one would leave it CAP_BPF."""
    echo.load()
    daemon = echo.serve(*(["--user", user] if user else []))
    status = process_status(daemon.pid)
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0, kind
    assert status["NoNewPrivs"] == "1"
    uid = pwd.getpwnam(user).pw_uid if user else 0
    assert status["Uid"].split() == [str(uid)] * 4
    if user:
        assert status["Groups"] == ""
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    client.ask(ADD, 8, SWEPT, echo.rig.server.ipv4)
    table = cells(echo)
    wait_for(lambda: cell(table, 8) == 0, "it sweeps all the same")
    assert counted(echo, "sweep_failed") == 0


def test_holds_no_way_to_change_a_table(echo: Echo) -> None:
    echo.load()
    daemon = echo.serve()
    held = {each.name: os.readlink(each) for each in Path(f"/proc/{daemon.pid}/fd").iterdir()}
    assert "anon_inode:bpf-prog" in held.values()
    [ring] = [number for number, name in held.items() if name == "anon_inode:bpf-map"]
    assert f"map_type:\t{BPF_MAP_TYPE_RINGBUF}\n" in Path(f"/proc/{daemon.pid}/fdinfo/{ring}").read_text()
    assert bpf_mappings(daemon.pid) == ["r--s", *RING_MAPPINGS], "the table is mapped as well, for reading"


def test_unknown_user(echo: Echo) -> None:
    echo.load()
    assert "cannot become user nosuchuser: there is no such user" in echo.refuse("serve", "--user", "nosuchuser")


def test_one_daemon_a_protocol(echo: Echo) -> None:
    echo.load()
    daemon = echo.serve()
    assert f"a daemon of echo is already running (pid {daemon.pid})" in echo.refuse("serve")
    assert echo.status()["daemon"]["pid"] == daemon.pid
    assert echo.end(daemon)[0] == 0
    assert echo.status()["daemon"]["alive"] is False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_cleanly_and_the_fast_path_stays(echo: Echo, client: Client, number: int) -> None:
    echo.load()
    status, errors = echo.end(echo.serve(), number)
    assert (status, errors) == (0, "")
    assert client.ask(ADD, 0, 2, echo.rig.server.ipv4) == (ADDED, 0, 2)


def test_killed_and_started_again(echo: Echo, client: Client) -> None:
    echo.load()
    client.ask(ADD, 77, 5, echo.rig.server.ipv4)
    for round_number in range(1, 6):
        daemon = echo.serve()
        assert client.ask(ASK, 0, 0, echo.rig.server.ipv4) == (COMPLETED, 77, 5 * round_number)
        wait_for_count(echo, "replied", round_number)  # the next daemon goes on counting
        assert echo.end(daemon, signal.SIGKILL)[0] == -signal.SIGKILL
        assert echo.status()["daemon"]["alive"] is False
        assert client.ask(ADD, 77, 5, echo.rig.server.ipv4)[0] == ADDED


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_who_needs_a_daemon_that_is_dead_is_told_so(echo: Echo, family: int) -> None:
    echo.load()
    address = echo.rig.server.ipv6 if family == socket.AF_INET6 else echo.rig.server.ipv4
    with Client(echo.rig.client, family).socket as connected:
        connected.settimeout(2)
        connected.connect((address, PORT))
        daemon = echo.serve()
        connected.send(MESSAGE.pack(ASK, 0, 0))
        assert MESSAGE.unpack(connected.recv(100))[0] == COMPLETED
        echo.end(daemon, signal.SIGKILL)
        connected.send(MESSAGE.pack(ASK, 0, 0))
        with pytest.raises(ConnectionRefusedError):
            connected.recv(100)
        with (other := Client(echo.rig.client)).socket:
            assert other.ask(ADD, 3, 4, echo.rig.server.ipv4) == (ADDED, 3, 4), (
                "what the kernel answers needs no daemon"
            )
        assert "not running: forwarded requests are refused (ICMP port unreachable" in echo.succeed("status").stdout
        echo.serve()
        connected.send(MESSAGE.pack(ASK, 0, 0))
        assert MESSAGE.unpack(connected.recv(100))[0] == COMPLETED


@by_either_way
def test_counts_what_finds_no_room(build: Build, client: Client, variant: tuple[str, ...]) -> None:
    echo = build(*variant)
    echo.load()
    daemon = echo.serve("--receive-buffer", "1024")
    daemon.send_signal(signal.SIGSTOP)
    for _ in range(40):
        client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
    daemon.send_signal(signal.SIGCONT)
    wait_for(lambda: counted(echo, "overflowed"), "some find no room")
    daemon_counts = echo.status()["daemon"]
    assert daemon_counts["overflowed"] + daemon_counts["received"] == 40
    assert daemon_counts["overflowed"] >= 20
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED


@pytest.mark.parametrize("wrong", ["", "x", "0", "-1", "1k", "1073741825"])
def test_receive_buffer_is_a_number_of_bytes(echo: Echo, wrong: str) -> None:
    assert "give a number of bytes from 1 to 1073741824" in echo.refuse("serve", "--receive-buffer", wrong, code=2)


def test_serve_before_load(echo: Echo) -> None:
    assert f"cannot serve echo: it is not loaded; run `{echo.daemon} load INTERFACE` first" in echo.refuse("serve")
    echo.load()
    echo.succeed("unload", echo.iface, "--purge")
    assert "it is not loaded" in echo.refuse("serve")


def test_serve_of_another_layout(echo: Echo, build: Build) -> None:
    echo.load()
    assert "of another layout" in build("ECHO_LAYOUT=0x9876").refuse("serve")


def test_serve_without_privilege(echo: Echo) -> None:
    echo.load()
    sentence = echo.refuse(
        "serve", code=EXIT_PRIVILEGE, prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    )
    assert "cannot open" in sentence and "as root" in sentence


def test_port_is_taken(echo: Echo) -> None:
    echo.load()
    with hold_port(echo.rig.server):
        sentence = echo.refuse("serve")
        assert "cannot bind UDP port 20999 (IPv4): another process has it" in sentence
    assert echo.end(echo.serve())[0] == 0, "nothing of the failed one is left"


def test_idle_costs_nothing(echo: Echo) -> None:
    echo.load()
    daemon = echo.serve()
    sweeps, before = counted(echo, "sweeps"), cpu_seconds(daemon.pid)
    time.sleep(2)
    assert cpu_seconds(daemon.pid) - before < 0.2
    assert 20 < counted(echo, "sweeps") - sweeps < 60, "40 periods of 50 ms"


def test_sweeps_in_passes(echo: Echo, client: Client) -> None:
    """The second pass clears only while the record of the first says that it found something."""
    echo.load()
    for index in (0, 4095, 4096, 8191, 9999):
        client.ask(ADD, index, SWEPT + index, echo.rig.server.ipv4)
    client.ask(ADD, 100, SWEPT - 1, echo.rig.server.ipv4)
    table = cells(echo)
    echo.serve()
    wait_for(lambda: all(cell(table, index) == 0 for index in (0, 4095, 4096, 8191, 9999)), "the cells are cleared")
    assert cell(table, 100) == SWEPT - 1
    wait_for(lambda: counted(echo, "sweep_cells_continued") == 10, "five cells, in two passes")
    daemon = echo.status()["daemon"]
    assert daemon["sweep_passes"] >= daemon["sweeps"] + 1, "a pass that continues nowhere ends its sweep"


def test_sweep_goes_on_from_a_contended_cell(build: Build, client: Client) -> None:
    echo = build("ECHO_CONTENDED")
    echo.load()
    for index in (3, 5000):
        client.ask(ADD, index, SWEPT, echo.rig.server.ipv4)
    table = cells(echo)
    echo.serve()
    wait_for(lambda: cell(table, 3) == cell(table, 5000) == 0, "both cells are cleared")
    assert counted(echo, "sweep_contended") == 1
    assert counted(echo, "sweep_cells_continued") == 4, "no cell was visited twice in a pass"


def test_sweeps_on_while_nothing_is_attached(echo: Echo, client: Client) -> None:
    echo.load()
    client.ask(ADD, 3, SWEPT, echo.rig.server.ipv4)
    table = cells(echo)
    echo.succeed("unload", echo.iface)
    daemon = echo.serve()
    wait_for(lambda: cell(table, 3) == 0, "the cell is cleared")
    assert "is not loaded on any interface" in echo.end(daemon)[1]


def test_daemonize(echo: Echo, client: Client) -> None:
    run = Path(echo.rig.run_directory)
    echo.load()
    done = echo.succeed("serve", "--daemonize", stdin=-3)
    pid = int((run / "echo.pid").read_text().split()[0])
    try:
        assert done.stdout == f"READY echo port 20999 pid {pid}\n"
        assert holder_of(run / "echo.claim") == pid
        assert os.getsid(pid) == pid
        assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
        assert f"(pid {pid})" in echo.refuse("serve", "--daemonize")
        assert os.readlink(f"/proc/{pid}/fd/2") == str(run / "echo.log")
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not holder_of(run / "echo.claim"), "it ends")


def test_daemonize_reports_a_failure(echo: Echo) -> None:
    assert "it is not loaded" in echo.refuse("serve", "--daemonize")
