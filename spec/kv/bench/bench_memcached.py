"""Runs memcached as the rival in `just bench kv`: Debian's, over UDP, one thread on the packets' own core."""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

from harness.base.protocols import REPOSITORY
from harness.bench.build import BenchError, Build, Client, compile_bpf
from harness.bench.link import Link
from harness.bench.servers import ProcessServer
from harness.rig import Rig

PORT = 11211
PAYLOAD_SIZE = 32  # bytes of the shortest answer: see memcached.bpf.c
MEMORY_MB = 4096
START_S_MAX = 5
# the request for the server's version, in its binary protocol
VERSION = struct.pack(">HHHHBBHBBHIIQ", 0, 0, 1, 0, 0x80, 0x0B, 0, 0, 0, 0, 0, 0, 0)


class Memcached(ProcessServer):
    """A server without sessions. An update is its `replace`, an insert its `set`."""

    def __init__(self, rig: Rig, build: Build, cpu: int) -> None:
        if not shutil.which("memcached"):
            raise BenchError("cannot run memcached: it is not installed; run ./bootstrap")
        include = [Path(__file__).resolve().parent, REPOSITORY / "runtime"]
        client = Client(
            compile_bpf(Path(__file__).with_name("memcached.bpf.c"), build.home, include), PORT, PAYLOAD_SIZE
        )
        limits = ["--memory-limit", MEMORY_MB, "--threads", 1, "--user", "root"]
        addresses = ["--listen", rig.server.ipv4, "--port", 0, "--udp-port", PORT]
        super().__init__("memcached", Link(rig, client, cpu), cpu, ["memcached", *limits, *addresses])

    def _start(self) -> subprocess.Popen[Any]:
        """Starts the server and polls it until it answers, since it does not report when it is ready."""
        endpoint = self.link.rig.server
        command = ["chrt", "--fifo", 1, "taskset", "--cpu-list", self._cpu, *self._command]
        process = endpoint.popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with endpoint.socket() as sock:
            sock.settimeout(0.1)
            sock.connect((endpoint.ipv4, PORT))
            deadline = time.monotonic() + START_S_MAX
            while time.monotonic() < deadline and process.poll() is None:
                try:
                    sock.send(VERSION)
                    sock.recv(100)
                    return process
                except (TimeoutError, ConnectionRefusedError):
                    time.sleep(0.05)
        process.kill()
        raise BenchError(f"memcached did not start: {process.communicate()[1].strip()}")

    def close(self) -> None:
        super().close()
        self.link.close()
