"""Packets are processed where the benchmark wants it: by a process that busy-polls an interface's NAPI.

One core: the client's end is polled, and what it sends wakes the server's end in softirqs of the same process. All
of a round trip is then CPU time of one process, and known exactly; softirqs at large run in whatever they interrupt.

Two cores: both ends are polled, each by a process of its own. A NAPI that sleeps costs a wake-up a batch, several
times what the programs cost.

The processes are real-time ones, so that other work on the machine stretches a run by little.
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

from harness.bench.build import BenchError
from harness.bench.processes import schedstat
from harness.protocols import REPOSITORY
from harness.rig import Endpoint, Rig, bpf

SO_BUSY_POLL = 46
SO_INCOMING_NAPI_ID = 56
SO_PREFER_BUSY_POLL = 69
SO_BUSY_POLL_BUDGET = 70
POLL_US = 100_000  # at the end of each the process sleeps for a clock tick
STEADY_POLL_US = 60_000_000
STOP_RETRY_S = 0.005
POLL_BUDGET_PACKETS = 64
MARK_S_MAX = 2
READY = b"ready\n"
PORT_MARK = 39_998  # below the slots', and no protocol's
DEFER_COUNT = 100
FLUSH_TIMEOUT_NS = 2_000_000  # a NAPI that nobody polls is polled this often


class Poller:
    """A process that polls one end, pinned to a CPU. It begins paused."""

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
            raise BenchError("a poller does not start; its message is above")
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def resume(self) -> None:
        defer(self._endpoint, DEFER_COUNT, self.flush_timeout_ns)
        self._process.send_signal(signal.SIGCONT)

    def pause(self) -> None:
        """Returns when it has stopped, which it does at the end of a poll."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)
        defer(self._endpoint, 0, 0)

    def run_ns(self) -> int:
        """Its CPU time, all of it spent on packets or on looking for them."""
        return schedstat(self._process.pid)[0]

    def waited_ns(self) -> int:
        """How long others had the CPU while it wanted it."""
        return schedstat(self._process.pid)[1]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._said.close()
        defer(self._endpoint, 0, 0)


class SteadyPoller(Poller):
    """One that does not pause by itself, as others do for a clock tick. A datagram ends its poll."""

    def __init__(self, endpoint: Endpoint, marked: socket.socket, cpu: int) -> None:
        super().__init__(endpoint, marked, cpu, STEADY_POLL_US)
        self._neighbour = endpoint.socket()  # over the loopback: the interface's program may keep what comes

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
    """One that polls several queues of an interface in turns: `packets` of each, by a socket that knows the queue."""

    flush_timeout_ns = (
        20_000_000  # beyond the clock's tick: it is set in every turn, and only what rings next costs much
    )

    def __init__(self, endpoint: Endpoint, program: Path, cpu: int, packets: dict[socket.socket, int]) -> None:
        queues = [f"{sock.fileno()}:{count}" for sock, count in packets.items()]
        self._start(endpoint, [str(program), str(cpu), *queues], [sock.fileno() for sock in packets])


@contextlib.contextmanager
def polling(*pollers: Poller) -> Iterator[None]:
    """They poll for a block, and this process goes before them: it has to stop them."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    with contextlib.ExitStack() as stack:
        stack.callback(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        for poller in pollers:
            poller.resume()
            stack.callback(poller.pause)  # of those that go: one that never went on would be waited for without end
        yield


def marked_sockets(rig: Rig) -> dict[str, socket.socket]:
    """For each end's interface, a socket that knows the end's NAPI from a packet that it received.

    Leaves XDP_PASS on the server's end; the client's lets through what is not for a slot.
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
            raise BenchError(f"{name} does not say which NAPI it uses: this kernel cannot busy-poll a veth")
    return sockets


def defer(endpoint: Endpoint, count: int, timeout_ns: int) -> None:
    """Interrupts of an interface come only after it was polled for nothing `count` times, `timeout_ns` apart."""
    write_settings(endpoint, {"napi_defer_hard_irqs": count, "gro_flush_timeout": timeout_ns})


def write_settings(endpoint: Endpoint, settings: dict[str, object]) -> None:
    """Files of an interface's folder in /sys, by name.

    In a mount namespace of its own: /sys shows the interfaces of the namespace that mounted it.
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
