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


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Results of a protocol that exists. The command leaves out all others."""
    return made_up.write(tmp_path_factory.mktemp("limiter") / "results", made_up.of("limiter"))


def test_it_writes_the_page_and_sums_it_up(folder, tmp_path):
    done = report("--output", tmp_path / "new/page.html", results=folder)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new/page.html").read_text().startswith("<!DOCTYPE html>")
    said = "2 of 2 faults noticed by the right check; of commit 0123456789, not HEAD; not run: `just mutants`"
    assert f"Seeded faults     ◐ partly   {said}\n" in done.stdout
    said = "14 of 18 faults killed (77.8%), 1 stopped TLC, 1 refused; 2 survivors with a reason"
    said += "; of commit 0123456789, not HEAD"
    assert f"Step faults       ◐ partly   {said}; not run: `just mutants --steps session`; " in done.stdout
    assert "Conformance       ✗ 1 fault" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"{tmp_path}/new/page.html: 12 runs")


def test_a_protocol_that_no_longer_exists_is_left_out(folder, tmp_path):
    both = made_up.write(tmp_path / "both", made_up.of("gone"), began=made_up.BEGAN - 100)
    made_up.write(both, made_up.of("limiter"))
    pages = []
    for at, results in enumerate((folder, both)):
        done = report("--output", tmp_path / f"{at}.html", results=results)
        assert done.returncode == 0, done.stderr
        pages.append((tmp_path / f"{at}.html").read_text())
    of_limiter, of_both = (page[: page.index("<h3>Versions</h3>")] for page in pages)
    assert "gone" not in of_both.replace("NoTicketTwice", "")
    assert [line for line in of_both.splitlines() if "made on" not in line] == [
        line for line in of_limiter.splitlines() if "made on" not in line
    ]


def test_without_any_results_it_says_what_to_run(tmp_path):
    done = report("--output", tmp_path / "page.html", results=tmp_path / "none")
    assert done.returncode == 0, done.stderr
    assert "Kernels           – not run  not run: `just kernels`\n" in done.stdout


def test_an_earlier_report_is_compared(folder, tmp_path):
    assert report("--output", tmp_path / "old.html", results=folder).returncode == 0
    found = made_up.of("limiter")
    found["check/limiter"]["models"][0]["distinct"] = 4_400
    new = made_up.write(tmp_path / "new", found)
    for old in (tmp_path / "old.html", folder):
        done = report("--results", new, "--compare", old, "--output", tmp_path / "new.html", results=tmp_path / "other")
        assert done.returncode == 0, done.stderr
        assert (
            "Model checking: 1 change, 1 as before\n  changed  limiter/small: distinct states  4,000 -> 4,400"
            in done.stdout
        )
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
