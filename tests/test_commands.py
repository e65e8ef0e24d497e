"""Runs the commands of the justfile on every protocol, as a user types them. Their output is in build/test/."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
OUTPUT = REPOSITORY / "build/test"
MINUTE_S = 60

# What `just test` runs besides pytest's other tests: the command, and the minutes it may take. All models are checked
# in tests/check, and all protocols' conformance is in tests/conform. All mutants are hunted by `just nightly`.
COMMANDS = {
    "fresh": 2,
    "veristat": 2,
    "kernels limiter --kernel host --smoke": 2,
    "check limiter": 2,
    "conform limiter": 5,
    "bench all --quick --runs 1 --seconds 0.1": 15,
    "mutants --steps lock --sample 16": 15,
    # It comes last, because it reuses what TLC has evaluated for conformance, which the other worker runs meanwhile.
    "mutants --sample 10": 20,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command, record_command):
    OUTPUT.mkdir(parents=True, exist_ok=True)
    log = OUTPUT / f"{command.replace(' ', '_')}.log"
    began = time.monotonic()
    with log.open("wb") as sink:
        try:
            done = subprocess.run(
                ["just", *command.split()],
                check=False,
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                timeout=COMMANDS[command] * MINUTE_S,
            )
            code = str(done.returncode)
        except subprocess.TimeoutExpired:
            code = f"nothing after {COMMANDS[command]} minutes"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    record_command(f"just {command}"[:24], time.monotonic() - began, lines[-1].strip() if lines else "")
    assert code == "0", f"`just {command}` ended with {code}; {log.relative_to(REPOSITORY)} ends with\n" + "\n".join(
        lines[-40:]
    )


def test_every_recipe_is_documented_and_grouped():
    listed = subprocess.run(
        ["just", "--list", "--unsorted"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    recipes = [line.strip() for line in listed.splitlines()[1:] if line.strip() and not line.strip().startswith("[")]
    wanted = (
        "bench build check conform demo docker fill fresh fuzz generate kernels lint load mutants nightly prove "
        "purge recover report serve status test unload veristat"
    )
    assert sorted({line.split()[0] for line in recipes}) == wanted.split()
    assert all("#" in line for line in recipes), "a recipe without a comment"
    assert listed.index("[") < listed.index("check"), "a recipe outside of the groups"


def test_bootstrap_does_nothing_the_second_time():
    """Only where it has run a first time, which is the case in CI."""
    if not (REPOSITORY / "build/tools/bootstrap.stamp").exists():
        pytest.skip("./bootstrap has not run here")
    subprocess.run(["./bootstrap"], cwd=REPOSITORY, check=True, capture_output=True)
    done = subprocess.run(["./bootstrap"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["==> everything is installed"]


def test_bootstrap_refuses_what_it_does_not_know():
    done = subprocess.run(["./bootstrap", "everything"], check=False, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 1
    assert "unknown argument 'everything'" in done.stderr and "./bootstrap demo" in done.stderr


def test_a_failing_step_of_bootstrap_says_what_to_do(tmp_path):
    """In a copy without the tools, where the Python packages cannot be had."""
    for name in ("bootstrap", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    offline = {
        "PIP_INDEX_URL": "file:///nonexistent",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
        "PIP_NO_CACHE_DIR": "1",
    }
    done = subprocess.run(
        ["./bootstrap"], check=False, cwd=tmp_path, capture_output=True, text=True, env=os.environ | offline
    )
    assert done.returncode == 1
    assert re.search(r"error: Python: installing \d+ packages into \.venv: failed", done.stderr)
    assert "is the package index reachable?" in done.stderr
    assert not (tmp_path / "build/tools/bootstrap.stamp").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["build", "nothing"], "there is no protocol 'nothing'"),
        (["veristat", "nothing"], "there is no protocol 'nothing'"),
        (["bench", "nothing"], "there is no protocol 'nothing'"),
        (["bench", "limiter"], "limiter has no benchmark"),
        (["fill", "nothing"], "there is no protocol 'nothing'"),
        (["fill", "limiter"], "limiter cannot be filled"),
        (["load", "nothing", "lo"], "there is no protocol 'nothing'"),
        (["unload", "nowhere0"], "nothing is loaded on nowhere0"),
        (["report", "--results", "nowhere"], "there is no folder of results nowhere"),
        (["report", "--compare", "README.md"], "README.md is neither a folder of results nor a report"),
    ],
)
def test_mistakes_get_a_sentence(arguments, message):
    done = subprocess.run(["just", *arguments], check=False, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode != 0
    assert message in done.stderr and "Traceback" not in done.stderr


def unprivileged(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-B", "-m", *arguments]
    return subprocess.run(command, check=False, cwd=REPOSITORY, capture_output=True, text=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["harness.conform", "limiter"],
        ["harness.conform", "garbage"],
        ["harness.veristat"],
        ["harness.mutants"],
        ["harness.bench"],
        ["harness.fuzz", "limiter"],
        ["harness.fuzz", "kill", "lock"],
        ["harness.fill", "kv"],
        ["harness.demo"],
        ["harness.rig", "clean"],
    ],
    ids=" ".join,
)
def test_without_privilege_it_is_a_sentence(arguments):
    if unprivileged("harness.base.protocols").returncode != 0:
        pytest.skip("nobody but root may read this repository")
    done = unprivileged(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.fullmatch(
        r"\w+: error: cannot [^\n]*: this process lacks [A-Z_, ]*CAP_NET_ADMIN; run it as root\n", done.stderr
    ), done.stderr


@pytest.mark.parametrize(
    "arguments, begun",
    [
        (["harness.conform", "lock"], "the small build"),
        (["harness.check", "lock", "small"], "lock: properties"),
        (["harness.mutants", "limiter"], "the machinery's mutants"),
        (["harness.fuzz", "lock", "--only", "examples"], "fuzzing from seed"),
        (["harness.fuzz", "generator", "--seed", "1"], "fuzzing the generator from seed"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value[:2]),
)
def test_an_interrupt_ends_a_command_and_its_children(arguments, begun):
    """Only the command itself gets the signal, as by `kill`: a terminal would send it to the children as well."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(
        [sys.executable, "-m", *arguments], cwd=REPOSITORY, env=os.environ | {"PYTHONUNBUFFERED": "1"}, **pipes
    ) as process:
        before = ""
        while begun not in before:
            line = process.stdout.readline()
            assert line, before
            before += line
        time.sleep(2)
        children = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 130, output
    assert "interrupted" in output and "Traceback" not in output
    end = time.monotonic() + 5
    while (left := [child for child in children if is_alive(child)]) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["harness.operate.service", "status"],
        ["harness.veristat", "limiter"],
        ["harness.conform", "--help"],
        ["codegen", "--help"],
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_ends_a_command_quietly(arguments):
    """As `just status | head -1` does, which the shell that runs it says nothing of."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        check=False,
        cwd=REPOSITORY,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def stat_of(pid: int) -> list[str]:
    """State, parent and so on of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_alive(pid: int) -> bool:
    return (stat_of(pid) or ["Z"])[0] != "Z"


def children_of(pid: int) -> list[int]:
    everyone = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [each for each in everyone if stat_of(each)[1:2] == [str(pid)]]
