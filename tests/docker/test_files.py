"""Checks the Dockerfile, compose.yaml and the entry point: pins, matching names, and messages for mistakes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from harness.base.protocols import protocols
from harness.docker import client as asking
from harness.docker import compose, images
from harness.docker.engine import Engine, EngineError

REPOSITORY = Path(__file__).resolve().parent.parent.parent
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))
SERVE = REPOSITORY / "harness/docker/stepwise-serve"
SERVERS = {name: service for name, service in COMPOSE["services"].items() if name.startswith("server-")}


def stages() -> dict[str, str]:
    """Each stage of the Dockerfile, and what it is from."""
    return {name: source for source, name in re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.MULTILINE)}


def test_what_comes_from_elsewhere_is_pinned_and_is_one_image():
    found = stages()
    assert len(found) == len(re.findall(r"^FROM", DOCKERFILE, re.MULTILINE))
    outside = {source for source in found.values() if source not in found}
    assert outside == {images.base_image()}
    assert re.fullmatch(r"debian:\d+\.\d+-slim", images.base_image())


def test_images_are_stages_and_compose_uses_no_others():
    assert images.IMAGES.keys() <= stages().keys()
    assert {service["image"] for service in COMPOSE["services"].values()} == set(images.IMAGES.values())


def test_there_is_one_list_of_what_is_installed():
    toolchain = DOCKERFILE.partition("AS toolchain")[2].partition("FROM")[0]
    assert (
        "./bootstrap" in toolchain
        and "apt-get" not in toolchain
        and "pip" not in toolchain.replace("pip_conf", "").replace("PIP_", "")
    )


def test_secrets_of_the_dockerfile_are_those_that_are_written():
    used = set(re.findall(r"type=secret,id=(\w+)", DOCKERFILE))
    script = (REPOSITORY / "harness/docker/settings.py").read_text(encoding="utf-8")
    assert used == set(re.findall(r'^        "(\w+)":', script, re.MULTILINE))


def test_three_servers_with_an_interface_for_each_protocol():
    assert len(SERVERS) == 3
    for service in SERVERS.values():
        served = dict(word.split("=") for word in service["command"])
        assert served.keys() == {"kv", "lock"} and served.keys() <= set(protocols())
        assert {alias for each in service["networks"].values() for alias in each["aliases"]} == set(served.values())
        assert len(service["networks"]) == len(served)


def test_networks_are_a_server_s_own_and_the_client_is_on_all():
    names = [name for service in SERVERS.values() for name in service["networks"]]
    assert len(set(names)) == len(names) and set(names) == COMPOSE["networks"].keys() == set(
        COMPOSE["services"]["client"]["networks"]
    )


def test_the_client_asks_each_server_for_each_protocol_when_all_are_healthy():
    service = COMPOSE["services"]["client"]
    assert sorted(service["command"][3:]) == sorted(word for each in SERVERS.values() for word in each["command"])
    assert service["depends_on"] == {name: {"condition": "service_healthy"} for name in SERVERS}


def test_services_have_the_capabilities_that_they_name_and_no_others():
    for name, service in COMPOSE["services"].items():
        assert service["cap_drop"] == ["ALL"] and "privileged" not in service, name
    assert "cap_add" not in COMPOSE["services"]["client"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "name the protocols to serve: stepwise-serve PROTOCOL=NAME"),
        (["lock"], "'lock' is not PROTOCOL=NAME"),
        (["lock="], "'lock=' is not PROTOCOL=NAME"),
        (["--healthy"], "nothing is served yet"),
    ],
)
def test_the_entry_point_tells_mistakes(arguments, message):
    done = subprocess.run([SERVE, *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("stepwise-serve: error: ") and message in done.stderr


@pytest.mark.parametrize("script", ["stepwise-serve", "with-host-settings"])
def test_scripts_are_right_as_far_as_their_shells_see(script):
    path = REPOSITORY / "harness/docker" / script
    shell = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("#!")
    assert subprocess.run([shell, "-n", path], check=False, capture_output=True, text=True).stderr == ""
    assert path.stat().st_mode & 0o111


@pytest.mark.parametrize(
    "arguments, status, message",
    [
        (["lock"], 2, "'lock' is not PROTOCOL=NAME"),
        (["nothing=here"], 2, "there is no protocol 'nothing'"),
        (["lock=nobody.invalid"], 2, "cannot look up the address of nobody.invalid"),
    ],
)
def test_the_client_tells_mistakes(arguments, status, message, capsys):
    try:
        ended = asking.main(arguments)
    except SystemExit as wrong:
        ended = wrong.code
    assert ended == status and message in capsys.readouterr().err


@pytest.mark.parametrize("operations, status", [(12, 0), (0, 1)])
def test_the_client_fails_where_a_server_is_silent(operations, status, monkeypatch, capsys):
    summary = {"operations": operations, "p50_ns": 90_000}
    monkeypatch.setattr(
        asking, "ask", lambda protocol, name, seconds: summary if name == "two" else {"operations": 5, "p50_ns": 1000}
    )
    assert asking.main(["lock=one", "kv=two"]) == status
    said = capsys.readouterr()
    assert f"kv on two: {operations} operations answered" in said.out
    assert ("no answer from two" in said.err) == bool(status)


def test_without_compose_it_is_a_sentence(client, monkeypatch):
    script = client('"compose version") exit 1 ;;')
    monkeypatch.setenv("PATH", str(script.parent))
    with pytest.raises(EngineError, match="apt-get install docker-compose"):
        compose.find(Engine(str(script), "28"))
