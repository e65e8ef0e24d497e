"""Gives each CPU a receive queue. Packets that a CPU sends arrive by its own queue, which is polled separately."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path

from harness.bench.build import BenchError
from harness.bench.link import pinned
from harness.bench.poller import MARK_S_MAX, PORT_MARK, SO_INCOMING_NAPI_ID, write_settings
from harness.rig import Endpoint, Rig, bpf


def split(receiver: Endpoint, sender: Endpoint, cpus: Sequence[int]) -> None:
    """Give `receiver` a queue for each CPU up to the last of `cpus`. It takes what this CPU sends from `sender`.

    An XDP program's packet uses the queue with the number of the CPU that sends it. A socket's packet uses the sender's
    queue. A veth gives a new queue its program only when a program is attached, so `receiver` is left without one.
    """
    count = max(cpus) + 1
    with receiver.entered():
        bpf.detach_xdp(receiver.ifindex)
    _channels(receiver, "rx", count)
    _channels(sender, "tx", count)
    write_settings(sender, {f"queues/tx-{cpu}/xps_cpus": cpu_mask(cpu) for cpu in range(count)})


def cpu_mask(cpu: int) -> str:
    """The mask of one CPU for files in /sys: words of 32 bits in hexadecimal, the last CPUs first."""
    return ",".join([f"{1 << cpu % 32:x}", *["00000000"] * (cpu // 32)])


def queue_sockets(rig: Rig, reflector: Path, cpus: Sequence[int]) -> dict[int, socket.socket]:
    """Return a socket of the client's end for each CPU. It knows the NAPI of the queue that this CPU's packets use.

    The client's program must be attached. reflector: answers on the server's end in the softirq of the CPU that asks;
    it stays attached.
    """
    with bpf.Object.open(reflector) as opened, rig.server.entered():
        opened.program("bench_reflector").attach_xdp(rig.server.ifindex)
    sockets: dict[int, socket.socket] = {}
    known: set[int] = set()
    with contextlib.ExitStack() as stack:
        for offset, cpu in enumerate(cpus):
            sock = stack.enter_context(rig.client.socket())
            sock.bind((rig.client.ipv4, PORT_MARK - 1 - offset))
            sock.settimeout(MARK_S_MAX)
            with pinned(cpu):
                sock.sendto(b"mark", (rig.server.ipv4, PORT_MARK))
                with contextlib.suppress(TimeoutError):
                    sock.recv(100)
            known.add(sock.getsockopt(socket.SOL_SOCKET, SO_INCOMING_NAPI_ID))
            sockets[cpu] = sock
        if len(known - {0}) != len(cpus):
            raise BenchError(
                f"the queues of {rig.client.iface} cannot be told apart: NAPIs {sorted(known)} for CPUs {list(cpus)}"
            )
        stack.pop_all()
    return sockets


def _channels(endpoint: Endpoint, kind: str, count: int) -> None:
    done = endpoint.run(["ethtool", "-L", endpoint.iface, kind, str(count)], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"giving {endpoint.iface} {count} queues ({kind}): {done.stderr.strip()}")
