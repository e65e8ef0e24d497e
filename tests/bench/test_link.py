"""The client in XDP: packets that go round, are counted, come back at the stop, and are missed when they do not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.bench.build import Build, compile_bpf
from harness.bench.link import Link
from harness.protocols import REPOSITORY
from harness.rig import Rig, bpf

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """A build without a protocol: the workload of tests/bench/echo against a reflector of the tests."""
    home = tmp_path_factory.mktemp("echo")
    include = [HERE / "echo", REPOSITORY / "runtime"]
    sources = [REPOSITORY / "harness/bench/client.bpf.c", REPOSITORY / "harness/bench/reflector.bpf.c", HERE / "echo/lossy.bpf.c"]
    client, reflector, lossy = (compile_bpf(source, home, include) for source in sources)
    codec = SimpleNamespace(WIRE_SIZE=20, PORT=20999)
    return Build("echo", None, codec, [], lossy, client, reflector, Path("/nonexistent"))


@pytest.fixture
def link(echo):
    with Rig("bench") as rig:
        link = Link(rig, echo, cpu=0)
        try:
            yield link
        finally:
            link.close()


def attach(link: Link, path: Path, program: str) -> bpf.Object:
    opened = bpf.Object.open(path)
    with link.rig.server.entered():
        opened.program(program).attach_xdp(link.rig.server.ifindex)
    return opened


def test_packets_go_round_and_all_come_back(link):
    with attach(link, link.build.reflector_object, "bench_reflector"):
        states = link.blank_states([[0] * 5 for _ in range(8)])
        first = link.fly(states, [1], 0.2)
        sent = [words[0] for words in states.words]
        second = link.fly(states, [1], 0.2)
    for flight in (first, second):
        assert flight.lost == () and flight.slots == 8
        assert flight.outcomes[0] > 1000 and flight.outcomes[1:] == (0,) * 7
        assert flight.rate > 10_000 and flight.cpu_ns > 20
    assert sum(sent) == first.outcomes[0]
    assert all(later[0] > earlier for later, earlier in zip(states.words, sent)), "the second goes on where the first ended"


@pytest.mark.parametrize("with_checksum", [False, True])
def test_losses_and_wrong_answers_are_seen(link, with_checksum):
    with attach(link, link.build.server_object, "lossy") as lossy:
        flight = link.fly(link.blank_states([[0] * 5 for _ in range(4)]), [256], 0.2, with_checksum=with_checksum)
        assert int.from_bytes(lossy.variable("seen").read(), "little") > 1000
        checksums = int.from_bytes(lossy.variable("with_checksum").read(), "little")
        assert lossy.variable("bad_checksums").read() == bytes(8)
    assert checksums > 1000 if with_checksum else checksums == 0
    assert flight.lost == (1,)
    assert flight.outcomes[1] > 100 and flight.outcomes[0] > flight.outcomes[1]


def test_the_driver_and_the_server_take_turns(link):
    from harness.bench.program import Driver

    driver = Driver(link)
    with attach(link, link.build.reflector_object, "bench_reflector") as reflector:
        states = link.blank_states([[0] * 5])
        server = SimpleNamespace(program=reflector.program("bench_reflector"))
        spent_ns = driver.paired_ns(server, states, [1])
    driver.close()
    assert states.words[0][0] > 1_000_000, "the workload's number counts the requests"
    assert -20 < spent_ns < 500
