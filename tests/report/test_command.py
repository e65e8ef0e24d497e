"""Tests `python -m harness.report`: where it writes, what it prints, and its messages for mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report import made_up

REPOSITORY = Path(__file__).resolve().parents[2]


def report(*arguments: object, results: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"STEPWISE_RESULTS": str(results)}
    command = [sys.executable, "-m", "harness.report", *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)


def test_it_writes_the_page_and_sums_it_up(folder, tmp_path):
    done = report("--output", tmp_path / "new/page.html", results=folder)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new/page.html").read_text().startswith("<!DOCTYPE html>")
    assert (
        "Mutants      ✓ holds    2 of 2 mutants caught as they must be; of commit 0123456789, not HEAD\n" in done.stdout
    )
    assert "Conformance  ✗ 1 fault" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"{tmp_path}/new/page.html: 8 runs")


def test_without_any_results_it_says_what_to_run(tmp_path):
    done = report("--output", tmp_path / "page.html", results=tmp_path / "none")
    assert done.returncode == 0, done.stderr
    assert "Kernels      – not run  not run: `just kernels`\n" in done.stdout


def test_an_earlier_report_is_compared(folder, tmp_path):
    assert report("--output", tmp_path / "old.html", results=folder).returncode == 0
    found = made_up.everything()
    found["check/ticket"]["models"][0]["distinct"] = 4_400
    new = made_up.write(tmp_path / "new", found)
    for old in (tmp_path / "old.html", folder):
        done = report("--results", new, "--compare", old, "--output", tmp_path / "new.html", results=tmp_path / "other")
        assert done.returncode == 0, done.stderr
        assert "Models: 1 change, 1 as before\n  changed  ticket/small: distinct states  4,000 -> 4,400" in done.stdout
        assert "+400 (+10.0%)" in (tmp_path / "new.html").read_text()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--results", "nowhere"], "report: error: there is no folder of results nowhere"),
        (["--compare", "nowhere"], "report: error: cannot read the results in nowhere: No such file"),
        (["--compare", "pyproject.toml"], "report: error: pyproject.toml is neither a folder of results nor a report"),
        (["--output", "harness"], "report: error: cannot write harness: Is a directory"),
    ],
)
def test_a_mistake_is_a_sentence(arguments, said, tmp_path):
    done = report(*arguments, results=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(said) and "Traceback" not in done.stderr
