"""A request in a VLAN belongs to another network: XDP leaves it alone if its tag is in the frame.

A sender whose device inserts tags (`txvlan`) hands them on beside the frame through a veth, where no XDP program sees
them.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.live.build import build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.kv.live.client import KvCaller, KvSession
from tests.live.conftest import connected
from tests.security.strangers import STORE, opened

SOURCE = Path(__file__).with_name("vlan_tag.bpf.c")


@pytest.fixture
def server() -> Iterator[Server]:
    with Rig("vlan") as rig, Server(rig, build("kv", STORE)) as loaded:
        loaded.clear()
        loaded.start()
        yield loaded


@contextlib.contextmanager
def tagging(rig: Rig, folder: Path) -> Iterator[None]:
    """All that the client's end sends is in a VLAN."""
    made = folder / "vlan_tag.o"
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    command = [
        "clang-19",
        "-O2",
        "-g",
        "-target",
        "bpf",
        "-idirafter",
        f"/usr/include/{machine}",
        "-c",
        SOURCE,
        "-o",
        made,
    ]
    subprocess.run(list(map(str, command)), check=True)
    rig.client.run(["ethtool", "-K", rig.client.iface, "txvlan", "off"], check=True)
    rig.client.run(["tc", "qdisc", "add", "dev", rig.client.iface, "clsact"], check=True)
    rig.client.run(
        ["tc", "filter", "add", "dev", rig.client.iface, "egress", "bpf", "da", "obj", str(made), "sec", "tc"],
        check=True,
    )
    yield
    rig.client.run(["tc", "qdisc", "del", "dev", rig.client.iface, "clsact"], check=True)


def test_a_tag_in_the_frame(server: Server, tmp_path: Path) -> None:
    codec = server.build.codec
    with connected(server) as one:
        caller = opened(server, KvCaller(KvSession(codec), one), 1)
        assert caller.insert(1, b"first").is_done
        tables, session = server.tables(), caller.session
        request = codec.Message(
            kind=codec.Kind.DELETE, client=session.number, sequence=session.sequence + 1, secret=session.secret, key=1
        )
        with tagging(server.rig, tmp_path):
            for _ in range(3):
                one.send(request.encode())
            one.settimeout(0.3)
            with pytest.raises(TimeoutError):
                one.recv(2048)
        assert server.tables() == tables
        assert caller.get(1).value == b"first"
