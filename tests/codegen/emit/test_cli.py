"""Tests the command line: the files it writes, its messages and its exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from codegen import cli

ROOT = Path(__file__).resolve().parents[3]
LIMITER = ROOT / "spec/limiter"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one protocol, generated."""
    shutil.copytree(ROOT / "spec" / "lib", tmp_path / "spec" / "lib")
    shutil.copytree(ROOT / "spec" / "limiter", tmp_path / "spec" / "limiter")
    for name, path in (
        ("REPOSITORY", ""),
        ("SPEC", "spec"),
        ("GENERATED", "generated"),
        ("SCHEMA", "spec/layout.schema.json"),
        ("EDITOR", ".vscode/settings.json"),
    ):
        monkeypatch.setattr(cli, name, tmp_path / path)
    assert cli.main(["generate"]) == 0
    assert cli.main(["schema"]) == 0
    return tmp_path


def test_version_is_that_of_the_project_and_in_no_generated_file(capsys: pytest.CaptureFixture[str]) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"Stepwise {version}\n"
    generated = [path for path in (ROOT / "generated").rglob("*") if path.is_file()]
    assert generated and not [path for path in generated if version in path.read_text()]


def test_the_cost_is_said(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(["generate", "limiter"]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == "limiter: instructions that the verifier will follow, estimated: 1,000 in xdp (budget 900)"


def test_what_has_not_changed_is_not_written(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in (repository / "generated").rglob("*")}
    capsys.readouterr()
    assert cli.main(["generate", "limiter"]) == 0
    assert "wrote" not in capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in (repository / "generated").rglob("*")}


def test_an_editor_is_told_where_the_modules_of_each_protocol_are(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = repository / ".vscode" / "settings.json"
    folders = json.loads(settings.read_text())["tlaplus.moduleSearchPaths"]
    assert folders == [
        f"{up}/{folder}"
        for up in ("../..", "../../..")
        for folder in ("spec/lib", "spec/limiter", "spec/limiter/model", "generated/limiter")
    ]
    settings.write_text("{}\n")
    assert cli.main(["fresh"]) == 1 and "run: python -m codegen generate" in capsys.readouterr().err
    assert cli.main(["generate"]) == 0 and cli.main(["fresh"]) == 0


def test_fresh_shows_what_is_stale_and_writes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fresh"]) == 0
    header = repository / "generated" / "limiter" / "limiter.h"
    header.write_text(header.read_text().replace("#define LIMITER_PORT ", "#define LIMITER_PORT 1"))
    (repository / "generated" / "limiter" / "wire.md").unlink()
    edited = header.read_text()
    capsys.readouterr()
    assert cli.main(["fresh"]) == 1
    captured = capsys.readouterr()
    assert "-#define LIMITER_PORT 1" in captured.out and "generated/limiter/wire.md is missing" in captured.out
    assert "run: python -m codegen generate limiter" in captured.err
    assert header.read_text() == edited and not (repository / "generated" / "limiter" / "wire.md").exists()


def test_what_a_former_generator_left_behind_goes(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stray, own = repository / "generated/limiter/limiter_old.h", repository / "generated/limiter/notes.txt"
    shutil.copy(repository / "generated/limiter/limiter.h", stray)
    own.write_text("mine")
    assert cli.main(["fresh"]) == 1
    assert "limiter_old.h is left over" in capsys.readouterr().out
    assert cli.main(["generate"]) == 0
    assert not stray.exists() and own.exists()


def test_a_stale_schema_is_noticed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "spec" / "layout.schema.json").write_text("{}")
    assert cli.main(["fresh"]) == 1
    assert "python -m codegen schema" in capsys.readouterr().err


def test_an_override_is_laid_over_the_layout(repository: Path, tmp_path: Path) -> None:
    override = tmp_path / "override.yaml"
    override.write_text("wire: {port: 999}\n")
    out = tmp_path / "out"
    assert (
        cli.main(
            ["generate", "--spec", str(repository / "spec/limiter"), "--out", str(out), "--override", str(override)]
        )
        == 0
    )
    assert "#define LIMITER_PORT 999\n" in (out / "limiter.h").read_text()


def test_what_older_kernels_have_is_generated(tmp_path: Path) -> None:
    assert cli.main(["generate", "--spec", str(LIMITER.parent / "kv"), "--out", str(tmp_path), "--older"]) == 0
    text = (tmp_path / "kv.h").read_text()
    assert "struct bpf_spin_lock" in text and "bpf_res_spin_lock" not in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["generate", "nothing"], 1, "there is no protocol 'nothing': spec/ has limiter"),
        (
            ["generate", "--spec", "nowhere", "--out", "out"],
            1,
            "cannot generate from nowhere: it has no layout.yaml, so it is not a protocol",
        ),
        (["generate", "--spec", "nowhere"], 2, "--spec and --out go together"),
        (["generate", "limiter", "--spec", "a", "--out", "b"], 2, "give a PROTOCOL or --spec, not both"),
        (["generate", "limiter", "--override", "a.yaml"], 2, "--override goes with --spec and --out"),
        (["generate", "limiter", "--older"], 2, "--older goes with --spec and --out"),
        (
            ["generate", "--spec", str(LIMITER), "--out", "out", "--older"],
            1,
            "spec/limiter/layout.yaml has no variant for older kernels",
        ),
    ],
)
def test_user_errors_are_sentences(
    repository: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert cli.main(arguments) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", ":1:5: error: this is not valid YAML: expected the node content"),
        ("- 1", ":1:1: error: the override must be a mapping; start it with `constants:`"),
        (None, ":1:1: error: the file cannot be read: No such file"),
        (
            "constants:\n  Burst: {a: 1}\n",
            ":2:3: error: constants.Burst is a mapping; it must be true or false, a whole number",
        ),
        ("tables: {bucket: {capacity: 0}}\n", ":1:19: error: "),
        ("wired: 1\n", ":1:1: error: unknown key wired"),
    ],
)
def test_a_wrong_override_is_named(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, message: str
) -> None:
    override = tmp_path / "override.yaml"
    if text is not None:
        override.write_text(text)
    spec = str(repository / "spec/limiter")
    assert cli.main(["generate", "--spec", spec, "--out", str(tmp_path / "out"), "--override", str(override)]) == 1
    error = capsys.readouterr().err
    assert f"{override}{message}" in error


def test_what_the_layout_lacks_is_no_fault_of_the_override(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = repository / "spec/limiter/layout.yaml"
    layout.write_text(layout.read_text().replace("    atomic: word\n", "").replace("module: LimiterSteps\n", ""))
    override = tmp_path / "override.yaml"
    override.write_text("tables: {bucket: {capacity: 16}}\n")
    arguments = ["generate", "--spec", str(layout.parent), "--out", str(tmp_path / "out"), "--override", str(override)]
    assert cli.main(arguments) == 1
    error = capsys.readouterr().err
    assert "layout.yaml:1:1: error: the layout has no module" in error
    assert "layout.yaml:20:3: error: tables.bucket has no atomic" in error and str(override) not in error


def test_a_protocol_is_called_as_its_folder_is(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = repository / "spec/limiter/layout.yaml"
    layout.write_text(layout.read_text().replace("protocol: limiter", "protocol: other"))
    for arguments in (["generate"], ["generate", "limiter"], ["fresh"]):
        assert cli.main(arguments) == 1
        error = capsys.readouterr().err
        assert (
            "layout.yaml:1:1: error: the protocol is called other, but its folder limiter; write `protocol: limiter`, or"
            in error
        )
    assert not (repository / "generated" / "other").exists()
    assert not (repository / "generated" / "limiter" / "other.bpf.c").exists()
    layout.write_text(layout.read_text().replace("module: LimiterSteps", "module: OtherSteps"))
    steps = layout.with_name("LimiterSteps.tla")
    steps.rename(layout.with_name("OtherSteps.tla")).write_text(
        layout.with_name("OtherSteps.tla").read_text().replace("MODULE LimiterSteps", "MODULE OtherSteps")
    )
    assert cli.main(["generate", "--spec", str(layout.parent), "--out", str(tmp_path / "out")]) == 0, (
        "a copy is called as it likes"
    )
    assert (tmp_path / "out" / "other.bpf.c").is_file()


def test_an_interrupt_ends_it_quietly(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nkill -INT $PPID\nsleep 60\n")
    java.chmod(0o755)
    command = [sys.executable, "-m", "codegen", "generate", "--spec", "spec/limiter", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert not (tmp_path / "out").exists()


def test_a_wrong_specification_writes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = repository / "spec/limiter/layout.yaml"
    layout.write_text(layout.read_text().replace("wire:", "wired:", 1))
    before = {path: path.read_bytes() for path in (repository / "generated").rglob("*") if path.is_file()}
    assert cli.main(["generate"]) == 1
    assert "layout.yaml:" in (error := capsys.readouterr().err) and "nothing was generated" in error
    assert before == {path: path.read_bytes() for path in (repository / "generated").rglob("*") if path.is_file()}


def test_usage_errors_exit_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["genrate"])
    assert ended.value.code == 2
    assert "invalid choice" in capsys.readouterr().err
