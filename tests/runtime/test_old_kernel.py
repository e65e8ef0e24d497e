"""Tests older kernels: a preloaded library hides what they lack (old_kernel.c)."""

from __future__ import annotations

import pytest

from tests.runtime.conftest import (
    ADD,
    ADDED,
    ASK,
    COMPLETED,
    EXIT_PRIVILEGE,
    Build,
    Client,
    Echo,
    Missing,
    process_status,
    wait_for,
)

CAP_BPF = 39


def test_without_tcx_a_filter_is_attached(echo: Echo, missing: Missing, client: Client) -> None:
    done = echo.succeed("load", echo.iface, prefix=missing("tcx"))
    assert f"the kernel has no tcx (6.6): attaching a clsact filter to {echo.iface}" in done.stderr
    [interface] = echo.status()["interfaces"]
    assert (interface["xdp"], interface["tc"]) == ("native", "clsact")
    echo.serve()
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    echo.succeed("unload", echo.iface)


def test_without_xdp_links_nothing_is_loaded(echo: Echo, missing: Missing) -> None:
    sentence = echo.refuse("load", echo.iface, prefix=missing("xdp_link,tcx"))
    assert "the kernel may be older than 5.9, which has no XDP links" in sentence
    assert not echo.base.exists()
    filters = echo.rig.server.run(
        ["tc", "qdisc", "show", "dev", echo.iface], capture_output=True, text=True, check=True
    )
    assert "clsact" not in filters.stdout


def test_without_xdp_sockets_all_goes_by_ring(echo: Echo, missing: Missing, client: Client) -> None:
    echo.succeed("load", echo.iface, prefix=missing("xdp_sockets"))
    echo.serve(prefix=missing("xdp_sockets"))
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    assert echo.status()["daemon"]["received_by_ring"] == 1


def test_a_queue_that_is_not_free_yet_is_waited_for(echo: Echo, missing: Missing, client: Client) -> None:
    """Under load the kernel takes its time to let go of what a daemon had that was killed."""
    echo.load()
    echo.serve(prefix=missing("free_queue"))
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    assert echo.status()["daemon"]["received_by_ring"] == 0


def test_a_locked_cell_is_read_with_the_privilege_it_takes(build: Build, missing: Missing, client: Client) -> None:
    echo = build("ECHO_SPIN_LOCK")
    echo.load()
    daemon = echo.serve("--user", "nobody", prefix=missing("map_lookup"))
    assert int(process_status(daemon.pid)["CapEff"], 16) == 1 << CAP_BPF
    assert client.ask(ADD, 7, 9, echo.rig.server.ipv4)[0] == ADDED
    assert client.ask(ASK, 7, 0, echo.rig.server.ipv4) == (COMPLETED, 7, 9)


@pytest.mark.parametrize("user", [None, "nobody"])
def test_keeps_only_what_a_test_run_takes(echo: Echo, missing: Missing, client: Client, user: str | None) -> None:
    echo.load()
    options = ["--user", user] if user else []
    daemon = echo.serve(*options, prefix=missing("test_run"))
    status = process_status(daemon.pid)
    for kind in ("CapPrm", "CapEff"):
        assert int(status[kind], 16) == 1 << CAP_BPF, kind
    for kind in ("CapInh", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0, kind
    client.ask(ADD, 5, 1000, echo.rig.server.ipv4)
    wait_for(lambda: echo.status()["daemon"]["sweep_cells_continued"] == 2, "the cell is swept")
    assert echo.status()["daemon"]["sweep_failed"] == 0
    returned, errors = echo.end(daemon)
    assert returned == 0 and "keeping CAP_BPF to run the sweep's programs and read the tables" in errors


def test_without_the_privilege_to_sweep(echo: Echo, missing: Missing) -> None:
    echo.load()
    prefix = ("setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-all", *missing("test_run"))
    sentence = echo.refuse("serve", code=EXIT_PRIVILEGE, prefix=prefix)
    assert (
        "cannot run the sweep's programs, or read the tables: Operation not permitted" in sentence
        and "as root" in sentence
    )


def test_without_membarrier_it_does_not_sweep(echo: Echo, missing: Missing) -> None:
    echo.load()
    sentence = echo.refuse("serve", prefix=missing("membarrier"))
    assert "cannot sweep: this kernel has no membarrier(MEMBARRIER_CMD_GLOBAL)" in sentence and "nohz_full=" in sentence
