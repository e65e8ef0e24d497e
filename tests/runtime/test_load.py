"""Tests what is attached, what is refused, and what a failure leaves behind."""

from __future__ import annotations

import ctypes
import json
import os
import random
import struct
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from harness.rig import Rig, bpf
from tests.runtime.conftest import ADD, ADDED, EXIT_PRIVILEGE, ROOT, Build, Client, Echo

SYS_BPF = 321
BPF_PROG_QUERY = 16
TCX_EGRESS = 47
CLSACT_EGRESS = 0xFFFFFFF3

WITHOUT_PRIVILEGE = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
WITHOUT_MOUNTING = ("setpriv", "--bounding-set=-sys_admin")


def attachments(echo: Echo) -> list[tuple[str, str, str]]:
    return [(each["name"], each["xdp"], each["tc"]) for each in echo.status()["interfaces"]]


def tcx_program_count(echo: Echo, index: int) -> int:
    """Asked of the kernel by BPF_PROG_QUERY: neither bpftool nor pyroute2 of today knows tcx."""
    attributes = ctypes.create_string_buffer(struct.pack("=IIIIQI", index, TCX_EGRESS, 0, 0, 0, 0), 128)
    with echo.rig.server.entered():
        libc = ctypes.CDLL(None, use_errno=True)
        result = libc.syscall(SYS_BPF, BPF_PROG_QUERY, attributes, len(attributes))
    assert result == 0, os.strerror(ctypes.get_errno())
    return struct.unpack_from("=I", attributes, 24)[0]


def attached_in_kernel(echo: Echo, iface: str | None = None) -> tuple[bool, int, int]:
    """Whether XDP is attached, and how many tcx programs and TC filters: by what the kernel says, not by our
    own pins.
    """
    command = ["ip", "-json", "-details", "link", "show", iface or echo.iface]
    [link] = json.loads(echo.rig.server.run(command, capture_output=True, check=True).stdout)
    with echo.rig.server.entered(), IPRoute() as route:
        filters = list(route.get_filters(index=link["ifindex"], parent=CLSACT_EGRESS))
    return "xdp" in link, tcx_program_count(echo, link["ifindex"]), len(filters)


def assert_nothing_attached(echo: Echo, iface: str | None = None) -> None:
    assert attached_in_kernel(echo, iface) == (False, 0, 0)


def add_pair(rig: Rig, name: str, subnet: str) -> None:
    """Another link between the two namespaces. The client's end has a program, so that it gets what XDP sends."""
    with rig.server.entered(), IPRoute() as route, open(rig.client.netns_path, "rb") as target:
        route.link("add", ifname=name, kind="veth", peer={"ifname": f"{name}-peer", "net_ns_fd": target.fileno()})
    for endpoint, iface, host in ((rig.server, name, 1), (rig.client, f"{name}-peer", 2)):
        with endpoint.entered(), IPRoute() as route:
            index = route.link_lookup(ifname=iface)[0]
            route.addr("add", index=index, address=f"{subnet}.{host}", prefixlen=24)
            route.link("set", index=index, state="up")
            if endpoint is rig.client:
                program = bpf.load_xdp_pass()
                program.attach_xdp(index)
                os.close(program.fd)
        # XDP sees checksums that a card would finish as they are, unfinished, unless the sender is told not to rely on
        # one.
        endpoint.run(["ethtool", "-K", iface, "tx", "off"], capture_output=True, check=True)


def delete_interface(rig: Rig, name: str) -> None:
    with rig.server.entered(), IPRoute() as route:
        route.link("del", index=route.link_lookup(ifname=name)[0])


def test_load_attaches_and_status_says_so(echo: Echo, client: Client) -> None:
    done = echo.succeed("load", echo.iface)
    assert f"loaded on {echo.iface}: XDP native, TC tcx" in done.stderr
    assert attached_in_kernel(echo) == (True, 1, 0)
    assert client.ask(ADD, 7, 5, echo.rig.server.ipv4) == (ADDED, 7, 5)
    assert client.ask(ADD, 7, 5, echo.rig.server.ipv4) == (ADDED, 7, 10)

    status = echo.status()
    assert status["loaded"] and status["same_build"]
    assert attachments(echo) == [(echo.iface, "native", "tcx")]
    assert {each["name"] for each in status["programs"]} == {"echo_xdp", "echo_tc", "echo_sweep_1", "echo_sweep_2"}
    assert all(each["verified_insns"] > 0 and each["jited_bytes"] > 0 and each["id"] > 0 for each in status["programs"])
    [table] = status["tables"]
    assert (table["name"], table["capacity"], table["element_bytes"], table["bytes"]) == ("cell", 10000, 8, 80000)
    assert int.from_bytes(bpf.Map.pinned(table["pin"]).lookup(7), "little") == 10
    assert status["counters"] == {"foreign": 0, "added": 2, "forwarded": 0, "completed": 0}
    assert status["daemon"] == {"alive": False, "pid": None}


def test_status_in_text_and_for_prometheus(echo: Echo, client: Client) -> None:
    assert echo.succeed("status").stdout == "echo, UDP port 20999: not loaded\n"
    echo.load()
    client.ask(ADD, 1, 1, echo.rig.server.ipv4)
    text = echo.succeed("status").stdout
    assert text.startswith("echo, UDP port 20999: loaded\n")
    assert f"interface {echo.iface}" in text and "XDP native, TC tcx" in text and "daemon    not running" in text
    lines = echo.succeed("status", "--prometheus").stdout.splitlines()
    assert 'stepwise_packets_total{protocol="echo",counter="added"} 1' in lines
    assert 'stepwise_daemon_up{protocol="echo"} 0' in lines
    samples = [line for line in lines if not line.startswith("#")]
    assert all(float(line.rpartition(" ")[2]) >= 0 for line in samples)


def test_load_twice(echo: Echo, client: Client) -> None:
    echo.load()
    assert f"is already loaded on {echo.iface}; run `{echo.daemon} unload {echo.iface}` first" in echo.refuse(
        "load", echo.iface
    )
    assert client.ask(ADD, 0, 1, echo.rig.server.ipv4) == (ADDED, 0, 1)


def test_missing_interface(echo: Echo) -> None:
    sentence = echo.refuse("load", "nosuch0")
    assert "cannot load on nosuch0: there is no such interface in this network namespace" in sentence
    assert not echo.base.exists()


def test_no_native_mode_names_the_flag(echo: Echo) -> None:
    assert f"`{echo.daemon} load lo --generic` attaches it in generic mode" in echo.refuse("load", "lo")
    assert_nothing_attached(echo, "lo")
    assert not echo.base.exists()


def test_generic_mode_only_where_it_has_to_be(echo: Echo) -> None:
    done = echo.succeed("load", "lo", "--generic")
    assert "warning: lo has no native XDP: attaching in generic mode" in done.stderr
    done = echo.succeed("load", echo.iface, "--generic")
    assert "warning" not in done.stderr
    assert sorted(attachments(echo)) == [("lo", "generic", "tcx"), (echo.iface, "native", "tcx")]


def test_clsact_filter_comes_and_goes(echo: Echo) -> None:
    echo.load(None, "--clsact")
    assert attachments(echo) == [(echo.iface, "native", "clsact")]
    xdp, tcx, filters = attached_in_kernel(echo)
    assert xdp and not tcx and filters
    echo.succeed("unload", echo.iface)
    assert_nothing_attached(echo)


def test_another_program_is_attached(echo: Echo) -> None:
    program = bpf.load_xdp_pass()
    with echo.rig.server.entered():
        program.attach_xdp(echo.rig.server.ifindex)
    os.close(program.fd)
    for options in ((), ("--clsact",)):
        sentence = echo.refuse("load", echo.iface, *options)
        assert "another XDP program (id " in sentence and "(id 0)" not in sentence
        assert not echo.base.exists()
        with echo.rig.server.entered(), IPRoute() as route:
            assert [each.get_attr("TCA_KIND") for each in route.get_qdiscs(index=echo.rig.server.ifindex)] == [
                "noqueue"
            ]


def test_mtu_is_too_large(echo: Echo) -> None:
    with echo.rig.client.entered(), IPRoute() as route:
        route.link("set", index=echo.rig.client.ifindex, mtu=9000)
    assert "`ip link set dev server0 mtu 1500` makes it smaller" in echo.refuse("load", echo.iface)
    assert_nothing_attached(echo)
    assert not echo.base.exists()


def test_no_privilege(echo: Echo) -> None:
    sentence = echo.refuse("load", echo.iface, code=EXIT_PRIVILEGE, prefix=WITHOUT_PRIVILEGE)
    assert "lacks CAP_BPF" in sentence and "CAP_NET_ADMIN" in sentence and "run it as root" in sentence
    assert "lacks CAP_BPF" in echo.refuse("unload", echo.iface, code=EXIT_PRIVILEGE, prefix=WITHOUT_PRIVILEGE)
    assert not echo.base.exists()


def test_status_without_privilege(echo: Echo) -> None:
    echo.load()
    sentence = echo.refuse(
        "status", code=EXIT_PRIVILEGE, prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    )
    assert "cannot open" in sentence and "run this as root" in sentence


def test_no_bpf_file_system(echo: Echo, tmp_path: Path) -> None:
    for path, prefix, code, words in (
        (str(tmp_path), WITHOUT_MOUNTING, EXIT_PRIVILEGE, f"run `mount -t bpf bpf {tmp_path}`"),
        ("/proc/nowhere", (), 1, "cannot make the directory"),
    ):
        sentence = echo.refuse("load", echo.iface, code=code, prefix=(*prefix, "env", f"STEPWISE_BPFFS={path}"))
        assert f"no BPF file system at {path}" in sentence
        assert words in sentence and "STEPWISE_BPFFS" in sentence
    assert_nothing_attached(echo)


def test_relative_paths_are_refused(echo: Echo) -> None:
    done = echo.run("status", prefix=("env", "STEPWISE_RUN=here"))
    assert done.returncode == 2 and "STEPWISE_RUN is here: it must be an absolute path" in done.stderr


def test_mounts_a_bpf_file_system(echo: Echo, tmp_path: Path) -> None:
    place = tmp_path / "not" / "there" / "yet"
    prefix = ("env", f"STEPWISE_BPFFS={place}")
    try:
        done = echo.succeed("load", echo.iface, prefix=prefix)
        assert f"mounted a BPF file system at {place}" in done.stderr
        assert f" {place} bpf " in Path("/proc/mounts").read_text()
        assert (place / "stepwise/echo/state/tables/cell").exists()
        assert "mounted" not in echo.succeed("unload", echo.iface, "--purge", prefix=prefix).stderr
        assert_nothing_attached(echo)
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_pinned_tables_of_another_layout(echo: Echo, build: Build, client: Client) -> None:
    other = build("ECHO_LAYOUT=0x9876")
    echo.load()
    client.ask(ADD, 3, 4, echo.rig.server.ipv4)
    echo.succeed("unload", echo.iface)

    sentence = other.refuse("load", other.iface)
    assert "of another layout (0000000000001234, this build's is 0000000000009876)" in sentence
    assert f"`{other.daemon} purge`" in sentence
    assert_nothing_attached(other)
    echo.load()
    assert client.ask(ADD, 3, 1, echo.rig.server.ipv4) == (ADDED, 3, 5), "the refused load has changed nothing"
    echo.succeed("unload", echo.iface)

    other.succeed("purge")
    other.load()
    assert client.ask(ADD, 3, 1, echo.rig.server.ipv4) == (ADDED, 3, 1)


def test_another_build_waits_for_the_first_to_go(echo: Echo, build: Build, client: Client) -> None:
    newer = build("ECHO_VERSION=100")
    echo.load()
    client.ask(ADD, 2, 1, echo.rig.server.ipv4)
    assert "another build of echo is loaded on server0" in newer.refuse("load", "lo", "--generic")
    assert newer.status()["same_build"] is False and newer.status()["counters"] is None
    daemon = echo.serve()
    echo.succeed("unload", echo.iface)
    assert f"a daemon of another build of echo is running (pid {daemon.pid})" in newer.refuse("load", newer.iface)
    assert "another build of it is loaded" in newer.refuse("serve")
    assert echo.end(daemon)[0] == 0

    newer.load()
    assert client.ask(ADD, 2, 1, echo.rig.server.ipv4) == (ADDED, 2, 102), "the newer build goes on with the tables"
    assert newer.status()["counters"]["added"] == 1, "what the older build counted went with it"


@pytest.mark.parametrize(
    "define, words",
    [
        ("ECHO_MISSING_FUNCTION=", "has no function bpf_function_of_the_future"),
        ("ECHO_MISSING_FUNCTION=__weak", "has no function bpf_function_of_the_future"),
        ("ECHO_MISSING_HELPER", "has no helper number 9999"),
    ],
)
def test_kernel_lacks_a_feature(build: Build, define: str, words: str) -> None:
    broken = build(define)
    sentence = broken.refuse("load", broken.iface)
    assert f"this kernel ({os.uname().release}) {words}" in sentence
    assert_nothing_attached(broken)
    assert not broken.base.exists()


def test_verifier_refuses(build: Build) -> None:
    broken = build("ECHO_REFUSED")
    sentence = broken.refuse("load", broken.iface)
    assert "verifier refused program echo_xdp; its log is in " in sentence
    log = Path(sentence.rpartition(" ")[2])
    assert log.parent == Path(broken.rig.run_directory)
    assert "invalid access to packet" in log.read_text() and "processed" in log.read_text()
    assert_nothing_attached(broken)
    assert not broken.base.exists()


def test_not_enough_memory(build: Build) -> None:
    cells = 0xFFFF_0000
    memory = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    if memory > cells * 16:
        pytest.skip("this machine has room for a table of 64 GiB")
    large = build("ECHO_SPIN_LOCK", f"ECHO_CAPACITY={cells}u")
    assert "its tables need 65535 MiB, but only" in large.refuse("load", large.iface)
    assert not large.base.exists()


def test_unload(echo: Echo, client: Client) -> None:
    assert f"echo is not loaded on {echo.iface}, nor on any other interface" in echo.refuse("unload", echo.iface)
    echo.load()
    client.ask(ADD, 9, 9, echo.rig.server.ipv4)
    assert f"echo is not loaded on lo; `{echo.daemon} status` shows where it is" in echo.refuse("unload", "lo")
    elsewhere = echo.refuse("unload", echo.iface, endpoint=echo.rig.client)
    assert "but in another one" in elsewhere
    assert f"`nsenter --net={echo.rig.server.netns_path} {echo.daemon} unload server0`" in elsewhere
    echo.succeed("unload", echo.iface)
    assert_nothing_attached(echo)
    assert "echo is not loaded on" in echo.refuse("unload", echo.iface)
    assert echo.status()["loaded"], "the programs stay for the daemon's sweep"

    echo.load()
    assert client.ask(ADD, 9, 1, echo.rig.server.ipv4) == (ADDED, 9, 10), "the tables stay"


def test_purge(echo: Echo, client: Client) -> None:
    assert "cannot purge echo: it has nothing in" in echo.refuse("purge")
    echo.load()
    client.ask(ADD, 9, 9, echo.rig.server.ipv4)
    assert "cannot purge echo: it is loaded on server0" in echo.refuse("purge")
    daemon = echo.serve()
    echo.succeed("unload", echo.iface)
    assert f"its daemon is running (pid {daemon.pid})" in echo.refuse("purge")
    echo.end(daemon)
    echo.succeed("purge")
    assert not echo.base.exists()

    echo.load()
    assert client.ask(ADD, 9, 1, echo.rig.server.ipv4) == (ADDED, 9, 1)
    echo.succeed("unload", echo.iface, "--purge")
    assert not echo.base.exists()
    assert echo.status()["loaded"] is False


def test_several_interfaces_share_the_tables(echo: Echo, client: Client) -> None:
    add_pair(echo.rig, "second.100", "10.78.0")
    echo.load()
    echo.load("second.100", "--clsact")
    assert attachments(echo) == [(echo.iface, "native", "tcx"), ("second.100", "native", "clsact")]
    first_id = echo.status()["programs"][0]["id"]
    assert client.ask(ADD, 4, 1, echo.rig.server.ipv4) == (ADDED, 4, 1)
    assert client.ask(ADD, 4, 1, "10.78.0.1") == (ADDED, 4, 2)
    echo.succeed("unload", echo.iface)
    assert attachments(echo) == [("second.100", "native", "clsact")]
    assert client.ask(ADD, 4, 1, "10.78.0.1") == (ADDED, 4, 3)
    echo.load()
    assert echo.status()["programs"][0]["id"] == first_id, "the same programs serve them all"


def test_status_from_another_namespace(echo: Echo) -> None:
    echo.load()
    [interface] = echo.status(endpoint=echo.rig.client)["interfaces"]
    assert interface["name"] == echo.iface and interface["here"] is False and interface["gone"] is False
    assert interface["netns"] == os.stat(echo.rig.server.netns_path).st_ino
    assert f"in network namespace {interface['netns']}" in echo.succeed("status", endpoint=echo.rig.client).stdout


def test_an_interface_that_went_away(echo: Echo, client: Client) -> None:
    add_pair(echo.rig, "brief", "10.79.0")
    echo.load("brief")
    assert client.ask(ADD, 5, 1, "10.79.0.1") == (ADDED, 5, 1)
    delete_interface(echo.rig, "brief")
    [interface] = echo.status()["interfaces"]
    assert interface["gone"] and interface["name"] == "brief"
    assert "gone: unload it" in echo.succeed("status").stdout
    echo.succeed("unload", "brief")
    assert attachments(echo) == []

    add_pair(echo.rig, "brief", "10.79.0")
    echo.load("brief")
    delete_interface(echo.rig, "brief")
    add_pair(echo.rig, "brief", "10.79.0")
    echo.load("brief")
    assert client.ask(ADD, 5, 1, "10.79.0.1") == (ADDED, 5, 2)
    assert attachments(echo) == [("brief", "native", "tcx")], "the pins of the one that is gone are gone as well"


@pytest.mark.parametrize("killed, then", [("tcx", "tcx"), ("clsact", "clsact"), ("clsact", "tcx")])
def test_load_killed_at_any_moment(echo: Echo, client: Client, killed: str, then: str) -> None:
    """Whatever a killed load leaves, the next one either finds it whole or starts over."""
    options = {"tcx": [], "clsact": ["--clsact"]}
    attached = {}
    for mode in {killed, then}:
        echo.load(None, *options[mode])
        attached[mode] = attached_in_kernel(echo)
        echo.succeed("unload", echo.iface, "--purge")
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    finished = 0
    for _ in range(20):
        loader = echo.rig.server.popen([echo.daemon, "-q", "load", echo.iface, *options[killed]])
        time.sleep(moments.uniform(0, 0.05))
        loader.kill()
        loader.wait()
        done = echo.run("load", echo.iface, *options[then])
        assert done.returncode == 0 or "is already loaded on" in done.stderr, (seed, done.stderr)
        finished += done.returncode != 0
        assert attached_in_kernel(echo) == attached[killed if done.returncode else then], seed
        assert client.ask(ADD, 1, 1, echo.rig.server.ipv4) == (ADDED, 1, 1), seed
        assert not (echo.base / "staging").exists()
        echo.succeed("unload", echo.iface, "--purge")
        assert_nothing_attached(echo)
    assert finished < 20, "no load was killed before its end"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("load",), "load needs one INTERFACE, not 0"),
        (("load", "a", "b"), "load needs one INTERFACE, not 2"),
        (("status", "x"), "status accepts no argument"),
        (("status", "--generic"), "status does not accept --generic"),
        (("unload", "x", "--clsact"), "unload does not accept --clsact"),
        (("reload",), "unknown command reload; the commands are load, unload, purge, status, serve and stop"),
        (("--nonsense",), "unrecognized option '--nonsense'"),
        ((), "load INTERFACE [--first] [--generic]"),
    ],
)
def test_usage(echo: Echo, arguments: tuple[str, ...], words: str) -> None:
    done = echo.run(*arguments)
    assert done.returncode == 2 and words in done.stderr


def test_version(echo: Echo) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert echo.succeed("--version").stdout == f"echod {project['version']}\n"


def test_help(echo: Echo) -> None:
    done = echo.succeed("--help")
    assert "echod serve" in done.stdout and done.stderr == ""
