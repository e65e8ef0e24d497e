"""Checks the arguments of `just bench`."""

from __future__ import annotations

import sys

import pytest

from harness.bench.__main__ import PARTS, QUICK, parse
from harness.bench.workload import ends


@pytest.mark.parametrize(
    "words, protocols, parts",
    [
        ([], [], PARTS),
        (["all", "--quick"], [], QUICK),
        (["kv", "lock", "--only", "load", "--only", "cores"], ["kv", "lock"], ["load", "cores"]),
    ],
)
def test_everything_is_run_unless_less_is_asked_for(monkeypatch, words, protocols, parts):
    monkeypatch.setattr(sys, "argv", ["bench", *words])
    arguments = parse()
    assert arguments.protocols == protocols and list(arguments.only) == list(parts)


@pytest.mark.parametrize("points, wanted", [([], []), ([8], [8]), ([1, 16], [1, 16]), ([1, 4, 8, 16], [1, 16])])
def test_a_quick_run_measures_the_ends(points, wanted):
    assert ends(points) == wanted


@pytest.mark.parametrize(
    "words, message",
    [
        (["--only", "nothing"], "invalid choice: 'nothing'"),
        (["--quick", "--only", "load"], "--quick and --only both choose what to run"),
        (["--slots", "2000"], "slots 1..1024"),
    ],
)
def test_mistakes_get_a_sentence(monkeypatch, capsys, words, message):
    monkeypatch.setattr(sys, "argv", ["bench", *words])
    with pytest.raises(SystemExit):
        parse()
    assert message in capsys.readouterr().err
