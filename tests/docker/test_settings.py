"""A build receives the host's package sources: tested with made-up settings, in the forms that clients print."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.docker import base, settings
from harness.docker.engine import Engine, EngineError

LISTED = """\
:env:.cert='/etc/ssl/certs/here.crt'
:env:.index-url='http://index.test/new'
global.extra-index-url='http://one.test\\nhttp://two.test'
global.find-links='/opt/here'
global.index-url='http://index.test/old'
"""


def test_pip_is_told_where_to_ask_and_no_path_of_the_host():
    assert settings.pip_conf(LISTED) == (
        "[global]\nextra-index-url = http://one.test\n    http://two.test\nindex-url = http://index.test/new\n"
    )


def test_where_pip_has_no_settings_there_is_no_file():
    assert settings.pip_conf("") == settings.pip_conf(":env:.cert='/etc/here.crt'\n") == ""


def put(folder: Path, name: str, text: str) -> None:
    script = folder / name
    script.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\n")
    script.chmod(0o755)


def test_apt_is_told_the_sources_of_this_release_alone(tmp_path, monkeypatch):
    put(
        tmp_path,
        "apt-get",
        "deb http://a.test/debian bookworm main\ndeb http://a.test/debian bookworm-updates main\n"
        "deb http://a.test/debian bookworm main\ndeb http://b.test/debian sid main\n",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert (
        settings.apt_sources("bookworm")
        == "deb http://a.test/debian bookworm main\ndeb http://a.test/debian bookworm-updates main\n"
    )
    assert base.mirror_of_host() == "http://a.test/debian"


def test_a_host_without_such_a_source_is_asked_for_a_mirror(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="bookworm: name one with --mirror URL"):
        base.mirror_of_host()


def test_proxies_of_apt_and_of_the_environment(tmp_path, monkeypatch):
    put(
        tmp_path,
        "apt-config",
        'Acquire::http::Proxy "http://p.test:3128";\nAcquire::https::Proxy "";\nAcquire::Retries "3";\n',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert settings.apt_proxies() == 'Acquire::http::Proxy "http://p.test:3128";\n'
    assert settings.proxy_arguments({"https_proxy": "http://p.test", "HOME": "/"}) == ["--build-arg", "https_proxy"]


def test_authorities_that_were_added_to_the_host_s(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "b.crt").write_text("B\n\n")
    (tmp_path / "more/a.crt").write_text("A")
    (tmp_path / "notes.txt").write_text("no certificate")
    assert settings.authorities(tmp_path) == "B\nA\n"
    assert settings.authorities(tmp_path / "absent") == ""


def test_secrets_are_files_that_nobody_else_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "said", lambda *command: LISTED if "pip" in command else "")
    monkeypatch.setattr(settings, "authorities", lambda: "")
    monkeypatch.setattr(settings.Path, "home", lambda: tmp_path)
    monkeypatch.setattr(settings.os, "environ", {})
    assert settings.write(tmp_path, "bookworm") == ["--secret", f"id=pip_conf,src={tmp_path / 'pip_conf'}"]
    assert (tmp_path / "pip_conf").stat().st_mode & 0o077 == 0


def test_the_base_image_has_neither_documents_nor_the_host_s_names(tmp_path):
    kept = ["etc/passwd", "usr/share/doc/gcc/copyright", "usr/share/misc/file", "etc/dpkg/dpkg.cfg.d/README"]
    removed = [
        "etc/hostname",
        "etc/resolv.conf",
        "etc/apt/sources.list",
        "usr/share/doc/gcc/NEWS.gz",
        "usr/share/man/man1/gcc.1.gz",
        "var/lib/apt/lists/a.test_main",
        "var/log/bootstrap.log",
    ]
    for name in kept + removed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    base.slim(tmp_path)
    assert [name for name in kept if not (tmp_path / name).exists()] == []
    assert [name for name in removed if (tmp_path / name).exists()] == []
    assert "path-exclude /usr/share/man/*" in (tmp_path / "etc/dpkg/dpkg.cfg.d/slim").read_text()


@pytest.mark.parametrize("mirror, kept", [(None, False), ("http://named.test/debian", True)])
def test_only_a_mirror_that_was_named_stays_in_the_base_image(client, mirror, kept, tmp_path, monkeypatch):
    """debootstrap is made up, and so is the engine: what it is given to import is looked at."""

    def bootstrap(root, asked):
        for name in ("etc/apt/sources.list", "etc/dpkg/dpkg.cfg.d/README"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(asked)
        (root / "etc/debian_version").write_text("12.99\n")

    monkeypatch.setattr(base, "bootstrap", bootstrap)
    monkeypatch.setattr(base, "mirror_of_host", lambda: "http://host.test/debian")
    monkeypatch.setattr(base.shutil, "which", lambda name: name)
    monkeypatch.setattr(base.os, "geteuid", lambda: 0)
    script = client(f'import*) tar -x -C {tmp_path} ;;\n"image inspect"*) echo 75000000 ;;')
    sentence = base.make(Engine(str(script), "28"), tmp_path / "work", mirror)
    assert sentence.startswith("debian:") and "is Debian 12.99, 75 MB; the Dockerfile names 12." in sentence
    sources = tmp_path / "etc/apt/sources.list"
    assert sources.exists() == kept and (
        not kept or sources.read_text() == "deb http://named.test/debian bookworm main\n"
    )
    assert list((tmp_path / "work").iterdir()) == []
