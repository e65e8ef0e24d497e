"""Tests that clients gather by themselves what is asked for at once, in Python and in C."""

from __future__ import annotations

import random
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.base.protocols import REPOSITORY
from harness.live.server import wait_until
from spec.lib.live.gathering import Gathering

MOST = 16
INCLUDE = ["spec/lock/live", "spec/lib/live", "harness/live", "generated/lock", "runtime", "runtime/abi"]

Wanted = tuple[int, int]


class Caller:
    """A caller with made-up answers. A message is on its way until `may_answer` is set."""

    session = SimpleNamespace(codec=SimpleNamespace(OPERATIONS_MAX=MOST))

    def __init__(self) -> None:
        self.messages: list[list[Wanted]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    @staticmethod
    def key_of(wanted: Wanted) -> int:
        return wanted[0]

    def ask(self, wanted: Wanted) -> str:
        (outcome,) = self._answered([wanted])
        return f"{outcome} alone"

    def gather(self, wanted: Sequence[Wanted]) -> list[str]:
        return self._answered(list(wanted))

    def _answered(self, wanted: list[Wanted]) -> list[str]:
        self.messages.append(wanted)
        assert self.may_answer.wait(10)
        if any(key == 13 for key, _ in wanted):
            raise ValueError("unlucky")
        return [f"{key}.{number}" for key, number in wanted]


@pytest.fixture
def caller() -> Caller:
    return Caller()


def test_one_that_is_asked_for_alone_goes_out_by_itself(caller):
    gathering = Gathering(caller)
    assert [gathering.ask((key, 0)) for key in range(3)] == ["0.0 alone", "1.0 alone", "2.0 alone"]
    assert caller.messages == [[(0, 0)], [(1, 0)], [(2, 0)]]


def test_all_that_one_asks_for_at_once_goes_in_few_messages(caller):
    wanted = [(key, 0) for key in range(100, 133)]
    outcomes = Gathering(caller).ask_all(wanted)
    assert outcomes == [f"{key}.0" for key in range(100, 132)] + ["132.0 alone"]
    assert caller.messages == [wanted[:16], wanted[16:32], wanted[32:]]
    assert Gathering(caller).ask_all([]) == []


def test_those_on_one_key_go_one_after_the_other(caller):
    wanted = [(1, 0), (1, 1), (2, 2), (1, 3), (3, 4), (2, 5)]
    Gathering(caller).ask_all(wanted)
    assert caller.messages == [[(1, 0), (2, 2), (3, 4)], [(1, 1), (2, 5)], [(1, 3)]]


class Asking(threading.Thread):
    """Asks for one operation. Keeps the outcome, or the error."""

    def __init__(self, gathering: Gathering[Wanted], wanted: Wanted) -> None:
        super().__init__(daemon=True)
        self.gathering, self.wanted, self.found = gathering, wanted, ""

    def run(self) -> None:
        try:
            self.found = self.gathering.ask(self.wanted)
        except ValueError as error:
            self.found = str(error)


def asked_during_a_message(caller: Caller, keys: Sequence[int]) -> list[str]:
    """Outcomes of threads that ask for the keys while the message of another one, for key 0, is on its way."""
    gathering = Gathering(caller)
    caller.may_answer.clear()
    first = Asking(gathering, (0, 0))
    first.name = "first"
    first.start()
    wait_until(lambda: caller.messages, 10, "the first message")
    others = [Asking(gathering, (key, 0)) for key in keys]
    for number, each in enumerate(others, 1):
        each.start()
        wait_until(lambda number=number: len(gathering._waiting) == number, 10, "an operation to wait")
    caller.may_answer.set()
    for each in (first, *others):
        each.join(10)
    assert first.found == "0.0 alone"
    return [each.found for each in others]


def test_what_threads_ask_for_meanwhile_goes_together(caller):
    keys = range(100, 120)
    assert asked_during_a_message(caller, keys) == [f"{key}.0" for key in keys]
    assert [len(message) for message in caller.messages] == [1, 16, 4]


def test_an_error_is_that_of_all_in_its_message(caller):
    keys = [*range(100, 115), 13, *range(115, 118)]
    found = asked_during_a_message(caller, keys)
    assert found == ["unlucky"] * 16 + ["115.0", "116.0", "117.0"]


def test_a_thread_whose_operations_are_done_sends_no_others(caller):
    """A thread that waits does so."""
    senders: list[str] = []
    caller.gather = lambda wanted: senders.append(threading.current_thread().name) or ["" for _ in wanted]
    asked_during_a_message(caller, range(100, 132))
    assert len(senders) == 2 and "first" not in senders


# --- In C ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("gathering") / "gathering"
    include = [f"-I{REPOSITORY / folder}" for folder in INCLUDE]
    options = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    source = Path(__file__).with_name("gathering.c")
    subprocess.run(["gcc", *options, *include, "-o", str(made), str(source)], check=True)
    return made


def messages_of(program: Path, words: Sequence[str]) -> list[list[Wanted]]:
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    return [
        [(int(key), int(number)) for key, number in (word.split(":") for word in line.split())]
        for line in done.stdout.splitlines()
    ]


@pytest.mark.parametrize("seed", range(8))
def test_c_makes_the_same_messages_as_python(program, caller, seed):
    choose = random.Random(seed)
    wanted = [(100 + choose.randrange(1 + 10 * seed), number) for number in range(choose.randrange(1, 150))]
    Gathering(caller).ask_all(wanted)
    assert messages_of(program, [str(key) for key, _ in wanted]) == caller.messages


def test_c_takes_what_was_asked_for_meanwhile(program):
    words = ["1", "-", "2", "2", "3", "-", "2", "4"]
    assert messages_of(program, words) == [[(1, 0)], [(2, 2), (3, 4)], [(2, 3), (4, 7)], [(2, 6)]]
