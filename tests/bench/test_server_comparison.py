"""Tests how runs that others disturb are handled, on a fake link."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from harness.bench.link import Flight, SlotStates
from harness.bench.server_comparison import TRIES_MAX, Contest, Settings
from harness.bench.workload import Workload

PLUGIN = SimpleNamespace(OUTCOMES=("none", "some"), EXPECTED_OUTCOMES=("some",))
POLLER = SimpleNamespace(resume=lambda: None, pause=lambda: None)


@dataclass
class Made:
    """A server whose runs have these shares of the CPU, one after the other."""

    shares: list[float]
    name: str = "generated"
    polls_itself: bool = False
    keeps: bool = False
    forgets_sessions: bool = False
    link: SimpleNamespace = field(init=False)

    def __post_init__(self):
        self.link = SimpleNamespace(fly=self._fly)

    def _fly(self, states, workload, seconds, **_):
        return Flight(1, seconds, 1000, (0, 1000), self.shares.pop(0), ())

    def states(self, clients):
        return SlotStates([[0] for _ in clients], [b""] * len(clients))

    def counters(self):
        return {}


def flown(server: Made) -> tuple[Flight, int, dict]:
    """A run, how often it was made, and the notes."""
    contest = Contest(PLUGIN, 0, [server], Settings(1, 1.0, 1, False, False), one=(POLLER,))
    begun = []
    flight = contest.fly(server, "all", Workload([1]), 1, 1.0, begins=lambda: begun.append(None))
    return flight, len(begun), contest.notes


def test_a_run_that_is_disturbed_is_made_again():
    flight, times, notes = flown(Made([0.004, 0.7, 0.97]))
    assert (flight.cpu_share, flight.counts, times, notes) == (0.97, True, 3, {})


@pytest.mark.parametrize(
    "share, counts, words",
    [(0.7, True, "for part of the time"), (0.004, False, "for most of the time: DOES NOT COUNT")],
)
def test_one_that_stays_disturbed_says_so(share, counts, words):
    flight, times, notes = flown(Made([share] * TRIES_MAX))
    assert (flight.counts, times) == (counts, TRIES_MAX)
    assert words in notes["generated", "all"][0]


def test_a_server_that_waits_by_itself_is_not_disturbed():
    flight, times, notes = flown(Made([0.3], name="kernel UDP", polls_itself=True))
    assert (flight.counts, times) == (True, 1) and "for part of the time" in notes["kernel UDP", "all"][0]
