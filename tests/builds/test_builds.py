"""Tests builds in the form that a kernel can load."""

from __future__ import annotations

import pytest

from harness.base.protocols import GENERATED, REPOSITORY, SPEC
from harness.builds import protocol as building
from harness.builds.make import BuildError, make
from harness.builds.program_variants import OLDER, SHIPPED, form_for, merged
from harness.builds.protocol import build, lacking
from harness.operate import service


@pytest.mark.parametrize(
    "protocol, release, name, since",
    [
        ("limiter", "5.15.0", SHIPPED, None),
        ("kv", "6.18.44", SHIPPED, None),
        ("kv", "6.12.117+deb12-cloud-amd64", OLDER, None),
        ("kv", "6.1.0-56-cloud-amd64", OLDER, None),
        ("occ", "6.12.117+deb12-cloud-amd64", OLDER, None),
        ("occ", "6.1.0-56-cloud-amd64", OLDER, "6.12"),
    ],
)
def test_a_kernel_has_a_form(protocol, release, name, since):
    form = form_for(SPEC / protocol, release)
    assert (form.name, form.since) == (name, since)
    assert bool(form.laid_over) == (name == OLDER)


def test_what_comes_later_is_laid_over_what_was_before():
    assert merged({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"c": 3}}, {"d": [2], "a": {"c": {"e": 4}}}) == {
        "a": {"b": 1, "c": {"e": 4}},
        "d": [2],
    }


def test_a_folder_is_built_anew_for_another_kernel(tmp_path):
    def has_lock() -> bool:
        return b"bpf_res_spin_lock" in (tmp_path / "kv.bpf.o").read_bytes()

    older = build("kv", tmp_path, "6.12.117")
    assert older == tmp_path / "older" and "struct bpf_spin_lock" in (older / "kv.h").read_text()
    assert (tmp_path / "kvd").exists() and not has_lock()
    made = (tmp_path / "kv.bpf.o").stat().st_mtime_ns
    build("kv", tmp_path, "6.12.117")
    assert (tmp_path / "kv.bpf.o").stat().st_mtime_ns == made, "nothing has changed"
    assert build("kv", tmp_path, "6.18.44") == GENERATED / "kv" and has_lock()


def test_a_kernel_without_programs_is_refused(monkeypatch):
    monkeypatch.setattr(
        building.os, "uname", lambda: building.os.uname_result(("Linux", "here", "6.1.0-56", "", "x86_64"))
    )
    monkeypatch.setattr(service, "staleness", lambda protocol: None)
    assert lacking("kv") is None
    with pytest.raises(
        service.ServiceError,
        match="occ has no programs for kernels before 6.12, and this is 6.1.0-56; boot a newer kernel",
    ):
        service.bring_up_to_date("occ", stale=False)


def test_one_place_calls_make():
    """All builds fail with the same error, for the same reasons."""
    callers = {
        str(path.relative_to(REPOSITORY))
        for path in (REPOSITORY / "harness").rglob("*.py")
        if '"make"' in path.read_text(encoding="utf-8") or "class BuildError" in path.read_text(encoding="utf-8")
    }
    assert callers == {"harness/builds/make.py"}


def test_a_failed_build_says_what_and_has_the_output(monkeypatch, tmp_path):
    with pytest.raises(BuildError, match=r"building it:\n(?s:.*)there is no .*limiter\.bpf\.c; run `just generate"):
        make("limiter", tmp_path, tmp_path, doing="building it")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"building it: there is no `make` on the PATH; run \./bootstrap"):
        make("limiter", tmp_path, tmp_path, doing="building it")
