"""Tests the client in XDP: its packets circulate, are counted, return at the stop, and are missed if they do not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.base.protocols import REPOSITORY, RUNTIME_INCLUDE
from harness.bench.build import Client, compile_bpf
from harness.bench.link import Link
from harness.bench.program import Driver
from harness.bench.workload import Interval, Workload, mixed, uniform
from harness.rig import Rig, bpf

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """A build without a protocol: the workload of tests/bench/echo against a reflector of the tests."""
    home = tmp_path_factory.mktemp("echo")
    include = [HERE / "echo", *RUNTIME_INCLUDE]
    sources = [
        REPOSITORY / "harness/bench/client.bpf.c",
        REPOSITORY / "harness/bench/reflector.bpf.c",
        HERE / "echo/lossy.bpf.c",
    ]
    client, reflector, lossy = (compile_bpf(source, home, include) for source in sources)
    return SimpleNamespace(client=Client(client, 20999, 20), reflector=reflector, lossy=lossy)


@pytest.fixture
def link(echo):
    with Rig("bench") as rig:
        link = Link(rig, echo.client, cpu=0)
        try:
            yield link
        finally:
            link.close()


def attach(link: Link, path: Path, program: str) -> bpf.Object:
    opened = bpf.Object.open(path)
    with link.rig.server.entered():
        opened.program(program).attach_xdp(link.rig.server.ifindex)
    return opened


def test_packets_go_round_and_all_come_back(link, echo):
    with attach(link, echo.reflector, "bench_reflector"):
        states = link.blank_states([[0] * 5 for _ in range(8)])
        first = link.fly(states, Workload([1]), 0.2)
        sent = [words[0] for words in states.words]
        second = link.fly(states, Workload([1]), 0.2)
    for flight in (first, second):
        assert flight.lost == () and flight.slots == 8
        assert flight.outcomes[0] > 1000 and flight.outcomes[1:] == (0,) * 6
        assert flight.rate > 10_000 and flight.cpu_ns > 20
    assert sum(sent) == first.outcomes[0]
    assert all(later[0] > earlier for later, earlier in zip(states.words, sent)), (
        "the second goes on where the first ended"
    )


@pytest.mark.parametrize("with_checksum", [False, True])
def test_losses_and_wrong_answers_are_seen(link, echo, with_checksum):
    with attach(link, echo.lossy, "lossy") as lossy:
        flight = link.fly(
            link.blank_states([[0] * 5 for _ in range(4)]), Workload([256]), 0.2, with_checksum=with_checksum
        )
        assert int.from_bytes(lossy.variable("seen").read(), "little") > 1000
        checksums = int.from_bytes(lossy.variable("with_checksum").read(), "little")
        assert lossy.variable("bad_checksums").read() == bytes(8)
    assert checksums > 1000 if with_checksum else checksums == 0
    assert flight.lost == (1,)
    assert flight.outcomes[1] > 100 and flight.outcomes[0] > flight.outcomes[1]


def test_slots_whose_answers_do_not_come_go_on(link, echo):
    with attach(link, echo.lossy, "lossy"):
        flight = link.fly(link.blank_states([[0] * 5 for _ in range(4)]), Workload([256]), 0.5, goes_on=True)
    assert flight.given_up >= 5, "slot 1 is sent on every other look"
    assert flight.outcomes[0] > 1000


def test_numbers_are_shared_out_once_each_and_then_the_slots_stop(link, echo):
    with attach(link, echo.reflector, "bench_reflector"):
        states = link.blank_states([[0] * 5 for _ in range(8)])
        flight = link.run_out(states, Workload([1, 1000]))
    assert sum(flight.outcomes) == 1000 + 8, "1000 answers, and the eight that were none"
    assert sum(words[1] for words in states.words) == sum(range(1000))


def test_numbers_are_drawn_as_often_as_the_workload_says(link, echo):
    numbers = mixed((0.25, uniform(10)), (0.75, (Interval(100, 1, 1.0), Interval(200, 3, 3.0))))
    with attach(link, echo.reflector, "bench_reflector"):
        states = link.blank_states([[0] * 5 for _ in range(8)])
        flight = link.fly(states, Workload([1, 0, 1], numbers), 0.3)
    below, one, three = (sum(words[at] for words in states.words) for at in (2, 3, 4))
    drawn = below + one + three
    assert drawn == sum(flight.outcomes) > 10_000
    assert abs(below / drawn - 0.25) < 0.02 and abs(one / drawn - 0.1875) < 0.02 and abs(three / drawn - 0.5625) < 0.02


def test_the_driver_and_the_server_take_turns(link, echo):
    driver = Driver(link, echo.reflector)
    with attach(link, echo.reflector, "bench_reflector") as reflector:
        states = link.blank_states([[0] * 5])
        server = SimpleNamespace(program=reflector.program("bench_reflector"))
        driver.paired_ns(server, states, Workload([1]))
    driver.close()
    assert states.words[0][0] > 1_000_000, "the workload's number counts the requests"
