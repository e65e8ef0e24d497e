"""Tests the recipes of the group `service` on echo/'s protocol: in this process, and as a user types them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from codegen import cli
from harness.base import protocols
from harness.builds import freshness
from harness.operate import service
from harness.rig import Rig
from harness.rig.netns import Endpoint
from tests.runtime.conftest import ASK, COMPLETED, ROOT, Client, Echo, hold_port, holder_of, wait_for
from tests.runtime.test_load import add_pair, delete_interface

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

Recipe = Callable[..., tuple[int, str, str]]


@pytest.fixture
def recipe(echo: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Recipe:
    """Runs `just ARGUMENTS` where echo is the only protocol, and freshly built: exit code, output, errors."""
    (tmp_path / "spec/echo").mkdir(parents=True)
    (tmp_path / "spec/echo/layout.yaml").touch()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/echo").symlink_to(Path(echo.daemon).parent)
    monkeypatch.setattr(protocols, "SPEC", tmp_path / "spec")
    monkeypatch.setattr(protocols, "BUILD", tmp_path / "build")
    monkeypatch.setattr(service, "bring_up_to_date", lambda protocol, stale: None)
    for name, value in echo.rig.environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, endpoint: Endpoint | None = None) -> tuple[int, str, str]:
        place: AbstractContextManager[None] = (endpoint or echo.rig.server).entered()
        capfd.readouterr()
        with place:
            code = service.main(list(arguments))
        output, errors = capfd.readouterr()
        assert "Traceback" not in errors
        return code, output, errors

    return run


@pytest.fixture(autouse=True)
def no_daemon_stays(rig: Rig) -> object:
    """One that left the terminal is nobody's child: the rig does not know it."""
    yield
    for file in Path(rig.run_directory).glob("*.claim"):
        if pid := holder_of(file):
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not holder_of(file), f"process {pid} ends")


def daemon_pid(echo: Echo) -> int:
    return echo.status()["daemon"]["pid"]


def test_load_serves_and_unload_ends(echo: Echo, recipe: Recipe, client: Client) -> None:
    code, output, _said = recipe("load", "echo", echo.iface)
    assert code == 0 and f"echo is loaded on {echo.iface} and served" in output
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED
    code, output, errors = recipe("unload", echo.iface)
    assert code == 0 and "the daemon of echo has ended" in output
    assert "the tables of echo stay, with their content, for the next load; `just purge echo` removes them" in errors
    code, output, _ = recipe("status")
    assert code == 0 and output.startswith("echo, UDP port 20999: on no interface\n")
    assert "tables    are kept, with their content, for the next load; `just purge echo` removes them" in output


def test_load_starts_a_daemon_that_was_killed(echo: Echo, recipe: Recipe, client: Client) -> None:
    recipe("load", "echo", echo.iface)
    killed = daemon_pid(echo)
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: daemon_pid(echo) is None, "it ends")
    code, output, said = recipe("load", "echo", echo.iface)
    assert code == 0, said
    assert output.endswith(f"echo is already loaded on {echo.iface}; its daemon was not running and is started\n")
    assert daemon_pid(echo) not in (None, killed)
    assert client.ask(ASK, 0, 0, echo.rig.server.ipv4)[0] == COMPLETED

    code, _, errors = recipe("load", "echo", echo.iface)
    assert code == 1
    assert f"echo is already loaded on {echo.iface}, and its daemon runs; `just unload {echo.iface}` first" in errors


def test_load_whose_daemon_does_not_start(echo: Echo, recipe: Recipe) -> None:
    with hold_port(echo.rig.server):
        code, _, errors = recipe("load", "echo", echo.iface)
        assert code == 1 and "another process has it" in errors
        assert (
            f"echo is loaded on {echo.iface}, but no daemon answers forwarded requests; once the reason above "
            "is removed, `just serve echo` starts it" in errors
        )
    assert recipe("load", "echo", echo.iface)[0] == 0


def test_a_deleted_interface_is_unloaded(echo: Echo, recipe: Recipe) -> None:
    add_pair(echo.rig, "brief", "10.79.0")
    recipe("load", "echo", "brief")
    delete_interface(echo.rig, "brief")
    assert "gone: unload it" in recipe("status")[1]
    code, output, errors = recipe("unload", "brief")
    assert (
        code == 0
        and "unloaded from brief, which no longer exists" in errors
        and "the daemon of echo has ended" in output
    )
    assert echo.status()["interfaces"] == []


def test_the_daemon_ends_when_only_deleted_interfaces_are_left(echo: Echo, recipe: Recipe) -> None:
    add_pair(echo.rig, "brief", "10.79.0")
    recipe("load", "echo", "brief")
    recipe("load", "echo", echo.iface)
    delete_interface(echo.rig, "brief")
    assert "the daemon of echo has ended" in recipe("unload", echo.iface)[1]


def test_unload_from_another_namespace_says_how(echo: Echo, recipe: Recipe) -> None:
    recipe("load", "echo", echo.iface)
    code, _, errors = recipe("unload", echo.iface, endpoint=echo.rig.client)
    assert code == 1
    assert f"`nsenter --net={echo.rig.server.netns_path} just unload {echo.iface}`" in errors
    assert recipe("unload", echo.iface)[0] == 0
    code, _, errors = recipe("unload", echo.iface)
    assert code == 1 and f"nothing is loaded on {echo.iface}; `just status` shows" in errors


def test_generic_mode_as_the_hint_says(echo: Echo, recipe: Recipe) -> None:
    code, _, errors = recipe("load", "echo", "lo")
    assert code == 1 and "`just load echo lo --generic` attaches it in generic mode" in errors
    code, output, _ = recipe("load", "echo", "lo", "--generic")
    assert code == 0 and "echo is loaded on lo and served" in output


@pytest.mark.parametrize("command", ["load", "unload"])
def test_an_empty_name(recipe: Recipe, command: str) -> None:
    code, _, errors = recipe(*([command, "echo", ""] if command == "load" else [command, ""]))
    assert code == 1 and "the name of the interface is empty" in errors


def test_status_shows_what_is_not_zero(echo: Echo, recipe: Recipe, client: Client) -> None:
    recipe("load", "echo", echo.iface)
    client.ask(ASK, 0, 0, echo.rig.server.ipv4)
    code, output, _ = recipe("status")
    counted = {line.split()[1]: line.split()[2] for line in output.splitlines() if line.startswith("  counted")}
    assert code == 0 and counted == {"forwarded": "1", "completed": "1"}
    assert "other counters; `just status --all` lists all" in output
    code, output, _ = recipe("status", "--all")
    counted = {line.split()[1]: line.split()[2] for line in output.splitlines() if line.startswith("  counted")}
    assert code == 0 and counted == {"foreign": "0", "added": "0", "forwarded": "1", "completed": "1"}
    assert "other counter" not in output


def test_purge(echo: Echo, recipe: Recipe) -> None:
    code, _, errors = recipe("purge", "echo")
    assert code == 1 and "cannot purge echo: it has nothing in" in errors
    recipe("load", "echo", echo.iface)
    code, _, errors = recipe("purge", "echo")
    assert code == 1 and f"it is loaded on {echo.iface}" in errors
    assert {each.name for each in Path(echo.rig.run_directory).iterdir()} == {
        "echo.claim",
        "echo.pid",
        "echo.log",
        "echo.statistics",
    }
    recipe("unload", echo.iface)
    code, _, errors = recipe("purge", "echo")
    assert code == 0 and "removed the tables of echo and their content" in errors
    assert not echo.base.exists()
    assert list(Path(echo.rig.run_directory).iterdir()) == []


def test_purge_of_files_alone(echo: Echo, recipe: Recipe) -> None:
    """After a restart of the machine with a run directory that stays, say."""
    run = Path(echo.rig.run_directory)
    run.mkdir(parents=True, exist_ok=True)
    for name in ("echo.log", "echo_xdp-verifier.log", "another.log"):
        (run / name).touch()
    code, _, errors = recipe("purge", "echo")
    assert code == 0 and "there were no tables" in errors
    assert [each.name for each in run.iterdir()] == ["another.log"]


def test_missing_privilege_is_one_sentence(echo: Echo, recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many protocols there are."""
    recipe("load", "echo", echo.iface)
    real = subprocess.run
    monkeypatch.setattr(service, "built", lambda: ["echo", "echo"])
    monkeypatch.setattr(subprocess, "run", lambda command, **options: real([*NOBODY, *command], **options))
    for arguments in (("status",), ("unload", echo.iface)):
        code, output, errors = recipe(*arguments)
        assert (code, output) == (1, "")
        assert len(errors.splitlines()) == 1 and "run it as root" in errors
    monkeypatch.undo()


def test_status_that_fails_is_an_error(echo: Echo, recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """An obstacle to every protocol is reported once."""
    monkeypatch.setenv("STEPWISE_BPFFS", "relative")
    monkeypatch.setattr(service, "built", lambda: ["echo", "echo"])
    for arguments in (("status",), ("unload", "lo")):
        code, output, errors = recipe(*arguments)
        assert (code, output) == (1, "")
        assert errors == "echod: error: STEPWISE_BPFFS is relative: it must be an absolute path\n"


# --- Freshness -----------------------------------------------------------------------------------------


@pytest.fixture
def copy_of_limiter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("spec/lib", "spec/limiter", "generated/limiter"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.setattr(cli, "SPEC", tmp_path / "spec")
    monkeypatch.setattr(freshness, "GENERATED", tmp_path / "generated")
    monkeypatch.setattr(service, "chosen", lambda names: names)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def refusal(stale: bool) -> str:
    with pytest.raises(service.ServiceError) as refused:
        service.bring_up_to_date("limiter", stale)
    return str(refused.value)


def test_a_fresh_protocol_is_fresh(copy_of_limiter: Path) -> None:
    assert freshness.staleness("limiter") is None


def test_an_edited_layout_is_noticed(
    copy_of_limiter: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(copy_of_limiter / "spec/limiter/layout.yaml", "20231", "20232")
    assert "generated/limiter is older than spec/limiter (" in refusal(stale=False)
    assert "run `just generate limiter`; or add --stale" in refusal(stale=False)

    built: list[str] = []
    monkeypatch.setattr(service, "build", built.append)
    monkeypatch.setattr(service, "staleness", lambda protocol: "it is old")
    service.bring_up_to_date("limiter", stale=True)
    assert "load: warning: it is old" in capsys.readouterr().err
    assert built == ["limiter"]
    monkeypatch.undo()


def test_a_specification_that_does_not_compile_is_noticed(copy_of_limiter: Path) -> None:
    edit(copy_of_limiter / "spec/limiter/layout.yaml", "20231", "nowhere")
    assert "spec/limiter does not compile, so generated/limiter is of an older one; the first error is" in refusal(
        stale=False
    )


def test_build_warns_and_goes_on(copy_of_limiter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    freshness.warn("limiter")
    assert capsys.readouterr().err == ""
    edit(copy_of_limiter / "spec/limiter/layout.yaml", "20231", "20232")
    freshness.warn("limiter")
    assert "warning: generated/limiter is older than spec/limiter" in capsys.readouterr().err


def test_without_java_it_is_not_known(
    copy_of_limiter: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine that only serves needs neither Java nor the TLA+ tools."""
    monkeypatch.setattr(freshness.shutil, "which", lambda name: None)
    freshness.warn("limiter")
    assert (
        "cannot compare generated/limiter with spec/limiter: the TLA+ tools or Java are missing"
        in capsys.readouterr().err
    )
    monkeypatch.undo()


# --- As a user types them ------------------------------------------------------------------------------


def test_recipes(rig: Rig) -> None:
    """On a protocol of spec/, with the rarer options."""

    def just(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = rig.server.run(["just", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done

    just("build")  # for `status` asks the daemon of each
    assert "limiter is loaded on lo and served" in just("load", "limiter", "lo", "--generic").stdout
    everything = just("status", "--all").stdout
    limiter = everything[everything.index("limiter, UDP port") :].split("\nlock, ")[0]
    assert "XDP generic" in limiter and "counted   malformed" in limiter and "counted   malformed.checksum" in limiter
    assert "tc." not in limiter and "sweep" not in limiter and "received" not in limiter, "it has neither"
    pid = int(Path(rig.run_directory, "limiter.pid").read_text().split()[0])
    assert pid == holder_of(Path(rig.run_directory, "limiter.claim"))
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not holder_of(Path(rig.run_directory, "limiter.claim")), "it ends")

    serving = rig.server.popen(
        ["just", "serve", "limiter"], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert serving.stdout and serving.stdout.readline().startswith("READY limiter port 20231 pid ")
    os.killpg(serving.pid, signal.SIGINT)  # as Ctrl-C does
    serving.wait(10)
    assert not holder_of(Path(rig.run_directory, "limiter.claim"))
    just("serve", "limiter", "--daemonize")
    assert holder_of(Path(rig.run_directory, "limiter.claim"))
    just("unload", "lo")
    just("purge", "limiter")
    assert list(Path(rig.run_directory).iterdir()) == []
