"""Two cores: each end's NAPI is polled by a process of its own, pinned, and nothing is woken up.

A sleeping NAPI costs a wake-up a batch, several times what the programs cost. So both interfaces' interrupts are
deferred, and a process busy-polls each NAPI through a socket that has had one packet from it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.bench.build import BenchError
from harness.protocols import REPOSITORY
from harness.rig import Endpoint, Rig, bpf

SO_BUSY_POLL = 46
SO_INCOMING_NAPI_ID = 56
SO_PREFER_BUSY_POLL = 69
SO_BUSY_POLL_BUDGET = 70
POLL_US = 100_000
POLL_BUDGET_PACKETS = 64
PORT_MARK = 39_998  # below the slots', and no protocol's
DEFER_COUNT = 100
FLUSH_TIMEOUT_NS = 2_000_000  # a NAPI that nobody polls is polled this often


@contextlib.contextmanager
def busy_polled(rig: Rig, server_cpu: int, client_cpu: int) -> Iterator[dict[str, int]]:
    """Both ends polled for a block; gives the pollers' process ids. Leaves XDP_PASS on the server's end."""
    with contextlib.ExitStack() as stack:
        sockets = _marked_sockets(rig)
        processes = {}
        for name, endpoint, cpu in (("server", rig.server, server_cpu), ("client", rig.client, client_cpu)):
            _defer(endpoint, DEFER_COUNT, FLUSH_TIMEOUT_NS)
            stack.callback(_defer, endpoint, 0, 0)
            sock = stack.enter_context(sockets[name])
            command = [sys.executable, "-m", "harness.bench.poller", str(sock.fileno()), str(cpu)]
            process = subprocess.Popen(command, cwd=REPOSITORY, pass_fds=[sock.fileno()])
            stack.callback(_end, process)
            processes[name] = process.pid
        yield processes


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _marked_sockets(rig: Rig) -> dict[str, socket.socket]:
    """A socket at each end that knows the end's NAPI from a packet that it received."""
    passing = bpf.load_xdp_pass()
    with rig.server.entered():
        passing.attach_xdp(rig.server.ifindex)
    ends = {"server": rig.server, "client": rig.client}
    sockets = {name: end.socket() for name, end in ends.items()}
    for name, end in ends.items():
        sockets[name].bind((end.ipv4, PORT_MARK))
        sockets[name].settimeout(2)
    sockets["server"].sendto(b"mark", (rig.client.ipv4, PORT_MARK))
    sockets["client"].sendto(b"mark", (rig.server.ipv4, PORT_MARK))
    for name, sock in sockets.items():
        sock.recv(100)
        if not sock.getsockopt(socket.SOL_SOCKET, SO_INCOMING_NAPI_ID):
            raise BenchError(f"the {name}'s interface does not say which NAPI it uses: this kernel cannot busy-poll a veth")
    os.close(passing.fd)
    return sockets


def _defer(endpoint: Endpoint, count: int, timeout_ns: int) -> None:
    """In a mount namespace of its own: /sys shows the interfaces of the namespace that mounted it."""
    folder = f"/sys/class/net/{endpoint.iface}"
    script = f"mount -t sysfs sysfs /sys && echo {count} >{folder}/napi_defer_hard_irqs && echo {timeout_ns} >{folder}/gro_flush_timeout"
    done = endpoint.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"deferring the interrupts of {endpoint.iface}: {done.stderr.strip()}")


def run_ns(process: int) -> int:
    """CPU time of a poller, all of it spent on packets or on looking for them."""
    return int(Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[0])


def main() -> None:
    """Poll until killed. The kernel polls for POLL_US a call, then the call times out at once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("fd", type=int)
    parser.add_argument("cpu", type=int)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {arguments.cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    sock = socket.socket(fileno=arguments.fd)
    sock.setblocking(True)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 1))
    sock.setsockopt(socket.SOL_SOCKET, SO_PREFER_BUSY_POLL, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL_BUDGET, POLL_BUDGET_PACKETS)
    sock.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL, POLL_US)
    while True:
        with contextlib.suppress(BlockingIOError):
            sock.recv(100)


if __name__ == "__main__":
    main()
