"""Sets up a rig: two network namespaces joined by a veth pair, with native XDP on both ends.

    with Rig("fuzz") as rig:
        rig.server.run(["build/lock/lockd", "load", rig.server.iface])
        daemon = rig.server.popen(["build/lock/lockd", "serve"])
        sock = rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.sendto(request, (rig.server.ipv4, 20230))

A rig has its own bpffs, its own folder for run state and its own folder for other files. Its commands find them in
STEPWISE_BPFFS, STEPWISE_RUN and STEPWISE_STATE, so rigs do not disturb each other. Everything is removed at the end of
the block, at exit and on SIGTERM. If the process is killed, the next rig or `python -m harness.rig clean` removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute
from pyroute2 import netns as named_netns

from harness.rig import bpf, leftovers
from harness.rig.errors import RigError

CLONE_NEWNET = 0x40000000
NEIGHBOUR_PERMANENT = 0x80
ADDRESS_GENERATION_NONE = 1
TERMINATION_GRACE_S = 3

_libc = ctypes.CDLL(None, use_errno=True)
_numbers = itertools.count(1)
_open_rigs: list[Rig] = []


@contextlib.contextmanager
def entered(netns: str) -> Iterator[None]:
    """Move the calling thread into a network namespace for a block. Its mount namespace stays the same.

    Sockets that are opened in the block stay in the namespace after it.
    """
    with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{netns}", "rb") as target:
        _set_netns(target.fileno(), netns)
        try:
            yield
        finally:
            _set_netns(home.fileno(), "home")


def _set_netns(fd: int, name: str) -> None:
    if _libc.setns(fd, CLONE_NEWNET) != 0:
        raise RigError(f"entering network namespace {name}: {os.strerror(ctypes.get_errno())} (are you root?)")


@dataclass
class Endpoint:
    """One end of the pair: a network namespace with one interface."""

    netns: str
    iface: str
    mac: str
    ipv4: str
    ipv6: str
    environment: Mapping[str, str]
    ifindex: int = 0
    processes: list[subprocess.Popen[Any]] = field(default_factory=list, repr=False)

    @property
    def netns_path(self) -> str:
        return f"/run/netns/{self.netns}"

    def entered(self) -> contextlib.AbstractContextManager[None]:
        """Move the calling thread into this namespace for a block: see `entered`."""
        return entered(self.netns)

    def socket(self, family: int = socket.AF_INET, kind: int = socket.SOCK_DGRAM, protocol: int = 0) -> socket.socket:
        """Open a socket that lives in this namespace."""
        with self.entered():
            return socket.socket(family, kind, protocol)

    def command(self, argv: Sequence[str | Path]) -> list[str]:
        """`argv` as a command that runs in this namespace; only the network namespace changes."""
        return ["nsenter", f"--net={self.netns_path}", "--", *map(str, argv)]

    def run(
        self, argv: Sequence[str | Path], *, check: bool = False, **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Call subprocess.run in this namespace, with the rig's environment."""
        return subprocess.run(self.command(argv), check=check, **self._with_environment(options))

    def popen(self, argv: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
        """Call subprocess.Popen in this namespace, with the rig's environment. The process stops with the rig."""
        process = subprocess.Popen(self.command(argv), **self._with_environment(options))
        self.processes.append(process)
        return process

    def _with_environment(self, options: dict[str, Any]) -> dict[str, Any]:
        base = options.pop("env", None)
        return {**options, "env": {**(os.environ if base is None else base), **self.environment}}

    def stop_processes(self) -> None:
        """Send SIGTERM, and SIGKILL to processes that still run after the grace period."""
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(TERMINATION_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()


class Rig:
    """A server's and a client's namespace, joined by a veth pair; see the module.

    server, client: the two `Endpoint`s.
    name: unique to this rig. The names of its namespaces start with it.
    bpffs: for its pins. run_directory: for the daemon's run state. state_directory: for drained records, if no other
    folder is named.
    """

    def __init__(self, tag: str = "test") -> None:
        self.name = f"stepwise-{tag}-{os.getpid()}-{next(_numbers)}"
        home = leftovers.STATE / self.name
        self.bpffs = str(home / "bpf")
        self.run_directory = str(home / "run")
        self.state_directory = str(home / "state")
        places = {"BPFFS": self.bpffs, "RUN": self.run_directory, "STATE": self.state_directory}
        self.environment = {f"STEPWISE_{name}": place for name, place in places.items()}
        self.server = Endpoint(
            f"{self.name}-server", "server0", "02:00:00:00:00:01", "10.77.0.1", "fd77::1", self.environment
        )
        self.client = Endpoint(
            f"{self.name}-client", "client0", "02:00:00:00:00:02", "10.77.0.2", "fd77::2", self.environment
        )
        self._pass: bpf.Program | None = None
        self._is_open = False

    def __enter__(self) -> Rig:
        if os.geteuid() != 0:
            raise RigError("a rig needs root: it makes network namespaces and loads XDP programs")
        leftovers.clean()
        _install_handlers()
        self._is_open = True
        _open_rigs.append(self)
        try:
            leftovers.claim(self.name)
            self._make_link()
            self._make_neighbours()
            self._attach_pass()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take everything down. Does nothing the second time."""
        if not self._is_open:
            return
        self._is_open = False
        _open_rigs.remove(self)
        for endpoint in self.endpoints:
            endpoint.stop_processes()
        if self._pass:
            os.close(self._pass.fd)
        leftovers.remove(self.name)

    @property
    def endpoints(self) -> tuple[Endpoint, Endpoint]:
        return self.server, self.client

    def _other(self, endpoint: Endpoint) -> Endpoint:
        return self.client if endpoint is self.server else self.server

    def _make_link(self) -> None:
        for endpoint in self.endpoints:
            named_netns.create(endpoint.netns)
            with endpoint.entered():
                _write_sysctl("net/ipv6/conf/default/addr_gen_mode", ADDRESS_GENERATION_NONE)
                _write_sysctl("net/ipv6/conf/default/accept_dad", 0)
                _write_sysctl("net/ipv6/conf/default/accept_ra", 0)
        with self.server.entered(), IPRoute() as route, open(self.client.netns_path, "rb") as target:
            peer = {"ifname": self.client.iface, "net_ns_fd": target.fileno(), "address": self.client.mac}
            route.link("add", ifname=self.server.iface, kind="veth", address=self.server.mac, peer=peer)
        for endpoint in self.endpoints:
            with endpoint.entered(), IPRoute() as route:
                endpoint.ifindex = route.link_lookup(ifname=endpoint.iface)[0]
                loopback = route.link_lookup(ifname="lo")[0]
                route.link("set", index=loopback, state="up")
                route.link("set", index=endpoint.ifindex, state="up")
                route.addr("add", index=endpoint.ifindex, address=endpoint.ipv4, prefixlen=24)
                # The kernel would announce an address on the interface itself (MLD), at unknown times. On the loopback
                # it does not. So only the tests' own packets are on the link, and they can be counted.
                route.addr("add", index=loopback, address=endpoint.ipv6, prefixlen=128)
                route.route(
                    "add", dst=f"{self._other(endpoint).ipv6}/128", oif=endpoint.ifindex, family=socket.AF_INET6
                )
                # XDP needs complete checksums. A veth would leave them to a network card that does not exist.
                _run_tool(["ethtool", "-K", endpoint.iface, "tx", "off", "gro", "on"])

    def _make_neighbours(self) -> None:
        for here in self.endpoints:
            there = self._other(here)
            with here.entered(), IPRoute() as route:
                for address in (there.ipv4, there.ipv6):
                    route.neigh(
                        "replace", dst=address, lladdr=there.mac, ifindex=here.ifindex, state=NEIGHBOUR_PERMANENT
                    )

    def _attach_pass(self) -> None:
        """Attach a program to the client's end: a veth needs one to get packets that its peer sends with XDP_TX."""
        self._pass = bpf.load_xdp_pass()
        with self.client.entered():
            self._pass.attach_xdp(self.client.ifindex)


def _write_sysctl(name: str, value: object) -> None:
    Path("/proc/sys", name).write_text(f"{value}\n", encoding="ascii")


def _run_tool(argv: list[str]) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RigError(f"cannot run {argv[0]}: it is not installed; run ./bootstrap") from None
    if done.returncode != 0:
        raise RigError(f"{' '.join(argv)}: {done.stderr.strip()}")


# --- The end of the process ---------------------------------------------------------------------


def _close_all(owner: int) -> None:
    if os.getpid() == owner:  # not in a child that was forked from it
        for rig in _open_rigs:
            rig.close()


_handlers_installed_by = 0


def _install_handlers() -> None:
    """Remove this process's rigs when it exits. SIGTERM and SIGHUP make it exit, unless they have a handler already."""
    global _handlers_installed_by  # noqa: PLW0603 (a process has one set of handlers)
    if _handlers_installed_by == os.getpid():
        return
    _handlers_installed_by = os.getpid()
    atexit.register(_close_all, os.getpid())
    for number in (signal.SIGTERM, signal.SIGHUP):
        with contextlib.suppress(ValueError):  # not the main thread
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda received, _frame: sys.exit(128 + received))
