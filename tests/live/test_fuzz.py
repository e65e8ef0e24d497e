"""Fuzzes the real programs on a veth: a few examples pass, and a wrong reference is found out."""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis.errors import Flaky

from harness.base import yaml_documents
from harness.fuzz.__main__ import main
from harness.fuzz.machine import Stage
from harness.fuzz.run import play
from harness.live import plugin
from harness.live.build import build
from harness.live.server import Server
from harness.rig.netns import Rig
from spec.kv.live import reference as kv_reference
from spec.kv.live.client import StoreSession
from spec.lock.live.reference import Actor, Reference

VARIANTS = plugin.workload("lock").fuzz["variants"]
KV_VARIANTS = plugin.workload("kv").fuzz["variants"]


class Forgetful(Reference):
    """Thinks that a release changes nothing."""

    def apply(self, message, outcome):
        if outcome != "RELEASED":
            super().apply(message, outcome)


class Careless(kv_reference.Reference):
    """Thinks that an insert begins with version 1, whatever was deleted."""

    def version_of(self, kind, key):
        return 1 if kind == "INSERTED" else super().version_of(kind, key)


class OneByOne(kv_reference.Actor):
    """Has one operation in a message. An example with several is shrunk for minutes."""

    opens = StoreSession


def find_fault(monkeypatch, seed: int) -> list[str]:
    """Returns the failure of a round against the forgetful reference."""
    monkeypatch.setattr(plugin, "reference", lambda _: SimpleNamespace(Reference=Forgetful, Actor=Actor))
    with pytest.raises(AssertionError) as failure:
        play("lock", VARIANTS[1], 3, seed, 10, shrink=False)
    rules = [line for note in failure.value.__notes__ for line in note.split("\n") if line.startswith("state.")]
    return [str(failure.value), *rules]


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_round_agrees_with_the_reference(variant):
    counted = play("lock", VARIANTS[variant], 4, seed=variant + 1, examples=6)
    assert counted["examples"] >= 6
    wanted = ("end.1", "end.2", "tc.end.1", "begin.answer_again", "garbled")
    for seed in range(100 * variant + 10, 100 * variant + 30):  # when a retry meets its answer is a matter of luck
        if all(counted[name] for name in wanted):
            break
        counted += play("lock", VARIANTS[variant], 4, seed=seed, examples=6)
    for name in wanted:
        assert counted[name] > 0, f"no packet was counted as {name}: {counted}"


def test_store_agrees_with_a_dict():
    counted, wanted = (
        Counter(),
        ("recall_one.4", "recalled.3", "tc.end.1", "tc.end.2", "end.3", "end.4", "garbled", "kills"),
    )
    for seed in range(1, 20):  # when a retry meets its answer is a matter of luck
        counted += play("kv", KV_VARIANTS[seed % len(KV_VARIANTS)], 4, seed, examples=5)
        if seed >= len(KV_VARIANTS) and all(counted[name] for name in wanted):
            break
    for name in wanted:
        assert counted[name] > 0, f"no packet was counted as {name}: {counted}"


def test_wrong_store_is_found_out_and_the_example_is_short(monkeypatch):
    """Shrunk, an example has little but what it takes: an open, an insert, a delete, an insert."""
    monkeypatch.setattr(plugin, "reference", lambda _: SimpleNamespace(Reference=Careless, Actor=OneByOne))
    message = r"INSERTED has version 2 of key \d+, but should have 1"
    with pytest.raises(AssertionError, match=message) as failure:
        for seed in range(1, 20):
            try:
                play("kv", KV_VARIANTS[1], 2, seed, 40)
            except Flaky as once:  # the daemon's turn comes by the clock, so a shorter example may fail only once
                assert re.search(message, "".join(once.__notes__)), once
    arrived = [line for note in failure.value.__notes__ for line in note.split("\n") if " arrived: " in line]
    asked = Counter(line.split()[0] for line in arrived)  # the last insert may be answered late, by the daemon
    assert asked["Insert"] >= 2 and asked["Delete"] >= 1, arrived
    assert len(arrived) < 20, arrived


def test_protocol_without_sessions_and_daemon():
    for seed, variant in enumerate(plugin.workload("limiter").fuzz["variants"]):
        counted = play("limiter", variant, 3, seed, examples=5)
        assert counted["on_take.2"] > 0 and counted["on_take.3"] > 0, counted


def test_wrong_reference_is_found_out_and_the_seed_replays_it(monkeypatch):
    first, again = find_fault(monkeypatch, seed=5), find_fault(monkeypatch, seed=5)
    assert "should keep" in first[0] or "expected" in first[0]
    assert len(first) > 2 and first == again


def test_server_is_blank_again_for_every_example():
    built = build("lock", VARIANTS[0])
    with Rig("fuzz") as rig, Server(rig, built) as server:
        stage = Stage(server, plugin.reference("lock"), 1)
        server.start()
        blank = server.tables()
        server.write("lock", 0, {"mode": "Exclusive", "holders": frozenset({1}), "spilled": 0})
        assert server.tables() != blank
        server.kill()
        stage.reset()
        assert server.tables() == blank and server.is_running
        stage.close()


def test_a_daemon_that_stands_still_is_waited_for():
    """Requests that arrive while it stands still are answered when it goes on. It may be killed meanwhile."""
    counted = Counter()
    for seed in range(40, 60):
        counted += play("lock", VARIANTS[0], 4, seed=seed, examples=6)
        if counted["late"]:
            break
    assert counted["late"] > 0
    built = build("lock", VARIANTS[0])
    with Rig("fuzz") as rig, Server(rig, built) as server:
        server.start()
        with server.standing_still():
            assert server.is_running and not server.is_serving
        assert server.is_serving
        with server.standing_still():
            server.kill()
        assert not server.is_running
        server.start()
        assert server.is_serving
        with pytest.raises(AssertionError, match="of an example"), server.standing_still():
            raise AssertionError("of an example")
        assert not server.is_running


def test_without_a_reference_it_is_a_sentence(capsys, monkeypatch):
    monkeypatch.setattr(plugin, "has_reference", lambda protocol: protocol != "limiter")
    assert main(["limiter", "--only", "examples", "--rounds", "1"]) == 2
    said = capsys.readouterr()
    assert "limiter cannot be fuzzed" in said.err and "spec/limiter/live/reference.py does not exist" in said.out
    assert "FAILED" not in said.out


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["--minutes", "1", "--rounds", "1"], "--minutes and --rounds both limit the run: give only one of them"),
        (["--minutes", "nan"], "'nan' is not a number of minutes: give one above 0"),
        (["--rounds", "0"], "0 rounds play nothing: give 1 or more"),
        (["--seed", "-1"], "'-1' is not a number: give 0 or more"),
        (["--only", "nothing"], "invalid choice: 'nothing'"),
    ],
)
def test_mistakes_of_the_command_line_are_sentences(capsys, arguments, complaint):
    with pytest.raises(SystemExit, match="2"):
        main(["limiter", *arguments])
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, complaint",
    [
        (
            "fuzz: {actor: 2}\n",
            "spec/limiter/live/workload.yaml:1:8: error: unknown key fuzz.actor (did you mean actors?); "
            "known here: actors, variants; see "
            "docs/reference/live.md",
        ),
        ("fuzz:\n  actors: none\n", ':2:3: error: fuzz.actors is "none"; it must be a whole number'),
        ("demo: {phases: [{title: a}]}\n", "error: demo.phases.0 has no seconds; add it"),
        ("fuzz: [\n", ":2:1: error: this is not valid YAML: "),
        ("play: {}\n", "error: unknown key play; known here: fuzz, kill, crash, demo"),
    ],
)
def test_a_workload_that_is_wrong(tmp_path, monkeypatch, text, complaint):
    (tmp_path / "spec/limiter/live").mkdir(parents=True)
    (tmp_path / "spec/limiter/live/workload.yaml").write_text(text)
    monkeypatch.setattr(plugin, "SPEC", tmp_path / "spec")
    monkeypatch.setattr(yaml_documents, "REPOSITORY", tmp_path)
    with pytest.raises(plugin.LiveError) as error:
        plugin.workload("limiter")
    assert complaint in str(error.value)


def test_unknown_protocol_is_a_sentence(capsys):
    assert main(["nothing", "--rounds", "1"]) == 2
    assert "there is no protocol 'nothing'" in capsys.readouterr().err
