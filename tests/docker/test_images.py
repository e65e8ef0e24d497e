"""Tests building and removing images, with a fake engine."""

from __future__ import annotations

import pytest

from harness.docker import images
from harness.docker.engine import Engine, EngineError


@pytest.fixture
def using(client, monkeypatch):
    """An engine of these cases; a build's secrets are none."""
    monkeypatch.setattr(images.settings, "write", lambda folder, release: ["--secret", "id=none"])
    return lambda cases: Engine(str(client(cases)), "28")


def test_a_stage_becomes_an_image_and_what_had_its_name_goes(using, tmp_path):
    engine = using(
        f'build*) echo "$*" >{tmp_path}/built ;;\n"image prune --force --filter label=stepwise") echo '
        f">{tmp_path}/pruned ;;"
    )
    images.build(engine, "daemon", tmp_path)
    built = (tmp_path / "built").read_text().split()
    assert built[built.index("--target") + 1] == "daemon" and built[built.index("--tag") + 1] == "stepwise-daemon"
    assert built[built.index("--network") + 1] == "host" and "id=none" in built
    assert (tmp_path / "pruned").exists()


def test_a_build_that_fails_names_its_log(using, tmp_path):
    with pytest.raises(
        EngineError,
        match="stepwise-daemon could not be built: `docker build` ended with 7; its output is in .*build-daemon.log",
    ):
        images.build(using("build*) echo words; exit 7 ;;"), "daemon", tmp_path)
    assert (tmp_path / "build-daemon.log").read_text() == "words\n"


def test_a_base_image_that_cannot_be_pulled_is_made_by_another_command(using):
    with pytest.raises(EngineError, match="debian:.* does not exist and cannot be pulled: `just docker base` makes it"):
        images.require_base(using('"image inspect"*) exit 1 ;;\npull*) exit 1 ;;'))


def test_a_base_image_that_is_there_is_not_pulled(using):
    images.require_base(using('"image inspect"*) echo 75000000 ;;'))


def test_removing_names_what_was_there(using):
    engine = using(
        '"image inspect"*stepwise-daemon) echo 5 ;;\n"image inspect"*) exit 1 ;;\n"image rm --force '
        'stepwise-daemon"|"image prune"*) ;;'
    )
    assert images.remove(engine) == ["stepwise-daemon"]
