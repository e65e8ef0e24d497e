"""Processes packets where the benchmark wants it: a process busy-polls an interface's NAPI.

One core: a process polls the client's end. Packets that it sends wake the server's end in softirqs of the same process.
So a whole round trip is CPU time of one process, and is known exactly. Other softirqs run in whatever they interrupt.

Two cores: each end is polled by a process of its own. A NAPI that sleeps would cost a wake-up for each batch, several
times the cost of the programs.

The processes are real-time ones, so that other work on the machine hardly stretches a run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from harness.base.protocols import REPOSITORY
from harness.bench.build import BenchError
from harness.bench.processes import schedstat
from harness.rig import Endpoint, Rig, bpf

SO_BUSY_POLL = 46
SO_INCOMING_NAPI_ID = 56
SO_PREFER_BUSY_POLL = 69
SO_BUSY_POLL_BUDGET = 70
POLL_US = 100_000  # after each poll the process sleeps for a clock tick
STEADY_POLL_US = 60_000_000
STOP_RETRY_S = 0.005
POLL_BUDGET_PACKETS = 64
MARK_S_MAX = 2
READY = b"ready\n"
PORT_MARK = 39_998  # below the slots' ports, and not used by a protocol
DEFER_COUNT = 100
FLUSH_TIMEOUT_NS = 2_000_000  # the kernel polls a NAPI this often if nobody else does


class Poller:
    """A process that polls one end, pinned to a CPU. It starts paused."""

    flush_timeout_ns = FLUSH_TIMEOUT_NS

    def __init__(self, endpoint: Endpoint, marked: socket.socket, cpu: int, poll_us: int = POLL_US) -> None:
        command = [sys.executable, "-m", "harness.bench.poller", str(marked.fileno()), str(cpu), str(poll_us)]
        self._start(endpoint, command, [marked.fileno()])

    def _start(self, endpoint: Endpoint, command: list[str], fds: list[int]) -> None:
        self._endpoint = endpoint
        self._process = subprocess.Popen(command, cwd=REPOSITORY, pass_fds=fds, stdout=subprocess.PIPE)
        assert self._process.stdout is not None, "it is a pipe"
        self._said = self._process.stdout
        if self._said.readline() != READY:
            raise BenchError("a poller did not start; its message is above")
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def resume(self) -> None:
        defer(self._endpoint, DEFER_COUNT, self.flush_timeout_ns)
        self._process.send_signal(signal.SIGCONT)

    def pause(self) -> None:
        """Stop the process at the end of a poll. Returns when it has stopped."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)
        defer(self._endpoint, 0, 0)

    def run_ns(self) -> int:
        """CPU time of the process. It spends all of it on packets, or on looking for them."""
        return schedstat(self._process.pid)[0]

    def waited_ns(self) -> int:
        """How long the process waited while others had the CPU."""
        return schedstat(self._process.pid)[1]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._said.close()
        defer(self._endpoint, 0, 0)


class SteadyPoller(Poller):
    """A poller that does not sleep after each poll, as others do for a clock tick. A datagram ends its poll."""

    def __init__(self, endpoint: Endpoint, marked: socket.socket, cpu: int) -> None:
        super().__init__(endpoint, marked, cpu, STEADY_POLL_US)
        self._neighbour = endpoint.socket()  # uses the loopback: the interface's program may keep packets

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        while not os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG):
            self._neighbour.sendto(b"stop", (self._endpoint.ipv4, PORT_MARK))
            time.sleep(STOP_RETRY_S)
        defer(self._endpoint, 0, 0)

    def close(self) -> None:
        super().close()
        self._neighbour.close()


class TurnsPoller(Poller):
    """A poller of several queues of an interface, in turns.

    packets: how many packets of a queue a turn processes, by a socket that knows the queue.
    """

    flush_timeout_ns = (
        20_000_000  # beyond a clock tick: each turn sets this timer, and that is cheap unless it is the next to fire
    )

    def __init__(self, endpoint: Endpoint, program: Path, cpu: int, packets: dict[socket.socket, int]) -> None:
        queues = [f"{sock.fileno()}:{count}" for sock, count in packets.items()]
        self._start(endpoint, [str(program), str(cpu), *queues], [sock.fileno() for sock in packets])


@contextlib.contextmanager
def polling(*pollers: Poller) -> Iterator[None]:
    """Let the pollers poll for a block. This process gets a higher priority, because it must stop them."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    with contextlib.ExitStack() as stack:
        stack.callback(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        for poller in pollers:
            poller.resume()
            stack.callback(poller.pause)  # only those resumed: to wait for another would never end
        yield


def marked_sockets(rig: Rig) -> dict[str, socket.socket]:
    """Return a socket for each end's interface. It knows the end's NAPI from a packet that it received.

    XDP_PASS stays attached to the server's end. The client's program passes packets that are not for a slot.
    """
    passing = bpf.load_xdp_pass()
    with rig.server.entered():
        passing.attach_xdp(rig.server.ifindex)
    os.close(passing.fd)
    sockets = {end.iface: end.socket() for end in rig.endpoints}
    for end in rig.endpoints:
        sockets[end.iface].bind((end.ipv4, PORT_MARK))
        sockets[end.iface].settimeout(MARK_S_MAX)
    sockets[rig.server.iface].sendto(b"mark", (rig.client.ipv4, PORT_MARK))
    sockets[rig.client.iface].sendto(b"mark", (rig.server.ipv4, PORT_MARK))
    for name, sock in sockets.items():
        sock.recv(100)
        if not sock.getsockopt(socket.SOL_SOCKET, SO_INCOMING_NAPI_ID):
            raise BenchError(f"{name} does not report its NAPI: this kernel cannot busy-poll a veth")
    return sockets


def defer(endpoint: Endpoint, count: int, timeout_ns: int) -> None:
    """Hold back an interface's interrupts until `count` polls, `timeout_ns` apart, have found nothing."""
    write_settings(endpoint, {"napi_defer_hard_irqs": count, "gro_flush_timeout": timeout_ns})


def write_settings(endpoint: Endpoint, settings: dict[str, object]) -> None:
    """Write files of an interface's folder in /sys, by name.

    This mounts /sys in a mount namespace of its own: /sys shows the interfaces of the namespace that mounted it.
    """
    folder = f"/sys/class/net/{endpoint.iface}"
    script = " && ".join(
        ["mount -t sysfs sysfs /sys", *(f"echo {value} >{folder}/{name}" for name, value in settings.items())]
    )
    done = endpoint.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"setting {', '.join(settings)} of {endpoint.iface}: {done.stderr.strip()}")


def main() -> None:
    """Poll until killed. The kernel polls for poll_us a call, then the call times out at once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("fd", type=int)
    parser.add_argument("cpu", type=int)
    parser.add_argument("poll_us", type=int)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {arguments.cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    sock = socket.socket(fileno=arguments.fd)
    sock.setblocking(True)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 1))
    sock.setsockopt(socket.SOL_SOCKET, SO_PREFER_BUSY_POLL, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL_BUDGET, POLL_BUDGET_PACKETS)
    sock.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL, arguments.poll_us)
    os.write(sys.stdout.fileno(), READY)
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        with contextlib.suppress(BlockingIOError):
            sock.recv(100)


if __name__ == "__main__":
    main()
