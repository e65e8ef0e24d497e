"""Tests which engine is used and what it may do, with fake clients: no engine is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.docker import engine
from harness.docker.engine import Engine, EngineError

REPOSITORY = Path(__file__).resolve().parent.parent.parent
OLD = 'version*) echo 20.10.24 ;;\n--version) echo "Docker version 20.10.24, build 0" ;;'
NEW = 'version*) echo 28.2.2 ;;\n--version) echo "Docker version 28.2.2, build 0" ;;'
WITH_BUILDX = f'{NEW}\n"buildx version") echo buildx ;;'


def command(path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        [sys.executable, "-m", "harness.docker", *arguments],
        check=False,
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "arguments", [["all"], ["all", "--smoke"], ["build"], ["base"], ["compose"], ["clean"]], ids=" ".join
)
def test_without_an_engine_it_is_a_sentence(arguments, tmp_path):
    done = command(str(tmp_path), *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "docker: error: there is no `docker` on the PATH: install an engine (on Debian `apt-get install docker.io`) "
        "and start it\n"
    )


@pytest.mark.parametrize(
    "said, hint",
    [
        (
            "Cannot connect to the Docker daemon at unix:///run/docker.sock. Is the docker daemon running?",
            "`dockerd &`",
        ),
        ("permission denied while trying to connect to the Docker daemon socket", "member of the group docker"),
    ],
)
def test_an_engine_that_does_not_answer(client, said, hint):
    script = client(f'version*) echo "{said}" >&2; exit 1 ;;')
    done = command(str(script.parent), "all")
    assert done.returncode == 2
    assert hint in done.stderr and "Traceback" not in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "the following arguments are required: command"),
        (["everything"], "invalid choice: 'everything'"),
        (["build", "--smoke"], "unrecognized arguments: --smoke"),
    ],
    ids=" ".join,
)
def test_mistakes_on_the_command_line(arguments, message):
    done = command(os.environ["PATH"], *arguments)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("cases", [OLD, WITH_BUILDX])
def test_a_client_that_builds(client, cases):
    script = client(cases)
    assert engine.find().command == str(script)


def test_a_client_that_cannot_build_leaves_it_to_the_next(client):
    able = client(OLD)
    client(NEW)
    assert engine.find() == Engine(str(able), "28.2.2")


def test_no_client_that_can_build(client, monkeypatch):
    script = client(NEW)
    monkeypatch.setenv("PATH", str(script.parent))
    with pytest.raises(EngineError, match="cannot build with BuildKit.*buildx"):
        engine.find()


def status(*capabilities: str) -> str:
    return f"CapEff: {sum(1 << engine.CAPABILITIES[name] for name in capabilities):016x}"


def test_a_capability_that_containers_cannot_have_is_named(client):
    script = client(
        f'*"--cap-add NET_ADMIN"*) echo "{status("NET_ADMIN")}" ;;\n*SYS_NICE*) echo "operation not permitted" >&2; '
        "exit 126 ;;\n"
        f'*NET_RAW*) echo "{status()}" ;;'
    )
    with pytest.raises(EngineError, match="cannot have NET_RAW, SYS_NICE: the engine itself must run as root"):
        engine.granted(Engine(str(script), "28"), "image", ("NET_ADMIN", "NET_RAW", "SYS_NICE"))


def test_an_older_engine_has_no_names_for_parts_of_sys_admin(client):
    script = client(
        '*"CAP_BPF"*|*"--cap-add BPF"*|*"--cap-add PERFMON"*) echo \'unknown capability: "CAP_BPF"\' >&2; exit 125 ;;\n'
        f'*) echo "{status("SYS_ADMIN", "NET_ADMIN")}" ;;'
    )
    using = Engine(str(script), "20.10")
    assert engine.granted(using, "image", ("BPF", "PERFMON", "NET_ADMIN")) == ("NET_ADMIN", "SYS_ADMIN")


def test_an_engine_of_today_gives_what_is_asked(client):
    script = client(f'*) echo "{status("BPF", "PERFMON", "NET_ADMIN")}" ;;')
    assert engine.granted(Engine(str(script), "28"), "image", ("BPF", "PERFMON", "NET_ADMIN")) == (
        "BPF",
        "PERFMON",
        "NET_ADMIN",
    )


def test_an_engine_that_fails_says_why(client):
    script = client("images) echo 'no space left on device' >&2; exit 1 ;;")
    with pytest.raises(EngineError, match="listing images: .* failed with 1: no space left on device"):
        Engine(str(script), "28").run(["images"], "listing images")


def test_what_a_long_command_prints_is_shown_and_kept(client, tmp_path, capfd):
    script = client("build) echo one; echo two >&2; exit 3 ;;")
    assert Engine(str(script), "28").stream(["build"], tmp_path / "logs/build.log") == 3
    assert (tmp_path / "logs/build.log").read_text() == "one\ntwo\n"
    assert capfd.readouterr().out == "  one\n  two\n"
