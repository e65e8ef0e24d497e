"""Tests programs at a device map's entry: which interfaces have one, and the ring buffer by which they forward."""

from __future__ import annotations

import signal
import socket
import time

import pytest

from harness.rig import bpf
from tests.runtime.conftest import (
    ADD,
    ADDED,
    ASK,
    COMPLETED,
    MESSAGE,
    Build,
    Client,
    Echo,
    Missing,
    cpu_seconds,
    process_status,
    wait_for,
)

GARBAGE = 7
(
    EMPTY,
    NO_FRAME,
    CUT_ETHERNET,
    CUT_UDP,
    CUT_PAYLOAD,
    MORE_THAN_THERE_IS,
    HUGE,
    TOO_LONG,
    SHORT_LENGTH,
    LONG_PAYLOAD,
    OTHER_INTERFACE,
    DISCARDED,
) = range(12)
MALFORMED = range(EMPTY, OTHER_INTERFACE)
SAMPLE_BYTES = 96  # of a frame in the ring, with what the kernel keeps before it
BATCH = 64


@pytest.fixture
def echo(build: Build) -> Echo:
    return build("ECHO_AHEAD")


def counted(echo: Echo, name: str) -> int:
    return echo.status()["daemon"][name]


def ahead(echo: Echo) -> int:
    """Packets that the second program has seen."""
    return echo.status()["counters"]["ahead"]


def looks_ahead(echo: Echo) -> bool:
    """The only interface that it is loaded on."""
    [interface] = echo.status()["interfaces"]
    return interface["looks_ahead"]


def answers_of(client: Client, count: int) -> list[tuple[int, int, int]]:
    """As many, or fewer when no more come."""
    answers: list[tuple[int, int, int]] = []
    while len(answers) < count and (received := client.receive(1)):
        answers.append(MESSAGE.unpack(received[0]))
    return answers


def test_both_programs_answer_and_forward(echo: Echo, client: Client) -> None:
    echo.load()
    assert client.ask(ADD, 3, 5, echo.rig.server.ipv4) == (ADDED, 3, 5)
    assert ahead(echo) == 0 and not looks_ahead(echo), "without a daemon there is no entry"
    echo.serve()
    assert looks_ahead(echo) and "TC tcx, looks ahead" in echo.succeed("status").stdout
    assert client.ask(ADD, 3, 2, echo.rig.server.ipv4) == (ADDED, 3, 7), "the second program answers"
    assert ahead(echo) == 1
    for family, address in ((socket.AF_INET, echo.rig.server.ipv4), (socket.AF_INET6, echo.rig.server.ipv6)):
        with (other := Client(echo.rig.client, family)).socket:
            assert other.ask(ASK, 0, 0, address) == (COMPLETED, 3, 7), "by the ring, and past TC"
    assert (ahead(echo), echo.status()["counters"]["forwarded"]) == (3, 0)
    wait_for(lambda: counted(echo, "replied") == 2, "it is counted")
    assert (counted(echo, "received"), counted(echo, "received_by_ring")) == (2, 2)


@pytest.mark.parametrize("variant", [(), ("ECHO_SPIN_LOCK",)])
def test_no_two_decisions_of_a_batch_rest_on_the_same_cell_as_it_was(
    build: Build, client: Client, variant: tuple[str, ...]
) -> None:
    """And more than a batch is waiting."""
    count = 3 * BATCH + 7
    echo = build("ECHO_AHEAD", "ECHO_TAKE", *variant)
    echo.load()
    daemon = echo.serve()
    for index in range(8):
        client.ask(ADD, index, 500, echo.rig.server.ipv4)
    daemon.send_signal(signal.SIGSTOP)
    for number in range(count):
        client.send(MESSAGE.pack(ASK, 0 if number % 2 else number % 8, 0), echo.rig.server.ipv4)
    daemon.send_signal(signal.SIGCONT)
    answers = answers_of(client, count)
    assert len({(index, value) for _, index, value in answers}) == count, "each has found another value"
    wait_for(lambda: counted(echo, "replied") == count, "all are counted")


@pytest.mark.parametrize("make_variables", [(), ("SANITIZE=1",)])
def test_garbage_in_the_ring_is_dropped(build: Build, client: Client, make_variables: tuple[str, ...]) -> None:
    echo = build("ECHO_AHEAD", make_variables=make_variables)
    echo.load()
    daemon = echo.serve()
    for kind in (*MALFORMED, OTHER_INTERFACE, DISCARDED):
        client.send(MESSAGE.pack(GARBAGE, kind, 0), echo.rig.server.ipv4)
    wait_for(lambda: counted(echo, "received") == len(MALFORMED) + 1, "all have arrived")
    assert counted(echo, "malformed") == len(MALFORMED)
    assert counted(echo, "unexpected_interface") == 1
    assert counted(echo, "dropped") == 0
    daemon.send_signal(signal.SIGSTOP)
    for number in range(4 * BATCH):
        kind = ASK if number % 4 == 0 else GARBAGE
        client.send(MESSAGE.pack(kind, number % 12, 0), echo.rig.server.ipv4)
    daemon.send_signal(signal.SIGCONT)
    assert [kind for kind, *_ in answers_of(client, BATCH)] == [COMPLETED] * BATCH, "what is between is answered"
    assert echo.end(daemon) == (0, "")


@pytest.mark.parametrize(
    "buffer_bytes, kept", [(1, 1), (SAMPLE_BYTES, 1), (SAMPLE_BYTES + 1, 2), (10 * SAMPLE_BYTES, 10)]
)
def test_counts_what_finds_no_room(echo: Echo, client: Client, buffer_bytes: int, kept: int) -> None:
    echo.load()
    daemon = echo.serve("--receive-buffer", str(buffer_bytes))
    for round_number in range(1, 3):
        daemon.send_signal(signal.SIGSTOP)
        for _ in range(40):
            client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
        wait_for(lambda: ahead(echo) == 40 * round_number, "all are there")
        daemon.send_signal(signal.SIGCONT)
        assert len(answers_of(client, 40)) == kept
        wait_for(lambda: counted(echo, "overflowed") == (40 - kept) * round_number, "the others found no room")
        assert counted(echo, "received") == kept * round_number


def test_there_is_room_for_many_unless_told_otherwise(echo: Echo, client: Client) -> None:
    """A daemon after one with little room is not kept to that, nor does it count what that one has lost."""
    echo.load()
    daemon = echo.serve("--receive-buffer", "1")
    daemon.send_signal(signal.SIGSTOP)
    for _ in range(40):
        client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
    wait_for(lambda: ahead(echo) == 40, "all are there")
    echo.end(daemon, signal.SIGKILL)
    daemon = echo.serve()
    daemon.send_signal(signal.SIGSTOP)
    for _ in range(1000):
        client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
    wait_for(lambda: ahead(echo) == 1040, "all are there")
    daemon.send_signal(signal.SIGCONT)
    wait_for(lambda: counted(echo, "replied") == 1000, "all are answered")
    assert counted(echo, "overflowed") == 0


def test_what_waits_for_a_daemon_that_is_killed_is_lost(echo: Echo, client: Client) -> None:
    """As in the sockets."""
    echo.load()
    client.ask(ADD, 77, 5, echo.rig.server.ipv4)
    for round_number in range(1, 6):
        daemon = echo.serve()
        assert client.ask(ASK, 0, 0, echo.rig.server.ipv4) == (COMPLETED, 77, 5)
        daemon.send_signal(signal.SIGSTOP)
        for _ in range(BATCH + 9):
            client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
        wait_for(lambda: ahead(echo) == (BATCH + 10) * round_number, "all are in the ring")
        echo.end(daemon, signal.SIGKILL)
    daemon = echo.serve()
    assert client.receive(0.1) is None
    assert counted(echo, "received") == 5


def test_nothing_is_forwarded_to_a_daemon_that_is_dead(echo: Echo, client: Client) -> None:
    """The second program still answers what it can."""
    echo.load()
    echo.end(echo.serve(), signal.SIGKILL)
    assert looks_ahead(echo)
    assert client.ask(ADD, 3, 4, echo.rig.server.ipv4) == (ADDED, 3, 4)
    client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
    wait_for(lambda: ahead(echo) == 2, "both have been there")
    echo.serve()
    assert client.receive(0.1) is None
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4) == (COMPLETED, 3, 4)
    assert counted(echo, "received") == 1


def test_follows_unloads_and_loads(echo: Echo, client: Client) -> None:
    echo.load()
    echo.serve()
    for _ in range(3):
        echo.succeed("unload", echo.iface)
        client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
        assert client.receive(0.05) is None, "no reply leaves without completion"
        echo.load()
        assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    assert ahead(echo) == 0, "not before a daemon begins again"


def test_what_waits_for_an_interface_that_is_unloaded_is_not_answered(echo: Echo, client: Client) -> None:
    """Its reply would leave without TC's completion."""
    echo.load()
    daemon = echo.serve()
    daemon.send_signal(signal.SIGSTOP)
    client.send(MESSAGE.pack(ASK, 0, 0), echo.rig.server.ipv4)
    wait_for(lambda: ahead(echo) == 1, "it waits")
    echo.succeed("unload", echo.iface)
    daemon.send_signal(signal.SIGCONT)
    wait_for(lambda: counted(echo, "unexpected_interface") == 1, "it is dropped")
    assert client.receive(0.05) is None


def test_without_its_queue_an_interface_does_not_look_ahead(echo: Echo, missing: Missing, client: Client) -> None:
    """Nor does one that an earlier daemon has entered."""
    echo.load()
    echo.end(echo.serve())
    assert looks_ahead(echo)
    echo.serve(prefix=missing("xdp_sockets"))
    assert not looks_ahead(echo)
    assert client.ask(ADD, 3, 4, echo.rig.server.ipv4) == (ADDED, 3, 4)
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4) == (COMPLETED, 3, 4)
    assert ahead(echo) == 0
    assert counted(echo, "received_by_ring") == 1


def test_loads_where_the_kernel_has_no_such_sockets(echo: Echo, missing: Missing, client: Client) -> None:
    echo.succeed("load", echo.iface, prefix=missing("xdp_sockets"))
    echo.serve(prefix=missing("xdp_sockets"))
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    assert not looks_ahead(echo)


def test_interfaces_share_the_ring(echo: Echo, client: Client) -> None:
    """Each reply leaves where its request came from, also in one batch."""
    rig = echo.rig
    commands = (
        (rig.server, f"ip link add second0 type veth peer name second1 netns {rig.client.netns}"),
        (rig.server, "ip addr add 10.78.0.1/24 dev second0"),
        (rig.client, "ip addr add 10.78.0.2/24 dev second1"),
        (rig.server, "ip link set second0 up"),
        (rig.client, "ip link set second1 up"),
    )
    for endpoint, command in commands:
        endpoint.run(command.split(), check=True)
    with rig.client.entered():
        bpf.load_xdp_pass().attach_xdp(socket.if_nametoindex("second1"))
    echo.load()
    echo.load("second0")
    daemon = echo.serve()
    assert [each["looks_ahead"] for each in echo.status()["interfaces"]] == [True, True]
    with (other := Client(rig.client)).socket:
        assert other.ask(ADD, 3, 4, "10.78.0.1") == (ADDED, 3, 4)
        daemon.send_signal(signal.SIGSTOP)
        for _ in range(10):
            client.send(MESSAGE.pack(ASK, 0, 0), rig.server.ipv4)
            other.send(MESSAGE.pack(ASK, 0, 0), "10.78.0.1")
        wait_for(lambda: ahead(echo) == 21, "all are in the ring")
        daemon.send_signal(signal.SIGCONT)
        assert answers_of(client, 10) == answers_of(other, 10) == [(COMPLETED, 3, 4)] * 10
    assert counted(echo, "send_failed") == 0


@pytest.mark.parametrize(
    "lacking, why",
    [
        ("", None),
        ("xdp_features", "the kernel (before 6.3) does not report if its driver sends redirected packets"),
        ("xdp_transmit", "its driver does not send packets that XDP redirects"),
    ],
)
def test_drivers_that_are_not_known_are_asked(echo: Echo, missing: Missing, lacking: str, why: str | None) -> None:
    """A tap can."""
    made = echo.rig.server.run(["ip", "tuntap", "add", "mode", "tap", "name", "tap0"], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no tap: {made.stderr}")
    echo.load("tap0")
    _, errors = echo.end(echo.serve(prefix=missing(lacking)))
    said = [line for line in errors.splitlines() if "look ahead" in line]
    assert looks_ahead(echo) == (why is None)
    assert [line.rpartition("tap0 ")[2] for line in said] == (
        [f"does not look ahead, which costs time: {why}"] if why else []
    )


def test_needs_no_capability(echo: Echo, client: Client) -> None:
    echo.load()
    daemon = echo.serve("--user", "nobody")
    assert int(process_status(daemon.pid)["CapEff"], 16) == 0
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    assert ahead(echo) == 1


def test_idle_costs_nothing(echo: Echo, client: Client) -> None:
    echo.load()
    daemon = echo.serve()
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    before = cpu_seconds(daemon.pid)
    time.sleep(1)
    assert cpu_seconds(daemon.pid) - before < 0.1
