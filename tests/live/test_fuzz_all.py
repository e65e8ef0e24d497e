"""Tests fuzzing runs of all kinds.

A run depends on its seed alone. A finding is saved, and fails again as long as the fault is there.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
from pathlib import Path

import pytest

from harness import histories
from harness.base.command import counted
from harness.fuzz import campaign, kinds
from harness.fuzz.__main__ import main
from harness.fuzz.campaign import Plan, derived
from harness.fuzz.kill import APART, kill_waits
from harness.fuzz.kinds import Kind, Round, Turn
from harness.fuzz.replay import replay
from harness.fuzz.round import Order, play_alone
from harness.fuzz.saved import Example, Load, read, save_example, save_history, save_load
from harness.fuzz.shrink import shrunk
from harness.histories import transactions
from harness.live.build import build
from harness.live.load import finish_load, start_load
from harness.live.plugin import LiveError, NotPlayed
from harness.live.server import Server
from harness.mutants.catalogue import CaughtBy, Edit, Mutant
from harness.mutants.scratch import Scratch
from harness.rig.netns import Rig

REPOSITORY = Path(__file__).resolve().parents[2]
HISTORIES = REPOSITORY / "tests/histories"
FORGETS_WHAT_IT_GAVE = Mutant(
    name="tokens are given and not taken",
    protocol="limiter",
    edits=(Edit(file="spec/limiter/LimiterSteps.tla", old="!.tokens = level - msg.amount", new="!.tokens = level"),),
    caught_by=CaughtBy(test="tests/live/test_fuzz_all.py"),
)

SHARES_WHAT_IS_EXCLUSIVE = Mutant(
    name="a shared request joins an exclusive holder",
    protocol="lock",
    edits=(
        Edit(
            file="spec/lock/LockSteps.tla",
            old='[] lock.mode = "Exclusive" ->\n         HeldExclusive :: A',
            new='[] lock.mode = "Exclusive" /\\ msg.mode = "Exclusive" ->\n         HeldExclusive :: A',
        ),
        # A long history is made small for long.
        Edit(file="harness/fuzz/kinds.py", old="LOAD_SECONDS = 6", new="LOAD_SECONDS = 2"),
    ),
    caught_by=CaughtBy(test="tests/live/test_fuzz_all.py"),
)


# --- The same seed, the same run ------------------------------------------------------------------


@pytest.fixture
def played(monkeypatch, tmp_path):
    """Kinds that play nothing and write down their turns; results are kept elsewhere."""
    monkeypatch.setenv("STEPWISE_RESULTS", str(tmp_path / "results"))
    turns: list[tuple[str, Turn]] = []

    def kind(name: str, fails_at: int | None = None) -> Kind:
        def play(turn: Turn) -> Round:
            turns.append((name, turn))
            return Round(10, "played", "wrong" if turn.number == fails_at else None)

        return Kind("things", lambda protocol: "of no use" if protocol == "limiter" and name == "kill" else None, play)

    monkeypatch.setattr(
        campaign, "KINDS", {"examples": kind("examples"), "kill": kind("kill"), "crash": kind("crash", fails_at=1)}
    )
    return turns


def run(plan: Plan) -> tuple[list[campaign.Stage], list[str]]:
    said: list[str] = []
    return campaign.run(plan, said.append), said


def test_a_seed_says_which_rounds_there_are_and_the_time_how_many(played):
    run(Plan(["kv", "limiter"], ["examples", "kill"], seed=5, rounds=2))
    first = played[:]
    assert [(name, turn.protocol, turn.number) for name, turn in first] == [
        ("examples", "kv", 0),
        ("examples", "limiter", 0),
        ("kill", "kv", 0),
        ("examples", "kv", 1),
        ("examples", "limiter", 1),
        ("kill", "kv", 1),
    ]
    assert len({turn.seed for _, turn in first}) == 6
    played.clear()
    run(Plan(["kv", "limiter"], ["examples", "kill"], seed=5, minutes=0.0005))
    assert played[: len(first)] == first[: len(played)] and played
    played.clear()
    run(Plan(["kv"], ["kill"], seed=5, rounds=1, first=1))
    assert played == [first[-1]]
    played.clear()
    run(Plan(["kv", "limiter"], ["examples", "kill"], seed=6, rounds=2))
    assert not {turn.seed for _, turn in played} & {turn.seed for _, turn in first}


def test_seeds_are_ones_that_every_kind_takes():
    seeds = {derived(seed, "kill", "kv", number) for seed, number in itertools.product((0, 1, 2**64), range(50))}
    assert len(seeds) == 150 and all(1 <= seed < 2**32 for seed in seeds)


def test_what_has_failed_is_kept_and_the_others_go_on(played, tmp_path):
    stages, said = run(Plan(["kv"], ["examples", "crash"], seed=5, rounds=3))
    assert [(stage.kind, stage.rounds, stage.has_failed) for stage in stages] == [
        ("examples", 3, False),
        ("crash", 2, True),
    ]
    assert "the same round: just fuzz kv --only crash --seed 5 --first 1 --rounds 1" in said
    kept = json.loads((tmp_path / "results/fuzz/kv.json").read_text())["found"]
    assert kept["seed"] == 5 and kept["failures"] == [{"text": "crash 1: wrong", "saved": None}]
    assert [(stage["name"], stage["count"], stage["faults"]) for stage in kept["stages"]] == [
        ("examples", 30, 0),
        ("crash", 20, 1),
    ]
    end = list(campaign.told(Plan(["kv"], [], seed=5), stages, 60))
    assert end[-1] == "seed 5: 5 rounds in 1.0 minutes: FAILED: kv crash"


def test_what_cannot_be_played_is_said_and_given_up_and_is_no_failure(played, monkeypatch):
    def play(_: Turn) -> Round:
        raise NotPlayed("there is no compiler")

    monkeypatch.setitem(campaign.KINDS, "kill", Kind("things", lambda _: None, play))
    stages, said = run(Plan(["kv"], ["examples", "kill"], seed=5, rounds=4))
    assert [(stage.rounds, stage.unplayed, stage.has_failed) for stage in stages] == [(4, 0, False), (0, 2, False)]
    assert said.count("NOT PLAYED kv kill 0: there is no compiler") == 1
    end = list(campaign.told(Plan(["kv"], [], seed=5), stages, 60))
    assert end[1:] == ["2 rounds could not be played: see above", "seed 5: 4 rounds in 1.0 minutes: nothing was found"]


def test_what_was_not_reached_is_said(played):
    stages, said = run(Plan(["kv", "limiter"], ["kill"], seed=5, minutes=1e-9))
    assert said == ["limiter: no kill: of no use"]
    assert "the time ended before the first round of kv kill" in campaign.told(Plan(["kv"], [], seed=5), stages, 0)
    with pytest.raises(LiveError, match="limiter cannot be fuzzed: they have none of kill"):
        run(Plan(["limiter"], ["kill"], seed=5, rounds=1))


def test_a_round_plays_the_same_examples_whatever_was_played_before():
    order = Order("limiter", variant=0, seed=11, examples=3)
    first = play_alone(order)
    assert first.failure == "" and first.counts["examples"] >= 3
    assert play_alone(order).digest == first.digest
    assert play_alone(Order("limiter", variant=0, seed=12, examples=3)).digest != first.digest


def test_kills_are_of_the_seed():
    waits = list(itertools.islice(kill_waits(2.0, seed=3), 20))
    assert (
        waits
        == list(itertools.islice(kill_waits(2.0, seed=3), 20))
        != list(itertools.islice(kill_waits(2.0, seed=4), 20))
    )
    assert min(waits) >= 2.0 * APART[0] and max(waits) <= 2.0 * APART[1] and len(set(waits)) == 20
    assert list(kill_waits(None, seed=3)) == []


def test_what_clients_of_a_load_ask_for_is_of_the_seed(tmp_path):
    """With packets lost and late, and threads that run as they can: a client asks for the same, one after the other."""

    def asked(seed: int) -> dict[str, list[tuple[str, str]]]:
        history = tmp_path / "history.txt"
        with Rig("plan") as rig, Server(rig, build("limiter")) as server:
            server.start()
            spec = {"load": {"clients": 4, "threads": 2, "faults": 5}, "options": {"keys": 1000, "amount": 20}}
            finish_load(start_load(server, 0.3, history, spec, seed))
        by_client: dict[str, list[tuple[str, str]]] = {}
        for operation in sorted(histories.read(history), key=lambda each: each.call):
            by_client.setdefault(operation.client, []).append((operation.key, operation.argument))
        return by_client

    first, again, other = asked(3), asked(3), asked(4)
    assert first.keys() == again.keys() and len(first) == 4
    for client, requests in first.items():
        length = min(len(requests), len(again[client]))
        assert length > 20 and requests[:length] == again[client][:length]
    assert all(requests[:20] != other[client][:20] for client, requests in first.items())


# --- What has failed ------------------------------------------------------------------------------


def test_a_fault_that_is_seeded_is_found_saved_and_found_again(capsys):
    """The file fails where the fault is, and passes on what is really there."""
    scratch = Scratch("fuzz")
    scratch.prepare(FORGETS_WHAT_IT_GAVE)
    ran = scratch.run("-m", "harness.fuzz", "limiter", "--only", "examples", "--seed", "1", "--rounds", "1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    line = next(line for line in ran.stdout.splitlines() if line.startswith("saved: just fuzz replay "))
    name = line.split()[-1]
    path = scratch.root / name
    example = read(path, Example)
    assert name.startswith("tests/regressions/examples/limiter/") and len(example.moves) <= 5
    again = scratch.run("-m", "harness.fuzz", "replay", name)
    assert again.returncode == 1 and f"FAILED {name}: {example.failure}" in again.stdout, again.stdout + again.stderr
    assert main(["replay", str(path), "--quiet"]) == 0
    assert f"ok {path}: {counted(len(example.moves), 'move')}, all as in the reference" in capsys.readouterr().out


def test_a_load_that_fails_is_saved_with_its_history_and_fails_again(capsys):
    scratch = Scratch("fuzz")
    scratch.prepare(SHARES_WHAT_IS_EXCLUSIVE)
    ran = scratch.run("-m", "harness.fuzz", "lock", "--only", "kill", "--seed", "1", "--rounds", "1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    name = next(line for line in lines if line.startswith("saved: just fuzz replay ")).split()[-1]
    history = next(line for line in lines if line.strip().startswith("its history, made small: ")).split()[-1]
    path = scratch.root / name
    load = read(path, Load)
    assert (load.kind, load.protocol, load.failure) == ("kill", "lock", "the history is not linearizable")
    assert replay(scratch.root / history).agrees
    again = scratch.run("-m", "harness.fuzz", "replay", name)
    assert again.returncode == 1 and "PROBLEM: the history is not linearizable" in again.stdout, (
        again.stdout + again.stderr
    )
    assert main(["replay", str(path)]) == 0
    assert f"ok {path}: " in capsys.readouterr().out


def test_a_load_that_fails_without_a_wrong_history_is_saved(monkeypatch, tmp_path):
    failed = Round(10, "played", "daemon killed 3 times\nPROBLEM: left over: a lock\nPROBLEM: and more")
    monkeypatch.setitem(kinds.LOADS, "crash", lambda turn: failed)
    monkeypatch.setattr(kinds, "save_load", functools.partial(save_load, regressions=tmp_path))
    played = kinds.KINDS["crash"].play(Turn("log", 3, seed=99, receive_buffer=1))
    assert (
        played.failure == failed.failure and played.saved is not None and played.saved.parent == tmp_path / "loads/log"
    )
    load = read(played.saved, Load)
    assert (load.kind, load.seed, load.receive_buffer, load.failure) == ("crash", 99, 1, "left over: a lock")
    monkeypatch.setitem(kinds.LOADS, "crash", lambda turn: Round(1, f"seed {turn.seed}"))
    assert replay(played.saved).text == "seed 99"
    assert kinds.KINDS["crash"].play(Turn("log", 4, seed=100)).saved is None


def test_an_example_is_read_as_it_was_written(tmp_path):
    example = Example(
        protocol="limiter",
        variant={"tables": {"bucket": {"capacity": 2}}},
        actors=3,
        seed=7,
        failure='"no": {3}',
        moves=[("begin", {"moves": [1, 2]}), ("deliver", {"which": 0, "stays": True})],
    )
    path = save_example(example, tmp_path)
    assert path.parent == tmp_path / "examples/limiter" and read(path, Example) == example
    assert save_example(example, tmp_path) == path


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("{\n", "this is not valid YAML"),
        ('{"protocol": "limiter"}\n', "the file has no variant"),
        (
            '{"protocol": "limiter", "variant": {}, "actors": 1, "seed": 1, "failure": "", "moves": [["teardown", '
            "{}]]}\n",
            "'teardown' is not a move",
        ),
    ],
)
def test_what_cannot_be_replayed_is_a_sentence(text, complaint, tmp_path, capsys):
    path = tmp_path / "limiter/wrong.json"
    path.parent.mkdir()
    path.write_text(text)
    assert main(["replay", str(path)]) == 2
    assert complaint in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "nothing.json")]) == 2
    assert "nothing.json: it does not exist" in capsys.readouterr().err


# --- Histories ------------------------------------------------------------------------------------


def lock_history(path: Path, keys: int, wrong: int) -> Path:
    """Locks taken and given back on many keys; on one of them two clients have it at once, somewhere in the middle."""
    draws, lines, now = random.Random(keys), [], 0
    for number in range(40 * keys):
        key, now = number % keys, now + 10
        lines += [
            f"{number} {key} acquire Exclusive Granted {now} {now + 1}",
            f"{number} {key} release - Released {now + 2} {now + 3}",
        ]
        if number == 20 * keys + wrong:
            lines.insert(-1, f"999 {key} acquire Exclusive Granted {now + 1} {now + 2}")
    draws.shuffle(lines)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_a_refused_history_is_cut_to_its_key_and_to_its_beginning(tmp_path):
    history = lock_history(tmp_path / "history.txt", keys=8, wrong=3)
    assert histories.check("lock", [history]).key == "3"
    short = shrunk("lock", history)
    left = list(histories.read(short))
    assert {operation.key for operation in left} == {"3"}
    assert len(left) < 2 * 22 + 2, "what came after it is there still"
    assert not histories.check("lock", [short]).linearizable
    saved = save_history("lock", short, "found by a test", tmp_path)
    assert saved.parent == tmp_path / "histories/lock" and saved.read_text().startswith("# found by a test\n# commit ")
    assert replay(saved).agrees
    good = saved.with_name("good.txt")
    good.write_text((HISTORIES / "lock/good.txt").read_text())
    assert not replay(good).agrees


def test_a_history_that_is_good_stays_as_it_is(tmp_path):
    history = tmp_path / "history.txt"
    history.write_text((HISTORIES / "lock/good.txt").read_text())
    assert list(histories.read(shrunk("lock", history))) == list(histories.read(history))


def test_of_transactions_only_those_that_show_it_are_left(tmp_path):
    """Two write what both have read, among many that did nothing wrong on other keys."""
    lines = []
    for number in range(100):
        client, key, now = number + 10, number % 10 + 5, 100 * number
        version = number // 10
        locked = f"Granted:{version}" if version else "Granted"
        lines += [
            f"{client} {key} lock - {locked} {now} {now + 1}",
            f"{client} {key} write {number + 1} Committed:{version + 1} {now + 2} {now + 3}",
            f"{client} 0 end - Committed {now} {now + 3}",
        ]
    lines += [
        "1 1 write 71 Committed:1 1 2",
        "1 2 write 72 Committed:1 1 2",
        "1 0 end - Committed 1 2",
        "2 1 read 71 Value:1 50 51",
        "2 2 lock - Granted:1 50 51",
        "2 2 write 73 Committed:2 52 90",
        "2 0 end - Committed 50 90",
        "3 2 read 72 Value:1 50 51",
        "3 1 lock - Granted:1 50 51",
        "3 1 write 74 Committed:2 52 90",
        "3 0 end - Committed 50 90",
        "4 7 read 3 Value:1 300 301",
        "4 0 end - Committed 300 301",
    ]
    history = tmp_path / "history.txt"
    history.write_text("".join(f"{line}\n" for line in lines))
    before = transactions.check([history])
    assert not before.serializable
    short = shrunk("occ", history)
    assert {operation.client for operation in histories.read(short)} == {"1", "2", "3"}
    after = transactions.check([short])
    assert not after.serializable and after.anomaly == before.anomaly
