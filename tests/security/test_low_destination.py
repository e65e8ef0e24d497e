"""Low: a router, or a port in promiscuous mode, answered for other hosts.

XDP sees packets that are not for this host.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from harness.live.server import Server, wait_until
from harness.rig import bpf
from tests.security.limiters import answers_locally, limiter, run, serves

OTHER_HOST = {4: "10.77.0.99", 6: "fd77::99"}
# 16 above the server's own in its last byte: see runtime/abi/stepwise_addresses.h
SAME_PLACE = {4: "10.77.0.17", 6: "fd77::11"}
NOBODY = [
    "0.0.0.0",
    "0.0.0.16",
    "0.0.0.1",
    "255.255.255.255",
    "10.77.0.255",
    "224.0.0.1",
    "127.0.0.1",
    "127.0.0.5",
    "::",
    "::10",
    "::1",
    "ff02::1",
]
FOLLOWED_SECONDS = 5
versions = pytest.mark.parametrize("version", [4, 6])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with limiter("destination") as loaded:
        loaded.start()
        yield loaded


def address_command(verb: str, address: str, device: str = "server0") -> str:
    prefix_bits, options = (128, " nodad" if verb == "add" else "") if ":" in address else (32, "")
    return f"ip address {verb} {address}/{prefix_bits} dev {device}{options}"


@versions
def test_its_own_address_is_served(server: Server, version: int) -> None:
    assert serves(server, server.rig.server.ipv4 if version == 4 else server.rig.server.ipv6)


@versions
def test_another_hosts_is_not(server: Server, version: int) -> None:
    assert not serves(server, OTHER_HOST[version])
    assert not serves(server, SAME_PLACE[version])


@pytest.mark.parametrize("address", NOBODY)
def test_nobodys_is_not(server: Server, address: str) -> None:
    """Also where its place among those that are looked at first is empty."""
    assert not serves(server, address)


@versions
def test_the_daemon_follows_what_comes_and_goes(server: Server, version: int) -> None:
    """Also where two addresses have one place."""
    own = server.rig.server.ipv4 if version == 4 else server.rig.server.ipv6
    for address in (OTHER_HOST[version], SAME_PLACE[version]):
        run(server, address_command("add", address))
        wait_until(lambda: serves(server, address), FOLLOWED_SECONDS, f"{address} to be served")
        assert serves(server, own)
        run(server, address_command("del", address))
        wait_until(lambda: not serves(server, address), FOLLOWED_SECONDS, f"{address} to be another's")
        assert serves(server, own)


def test_many_that_come_at_once(server: Server) -> None:
    """More than the daemon's socket has room for messages about."""
    addresses = [f"10.78.{upper}.{lower}" for upper in range(4) for lower in range(1, 251)]
    commands = "\n".join(f"address add {address}/32 dev server0" for address in addresses)
    server.rig.server.run(["ip", "-batch", "-"], input=commands, text=True, check=True)
    wait_until(lambda: serves(server, addresses[-1]), FOLLOWED_SECONDS, "the last to be served")
    assert all(serves(server, address) for address in addresses[::100])
    run(server, "ip address flush dev server0 to 10.78.0.0/16")
    wait_until(lambda: not serves(server, addresses[0]), FOLLOWED_SECONDS, "the first to be another's")
    assert not any(serves(server, address) for address in addresses[::100])
    assert serves(server, server.rig.server.ipv4)


@versions
def test_an_address_of_another_interface_is_this_hosts(server: Server, version: int) -> None:
    run(server, "ip link add other0 type veth peer name other1")
    try:
        run(server, "ip link set other0 up")
        run(server, address_command("add", OTHER_HOST[version], "other0"))
        wait_until(lambda: serves(server, OTHER_HOST[version]), FOLLOWED_SECONDS, "it to be served")
    finally:
        run(server, "ip link del other0")
    wait_until(lambda: not serves(server, OTHER_HOST[version]), FOLLOWED_SECONDS, "it to be another's")


def test_a_link_local_address_is_one_of_its_link(server: Server) -> None:
    run(server, "ip link add other0 type veth peer name other1")
    try:
        run(server, address_command("add", "fe80::7", "other0"))
        run(server, address_command("add", "fe80::8"))
        wait_until(lambda: serves(server, "fe80::8"), FOLLOWED_SECONDS, "that of the link to be served")
        assert not serves(server, "fe80::7")
    finally:
        run(server, "ip link del other0")
        run(server, address_command("del", "fe80::8"))


def test_an_address_that_may_be_anothers_is_not_served(server: Server) -> None:
    """The kernel itself takes no packets to it while it asks the link."""
    run(server, "sysctl -qw net.ipv6.conf.server0.accept_dad=1 net.ipv6.conf.server0.dad_transmits=60")
    try:
        run(server, f"ip address add {OTHER_HOST[6]}/128 dev server0")
        run(server, address_command("add", OTHER_HOST[4]))
        wait_until(lambda: serves(server, OTHER_HOST[4]), FOLLOWED_SECONDS, "what came later to be served")
        assert not serves(server, OTHER_HOST[6])
    finally:
        for version in (4, 6):
            run(server, address_command("del", OTHER_HOST[version]))
        run(server, "sysctl -qw net.ipv6.conf.server0.accept_dad=0 net.ipv6.conf.server0.dad_transmits=1")


# --- Without a daemon ----------------------------------------------------------------------------------------


@pytest.fixture
def alone() -> Iterator[Server]:
    """Loaded, and no daemon runs."""
    with limiter("alone") as loaded:
        yield loaded


def test_a_load_enters_what_there_is(alone: Server) -> None:
    assert serves(alone, alone.rig.server.ipv4) and serves(alone, alone.rig.server.ipv6)
    assert not serves(alone, OTHER_HOST[4]) and not serves(alone, OTHER_HOST[6])
    alone.unload()
    run(alone, address_command("add", OTHER_HOST[4]))
    alone.load()
    assert serves(alone, OTHER_HOST[4])
    alone.unload()
    run(alone, address_command("del", OTHER_HOST[4]))
    alone.load()
    assert not serves(alone, OTHER_HOST[4])


def test_a_daemon_enters_what_has_come_and_gone_before_it(alone: Server) -> None:
    run(alone, address_command("add", OTHER_HOST[4]))
    alone.start()
    assert serves(alone, OTHER_HOST[4])
    alone.kill()
    run(alone, address_command("del", OTHER_HOST[4]))
    assert serves(alone, OTHER_HOST[4]), "nobody tells the programs"
    alone.start()
    assert not serves(alone, OTHER_HOST[4])


def test_a_daemon_without_privileges_follows(alone: Server) -> None:
    daemon = alone.rig.server.popen([str(alone.build.daemon), "serve", "--user", "nobody"], stdout=-1, text=True)
    assert daemon.stdout.readline().startswith("READY")
    assert not serves(alone, OTHER_HOST[4])
    run(alone, address_command("add", OTHER_HOST[4]))
    wait_until(lambda: serves(alone, OTHER_HOST[4]), FOLLOWED_SECONDS, "it to be served")


def test_over_lo_every_destination_is_this_hosts(alone: Server) -> None:
    """The host's own routes decide: the kernel does not list 127.0.0.5 as an address."""
    alone.rig.server.run([str(alone.build.daemon), "load", "lo", "--generic"], check=True)
    for address in ("127.0.0.1", "127.0.0.5", alone.rig.server.ipv4):
        assert answers_locally(alone, address)
    assert not serves(alone, OTHER_HOST[4]), "where another host may be meant, it counts"
    alone.rig.server.run([str(alone.build.daemon), "unload", "lo"], check=True)


def test_another_network_namespace_has_other_addresses(alone: Server) -> None:
    """One set of programs knows those of one."""
    with alone.rig.client.entered():
        bpf.detach_xdp(alone.rig.client.ifindex)
    refused = alone.rig.client.run(
        [str(alone.build.daemon), "load", alone.rig.client.iface], capture_output=True, text=True
    )
    netns = os.stat(alone.rig.server.netns_path).st_ino
    assert refused.returncode == 1
    assert f"it is loaded on {alone.rig.server.iface} of network namespace {netns}" in refused.stderr
    refused = alone.rig.client.run([str(alone.build.daemon), "serve"], capture_output=True, text=True)
    assert refused.returncode == 1 and f"of another one ({netns})" in refused.stderr


@versions
def test_a_promiscuous_protocol_serves_all(version: int) -> None:
    with limiter("promiscuous", {"promiscuous": True}) as loaded:
        assert serves(loaded, OTHER_HOST[version])
        loaded.start()
        assert serves(loaded, SAME_PLACE[version])
        assert not serves(loaded, {4: "224.0.0.1", 6: "ff02::1"}[version])
