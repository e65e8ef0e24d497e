"""Tests in which network and mount namespaces a protocol is loaded, served and queried."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from harness.rig import bpf
from tests.runtime.conftest import ADD, ADDED, ASK, COMPLETED, Client, Echo
from tests.runtime.test_load import attached_in_kernel

OWN_MOUNTS = ("unshare", "--mount")
CONTAINER = ("unshare", "--mount", "--pid", "--fork", "--mount-proc")
needs_own_mounts = pytest.mark.skipif(
    subprocess.run([*OWN_MOUNTS, "true"], capture_output=True, check=False).returncode != 0,
    reason="this root is no mount (a chroot): nobody can have mounts of his own here",
)


def detach_pass(echo: Echo) -> None:
    """The rig's program on the client's end, which stands in the way of another."""
    with echo.rig.client.entered():
        bpf.detach_xdp(echo.rig.client.ifindex)


def assert_client_has_nothing(echo: Echo) -> None:
    command = ["ip", "-details", "link", "show", echo.rig.client.iface]
    assert "xdp" not in echo.rig.client.run(command, capture_output=True, text=True, check=True).stdout


def test_a_daemon_elsewhere_refuses_a_load(echo: Echo, client: Client) -> None:
    """Packets that XDP lets through there would never be answered."""
    echo.load()
    daemon = echo.serve()
    detach_pass(echo)
    server, other = echo.rig.server, echo.rig.client
    netns = os.stat(server.netns_path).st_ino
    sentence = echo.refuse("load", other.iface, endpoint=other)
    assert f"its daemon (pid {daemon.pid}) answers only in network namespace {netns} ({server.netns_path})" in sentence
    assert "STEPWISE_BPFFS and STEPWISE_RUN" in sentence
    assert_client_has_nothing(echo)

    echo.succeed("unload", echo.iface)
    assert f"its daemon (pid {daemon.pid})" in echo.refuse("load", other.iface, endpoint=other)
    assert echo.end(daemon)[0] == 0
    echo.succeed("load", other.iface, endpoint=other)


def test_an_interface_elsewhere_refuses_a_load_and_a_daemon(echo: Echo) -> None:
    echo.load()
    detach_pass(echo)
    server, other = echo.rig.server, echo.rig.client
    sentence = echo.refuse("load", other.iface, endpoint=other)
    assert f"it is loaded on {echo.iface} of network namespace" in sentence and server.netns_path in sentence
    assert_client_has_nothing(echo)
    sentence = echo.refuse("serve", endpoint=other)
    assert f"`nsenter --net={server.netns_path} {echo.daemon} serve`" in sentence
    assert echo.status()["daemon"]["alive"] is False


def test_a_namespace_with_tables_of_its_own(echo: Echo, tmp_path: Path) -> None:
    """The remedy that the refusal names works."""
    echo.load()
    daemon = echo.serve()
    detach_pass(echo)
    own = tmp_path / "bpf"
    prefix = ("env", f"STEPWISE_BPFFS={own}", f"STEPWISE_RUN={tmp_path / 'run'}")
    try:
        echo.succeed("load", echo.rig.client.iface, endpoint=echo.rig.client, prefix=prefix)
        assert echo.status(endpoint=echo.rig.client, prefix=prefix)["daemon"]["alive"] is False
        echo.succeed("unload", echo.rig.client.iface, "--purge", endpoint=echo.rig.client, prefix=prefix)
    finally:
        subprocess.run(["umount", str(own)], check=True)
    assert echo.status()["daemon"]["pid"] == daemon.pid


def test_status_says_where_the_daemon_answers(echo: Echo) -> None:
    echo.load()
    daemon = echo.serve()
    netns = os.stat(echo.rig.server.netns_path).st_ino
    assert f"running, pid {daemon.pid}\n" in echo.succeed("status").stdout
    text = echo.succeed("status", endpoint=echo.rig.client).stdout
    assert (
        f"running, pid {daemon.pid}, answers in network namespace {netns} ({echo.rig.server.netns_path}) only\n" in text
    )
    assert echo.status(endpoint=echo.rig.client)["daemon"]["netns"] == netns


def test_what_a_killed_daemon_left_does_not_count(echo: Echo) -> None:
    """Its file still names its namespace, but it does not run."""
    echo.load()
    daemon = echo.serve()
    echo.end(daemon, signal.SIGKILL)
    echo.succeed("unload", echo.iface)
    detach_pass(echo)
    echo.succeed("load", echo.rig.client.iface, endpoint=echo.rig.client)


@needs_own_mounts
def test_private_mounts_are_refused(echo: Echo, tmp_path: Path) -> None:
    """As in `ip netns exec`: what is pinned there is gone with the command."""
    place = tmp_path / "bpf"
    prefix = (*OWN_MOUNTS, "env", f"STEPWISE_BPFFS={place}")
    for arguments in (("load", echo.iface), ("unload", echo.iface), ("status",), ("serve",), ("purge",)):
        sentence = echo.refuse(*arguments, prefix=prefix)
        assert f"no BPF file system at {place}" in sentence
        assert f"`nsenter --net={echo.rig.server.netns_path} COMMAND`" in sentence
    assert attached_in_kernel(echo) == (False, 0, 0)
    assert not place.exists()


@needs_own_mounts
def test_private_mounts_with_a_bpf_file_system_are_not(echo: Echo, client: Client) -> None:
    """The rig's is seen from there."""
    echo.succeed("load", echo.iface, prefix=OWN_MOUNTS)
    echo.serve(prefix=OWN_MOUNTS)
    assert client.ask(ADD, 1, 2, echo.rig.server.ipv4) == (ADDED, 1, 2)
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    assert echo.status(prefix=OWN_MOUNTS)["loaded"]


@needs_own_mounts
def test_a_container_mounts_its_own(echo: Echo, tmp_path: Path) -> None:
    """There, process 1 sees the same mounts: they last as long as the container."""
    place = tmp_path / "bpf"
    script = f'"{echo.daemon}" load {echo.iface} && "{echo.daemon}" unload {echo.iface} --purge'
    prefix = (*CONTAINER, "env", f"STEPWISE_BPFFS={place}", "sh", "-c", script, "sh")
    done = echo.rig.server.run(prefix, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"mounted a BPF file system at {place}" in done.stderr
    assert attached_in_kernel(echo) == (False, 0, 0)


def test_a_veth_without_a_program_on_its_peer(echo: Echo) -> None:
    """The kernel drops what XDP sends to it."""
    assert "warning" not in echo.succeed("load", echo.iface).stderr
    echo.succeed("unload", echo.iface)
    detach_pass(echo)
    said = echo.succeed("load", echo.iface).stderr
    assert (
        f"warning: {echo.iface} is a veth, and its peer (interface {echo.rig.client.ifindex} of another network "
        "namespace)" in said
    )
    assert "has no XDP program" in said
    assert "veth" not in echo.succeed("load", "lo", "--generic").stderr


def test_a_veth_with_both_ends_here(echo: Echo) -> None:
    with echo.rig.server.entered(), IPRoute() as route:
        route.link("add", ifname="near0", kind="veth", peer={"ifname": "far0"})
        far = route.link_lookup(ifname="far0")[0]
    assert f"its peer (interface {far}) has no XDP program" in echo.succeed("load", "near0").stderr
    echo.succeed("load", "far0")
    echo.succeed("unload", "near0")
    assert "warning" not in echo.succeed("load", "near0").stderr
