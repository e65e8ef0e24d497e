"""Every protocol of spec/, as generated, is built without a message, loaded, served and unloaded."""

from __future__ import annotations

import json
import select
import subprocess
from pathlib import Path

import pytest

from harness.rig import Rig
from tests.runtime.conftest import ROOT

PROTOCOLS = sorted(path.parent.name for path in (ROOT / "spec").glob("*/layout.yaml"))


def test_there_are_protocols() -> None:
    assert len(PROTOCOLS) >= 2


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_protocol(protocol: str, compiler: str, rig: Rig, tmp_path: Path) -> None:
    command = ["make", "-s", "-C", str(ROOT / "runtime"), f"PROTOCOL={protocol}", f"BUILD={tmp_path}", f"CC={compiler}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    daemon = str(tmp_path / f"{protocol}d")

    def run(*arguments: str) -> str:
        finished = rig.server.run([daemon, *arguments], capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    run("load", rig.server.iface)
    drains = json.loads(run("status", "--json"))["drains"]
    options = ["--segments", str(tmp_path / "segments")] if drains else []
    serving = rig.server.popen([daemon, "serve", *options], stdout=subprocess.PIPE, text=True)
    assert serving.stdout and select.select([serving.stdout], [], [], 10)[0]
    assert serving.stdout.readline().startswith(f"READY {protocol} port ")

    status = json.loads(run("status", "--json"))
    assert status["loaded"] and status["same_build"] and status["daemon"]["alive"]
    assert status["interfaces"][0]["xdp"] == "native"
    assert f"{protocol}_xdp" in [each["name"] for each in status["programs"]]
    assert all(each["jited_bytes"] for each in status["programs"])
    assert len(status["tables"]) > 0 and len(status["counters"]) > 0
    assert len(set(status["counters"])) == len(status["counters"])

    serving.terminate()
    assert serving.wait(10) == 0
    assert drains == bool(list(tmp_path.glob("segments/*.log")))
    run("unload", rig.server.iface, "--purge")
    assert json.loads(run("status", "--json"))["loaded"] is False
