"""Low: `restore` writes no row of a file before it has checked that the whole file is intact."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from harness.data import row_files
from harness.live.build import Build
from harness.rig.netns import Rig
from tests.live import test_restore
from tests.live.test_restore import COLUMNS, restored, row

built, rig = test_restore.built, test_restore.rig


def whole(keys: Iterable[int] = range(32)) -> bytes:
    return row_files.encode(COLUMNS, [row(key, 1, b"x") for key in keys])


def is_untouched(rig: Rig) -> bool:
    """No table was made, so none has a row."""
    return not (Path(rig.bpffs) / "stepwise" / "kv").exists()


def refused(rig: Rig, built: Build, path: str, **options: object) -> str:
    done = rig.server.run([str(built.daemon), "restore", path], capture_output=True, timeout=60, **options)
    said = done.stderr.decode()
    assert done.returncode == 1 and said.count("error: ") == 1, said
    return said


@pytest.mark.parametrize("at", [-1, -5, 300], ids=["checksum", "last row", "first row"])
@pytest.mark.parametrize("way", ["pipe", "file", "redirected"])
def test_no_row_of_a_damaged_file_is_restored(rig: Rig, built: Build, tmp_path: Path, at: int, way: str) -> None:
    content = bytearray(whole())
    content[at] ^= 1
    (tmp_path / "rows").write_bytes(content)
    if way == "pipe":
        said = refused(rig, built, "-", input=bytes(content))
    elif way == "file":
        said = refused(rig, built, str(tmp_path / "rows"))
    else:
        with open(tmp_path / "rows", "rb") as file:
            said = refused(rig, built, "-", stdin=file)
    assert "is damaged: its rows do not match their checksum; nothing was restored" in said
    assert is_untouched(rig)


def test_a_file_without_rows_has_a_checksum_too(rig: Rig, built: Build) -> None:
    content = bytearray(whole([]))
    content[-1] ^= 1
    assert "is damaged" in refused(rig, built, "-", input=bytes(content))
    assert "0 rows" in restored(rig, built, whole([]))


def test_what_follows_a_file_is_not_passed_over(rig: Rig, built: Build) -> None:
    """Two files one behind the other were one file, of the first one's rows."""
    assert "goes on behind its checksum" in refused(rig, built, "-", input=whole() + whole(range(50, 60)))
    assert is_untouched(rig)


@pytest.mark.parametrize("cut", [33, 400, -1])
def test_no_row_of_a_file_that_was_cut_is_restored(rig: Rig, built: Build, cut: int) -> None:
    assert "it was cut short" in refused(rig, built, "-", input=whole()[:cut])
    assert is_untouched(rig)


def test_a_whole_file_is_restored_from_each_place(rig: Rig, built: Build, tmp_path: Path) -> None:
    """And standard input is read from where it is, though what is there can be read twice."""
    assert "32 rows" in restored(rig, built, whole())
    path = tmp_path / "rows"
    path.write_bytes(b"before" + whole())
    with open(path, "rb") as file:
        file.seek(len(b"before"))
        os.lseek(file.fileno(), len(b"before"), os.SEEK_SET)
        done = rig.server.run([str(built.daemon), "restore", "-"], stdin=file, capture_output=True, text=True)
    assert done.returncode == 0 and "32 rows" in done.stderr, done.stderr
    path.write_bytes(whole())
    (tmp_path / "link").symlink_to(path)
    done = rig.server.run([str(built.daemon), "restore", tmp_path / "link"], capture_output=True, text=True)
    assert done.returncode == 0 and "32 rows" in done.stderr, "a link that the operator named is followed"


def test_a_pipe_is_named_as_a_file_that_is_none(rig: Rig, built: Build, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows")
    said = refused(rig, built, str(tmp_path / "rows"))
    assert (
        f"cannot read {tmp_path / 'rows'}: it is a named pipe, and not a regular file; `restore -` reads standard input"
        in said
    )
    assert "cannot read nowhere: No such file or directory" in refused(rig, built, "nowhere")


@pytest.fixture
def small(tmp_path: Path) -> Iterable[Path]:
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], check=True)
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_where_what_comes_in_is_kept(rig: Rig, built: Build, tmp_path: Path, small: Path) -> None:
    """In a file without a name, of which nothing is left."""
    environment = os.environ | {"TMPDIR": str(tmp_path / "nowhere")}
    said = refused(rig, built, "-", input=whole(), env=environment)
    assert (
        f"cannot make a file in {tmp_path / 'nowhere'}: No such file or directory; name another folder in TMPDIR"
        in said
    )
    environment["TMPDIR"] = str(small)
    said = refused(rig, built, "-", input=bytes(200_000), env=environment)
    assert (
        "cannot keep a copy of standard input: No space left on device; name a folder with room for it in TMPDIR"
        in said
    )
    done = rig.server.run([str(built.daemon), "restore", "-"], input=whole(), capture_output=True, env=environment)
    assert done.returncode == 0 and list(small.iterdir()) == []
