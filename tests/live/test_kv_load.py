"""Runs many clients of the store at once: while the daemon is killed, and with little room for waiting requests."""

from __future__ import annotations

import random
import socket

import pytest

from harness.fuzz.kill import kill_under_load
from harness.live.build import build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.kv.live.client import Entry, KvCaller, KvSession

LEAST = 1  # bytes of a receive buffer: the kernel makes the least of it that it gives


def test_killed_daemon_loses_nothing():
    report = kill_under_load("kv", seconds=5, period_seconds=0.7)
    assert report.problems == []
    assert report.history.holds and report.kills >= 3
    assert report.load["faults"] > 0 and report.load["given_up"] > 0
    assert report.load["read_back"] == report.load["read_back_due"] > 0
    assert 0.1 < report.rare_share < 1


def test_half_of_the_rare_path_lost():
    """Every key of every bucket is still written, and read in the end."""
    report = kill_under_load("kv", seconds=6, period_seconds=None, receive_buffer=LEAST, standstill_seconds=0.02)
    assert report.problems == []
    assert report.history.holds
    assert report.lost_share >= 0.5
    assert report.load["operations"] > 1000
    assert report.load["read_back"] == report.load["read_back_due"] > 0


@pytest.mark.parametrize("waiting", [2, 5])
def test_daemon_that_got_all_it_has_room_for_goes_on(waiting):
    """It kept the chunks of the batch until the next, and none was left for what would have called for one."""
    override = {
        "types": {"client": "u3", "note": "u7"},
        "constants": {"Ways": 1, "Sessions": 8, "SessionsOfPeer": 8, "Notes": 128},
        "tables": {"bucket": {"capacity": 1}, "page": {"capacity": 1}},
    }
    built, choose = build("kv", override), random.Random(waiting)
    with Rig("kvb") as rig, Server(rig, built, LEAST) as server:
        server.clear()
        server.start()
        callers = []
        for _ in range(waiting):
            connection = rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM)
            connection.connect((rig.server.ipv4, built.protocol.port))
            callers.append(KvCaller(KvSession(built.codec), connection, patient=True))
            callers[-1].open(choose, 8)
        for key in range(waiting + 1):
            assert callers[0].insert(key, b"%d" % key).is_done
        with server.standing_still():
            for key, caller in enumerate(callers):
                caller._connection.send(caller.session.get(key, caller.now_ns())[1])
        for key, caller in enumerate(callers):
            assert caller.get(key) == Entry(1, b"%d" % key)
