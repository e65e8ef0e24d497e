"""Tests files of results: written whole, read again, and refused if they are something else."""

from __future__ import annotations

import re
import time

import pytest
from pydantic import BaseModel

from harness.results import FORMAT, ResultsError, Run, begin, commit, folder, read, read_all


class Numbers(BaseModel):
    """Stands for the findings of a command."""

    rows: list[int]


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("STEPWISE_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


def test_what_is_kept_is_read_again(results):
    run = Run(time.time() - 3, "a commit")
    path = run.keep("check", "lock", Numbers(rows=[1, 2]))
    assert path == results / "check/lock.json" and folder() == results
    kept = read(path)
    assert (kept.command, kept.subject, kept.found) == ("check", "lock", {"rows": [1, 2]})
    assert kept.began == pytest.approx(run.began, abs=0.01) and kept.seconds >= 3 and kept.commit == "a commit"
    run.keep("check", "lock", Numbers(rows=[]))
    run.keep("bench", "kv", Numbers(rows=[3]))
    assert [(each.command, each.found) for each in read_all()] == [("bench", {"rows": [3]}), ("check", {"rows": []})]
    assert sorted(file.name for file in results.rglob("*") if file.is_file()) == ["kv.json", "lock.json"]


def test_the_commit_is_that_of_this_repository_or_nothing():
    assert re.fullmatch(r"([0-9a-f]{40}\+?)?", commit()) and begin().commit == commit()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", f'{{"format": {FORMAT}}}', f'{{"format": {FORMAT + 1}}}', '{"format": 1, "other": 2}']
)
def test_what_is_no_file_of_results_is_refused_by_name(results, text):
    path = results / "check/kv.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(ResultsError, match="check/kv.json"):
        read_all()


def test_a_folder_that_cannot_be_written_is_named(results):
    results.write_text("a file")
    with pytest.raises(ResultsError, match="STEPWISE_RESULTS"):
        begin().keep("check", "lock", Numbers(rows=[]))
