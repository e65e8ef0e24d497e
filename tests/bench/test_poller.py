"""Pollers start and stop around a block."""

from __future__ import annotations

import os

import pytest

from harness.bench.build import BenchError
from harness.bench.poller import polling


class Refusing:
    """A poller that stays stopped: pausing the real one would wait for its next stop without end."""

    def resume(self) -> None:
        raise BenchError("deferring the interrupts")

    def pause(self) -> None:
        raise AssertionError("it never went on")


def test_one_that_does_not_go_on_is_not_waited_for():
    with pytest.raises(BenchError, match="deferring"), polling(Refusing()):
        pass
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
