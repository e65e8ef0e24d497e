"""Tests rigs: they carry packets, and leave nothing behind."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness.rig import Rig, RigError, bpf, leftovers

PORT = 20999


def present(name: str) -> list[str]:
    """Returns what is left of a rig."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    return [
        *(path.name for path in Path("/run/netns").glob(f"{name}-*")),
        *(path.name for path in leftovers.STATE.glob(name)),
        *(line for line in mounts.splitlines() if name in line),
    ]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_packets_cross_at_once(family):
    with Rig() as rig:
        address = rig.server.ipv4 if family == socket.AF_INET else rig.server.ipv6
        receiver = rig.server.socket(family)
        receiver.bind((address, PORT))
        receiver.settimeout(2)
        sender = rig.client.socket(family)
        sender.sendto(b"hello", (address, PORT))
        data, source = receiver.recvfrom(100)
        assert data == b"hello"
        assert source[0] == (rig.client.ipv4 if family == socket.AF_INET else rig.client.ipv6)


def test_xdp_tx_reaches_the_client_and_nothing_else_is_on_the_link(bpf_object):
    with Rig() as rig, bpf.Object.open(bpf_object("counting")) as programs:
        with rig.server.entered():
            programs.program("count").attach_xdp(rig.server.ifindex)
        listener = rig.client.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        listener.bind((rig.client.iface, 3))
        listener.settimeout(2)
        sender = rig.client.socket()
        for number in range(10):
            sender.sendto(bytes([number]), (rig.server.ipv4, PORT))
        inbound = []
        while len(inbound) < 10:
            data, source = listener.recvfrom(2000)
            if source[2] != socket.PACKET_OUTGOING:
                inbound.append(data)
        assert [data[-1] for data in inbound] == list(range(10))
        assert {data[:6] for data in inbound} == {bytes.fromhex("020000000002")}
        assert all(checksum_is_right(data) for data in inbound), "the client leaves checksums to a card"
        time.sleep(0.3)
        assert int.from_bytes(programs.variable("runs").read(), "little") == 10


def checksum_is_right(frame: bytes) -> bool:
    """Computes the checksum of a UDP datagram in IPv4 without options."""
    length = int.from_bytes(frame[38:40], "big")
    covered = frame[26:34] + bytes([0, 17]) + frame[38:40] + frame[34 : 34 + length]
    covered += b"\0" * (len(covered) % 2)
    total = sum(int.from_bytes(covered[at : at + 2], "big") for at in range(0, len(covered), 2))
    return total % 0xFFFF == 0 and total > 0


def test_commands_run_in_the_namespace_with_the_rigs_bpffs():
    with Rig() as rig:
        script = 'cat /proc/net/dev; stat -f -c %T "$STEPWISE_BPFFS"; test -d "$STEPWISE_RUN" && echo run'
        output = rig.server.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
        assert rig.server.iface in output and rig.client.iface not in output
        assert output.splitlines()[-2:] == ["bpf_fs", "run"]


def test_a_failing_set_up_says_why_and_leaves_nothing(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    rig = Rig()
    with pytest.raises(RigError, match="ethtool"):
        rig.__enter__()
    assert present(rig.name) == []


def test_everything_goes_with_the_block():
    with Rig() as rig:
        process = rig.server.popen(["sleep", "1000"])
        assert len(present(rig.name)) == 6
    assert process.poll() == -signal.SIGTERM
    assert present(rig.name) == []


def test_two_rigs_of_one_process_do_not_meet():
    with Rig() as one, Rig() as other:
        receiver = one.server.socket()
        receiver.bind((one.server.ipv4, PORT))
        receiver.settimeout(0.2)
        other.client.socket().sendto(b"astray", (other.server.ipv4, PORT))
        with pytest.raises(TimeoutError):
            receiver.recv(100)
        assert one.bpffs != other.bpffs


HOLDER = textwrap.dedent("""
    import sys, time
    from harness.rig import Rig
    rig = Rig("holder").__enter__()
    process = rig.server.popen(["sleep", "1000"])
    print(rig.name, process.pid, flush=True)
    time.sleep(1000)
""")


@contextlib.contextmanager
def holding_process():
    """A process with a rig, the rig's name and the id of a process in it; dead at the end, whatever happened."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        name, child = holder.stdout.readline().split()
        yield holder, name, int(child)
    finally:
        holder.kill()
        holder.stdout.close()
        holder.wait()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_takes_the_rig_along(ending):
    with holding_process() as (holder, name, child):
        holder.send_signal(ending)
        holder.wait(10)
    assert present(name) == []
    assert not Path(f"/proc/{child}").exists()


def test_what_a_killed_process_left_is_cleaned_and_a_living_ones_is_not():
    with holding_process() as (holder, name, child):
        subprocess.run([sys.executable, "-m", "harness.rig", "clean"], check=True)
        assert len(present(name)) == 6
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
    cleaned = subprocess.run([sys.executable, "-m", "harness.rig", "clean"], check=True, capture_output=True, text=True)
    # Another test's rig may have been quicker to clean.
    assert f"removed {name}" in cleaned.stdout or present(name) == []
    assert present(name) == []
    assert leftovers.start_time(child) is None
