"""Tests recovery: the entries of a folder become rows."""

from __future__ import annotations

import ctypes
import errno
import random
import resource
import struct
from pathlib import Path

import pytest
from crc32c import crc32c

from harness.data.row_files import FIELD, HEAD, MAGIC, VERSION
from tests.runtime.segments.folder import BAD, HEADER, KEYS, STRIDE, Library, Options, compile_library

FIELDS = (("key", 0, 4, 0), ("version", 4, 4, 0), ("value", 8, 8, 1))
ROW = struct.Struct("<IIQ")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(compile_library(tmp_path_factory.mktemp("recovery")))


def recover(library: Library, folder: Path, output: Path, text: bool = False) -> int:
    options = Options(text=text, output=str(output).encode())
    recovery = ctypes.addressof(ctypes.c_char.in_dll(library.c, "probe_recovery"))
    return library.c.command_recover(library.entries_of(), recovery, str(folder).encode(), ctypes.byref(options))


def rows_of(library: Library, path: Path) -> dict[int, tuple[int, int]]:
    """Returns the version and the value of each key in a file of rows."""
    content = path.read_bytes()
    magic, version, field_count, row_size, _, count = HEAD.unpack_from(content)
    assert (magic, version, field_count, row_size) == (MAGIC, VERSION, len(FIELDS), ROW.size)
    first = HEAD.size + len(FIELDS) * FIELD.size
    found = [FIELD.unpack_from(content, at) for at in range(HEAD.size, first, FIELD.size)]
    assert [(name.rstrip(b"\0").decode(), *numbers[:-1]) for name, *numbers in found] == list(FIELDS)
    assert len(content) == first + count * ROW.size + 4
    assert (
        int.from_bytes(content[-4:], "little")
        == library.c.crc32c(0, content[:-4], len(content) - 4)
        == crc32c(content[:-4])
    )
    rows = {key: (newest, value) for key, newest, value in ROW.iter_unpack(content[first:-4])}
    assert len(rows) == count
    return rows


def newest_of(entries: list[dict]) -> dict[int, tuple[int, int]]:
    newest: dict[int, tuple[int, int]] = {}
    for one in entries:
        if one["version"] > newest.get(one["key"], (0, 0))[0]:
            newest[one["key"]] = one["version"], int.from_bytes(bytes.fromhex(one["value"]), "little")
    return newest


def fill(library: Library, folder: Path) -> None:
    """Entries of three lanes, several epochs and segments: a key's versions come in no order."""
    generator = random.Random(5)
    opened = library.open(folder)
    assert opened
    for epoch in (1, 2, 5):
        opened.begin(epoch)
        for _ in range(3):
            for _ in range(10):
                opened.append(generator.randrange(3), generator.randrange(1, 300))
            opened.sync()
            opened.rotate()
        opened.append(1, 20)
        opened.sync()
    opened.close()


def test_the_newest_of_each_key(library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, output = tmp_path / "segments", tmp_path / "rows"
    fill(library, folder)
    _, report, entries = library.report(folder, capfd, entries=True)
    newest = newest_of(entries)
    assert recover(library, folder, output) == 0
    said = capfd.readouterr().err
    assert f"{report['segments']} segments, {len(entries)} entries, {report['bytes']} bytes" in said
    assert "0 bytes cut, 0 places corrupt" in said and f"{len(newest)} keys, in " in said and "entries a second" in said
    assert rows_of(library, output) == newest and len(newest) > KEYS / 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["rows", "segments"]
    assert recover(library, folder, output, text=True) == 0
    lines = [dict(pair.split("=") for pair in line.split()) for line in output.read_text().splitlines()]
    assert {
        int(one["key"]): (int(one["version"]), int.from_bytes(bytes.fromhex(one["value"]), "little")) for one in lines
    } == newest


def test_what_is_corrupt_is_named_and_not_in_the_rows(
    library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, output = tmp_path / "segments", tmp_path / "rows"
    fill(library, folder)
    path = folder / "00000002.log"
    content = bytearray(path.read_bytes())
    for entry in (3, 4, 90):
        content[HEADER + entry * STRIDE + 20] ^= 0x10
    path.write_bytes(content)
    last = max(folder.glob("*.log"))
    last.write_bytes(last.read_bytes()[:-5])
    _, _, entries = library.report(folder, capfd, entries=True)
    assert recover(library, folder, output) == BAD
    said = capfd.readouterr().err
    assert f"{STRIDE - 5} bytes cut, 2 places corrupt" in said
    assert f"corrupt: {path} at byte {HEADER + 3 * STRIDE}, {2 * STRIDE} bytes: the checksum is wrong" in said
    assert f"corrupt: {path} at byte {HEADER + 90 * STRIDE}, {STRIDE} bytes: the checksum is wrong" in said
    assert f"{last} at byte" in said
    assert rows_of(library, output) == newest_of(entries)


def test_nothing_comes_of_nothing(library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "segments").mkdir()
    assert recover(library, tmp_path / "segments", tmp_path / "rows") == 0
    assert rows_of(library, tmp_path / "rows") == {}
    assert recover(library, tmp_path / "segments", tmp_path / "no" / "rows") == -errno.ENOENT
    assert "rows.new: No such file or directory" in capfd.readouterr().err


def test_rows_that_find_no_room_leave_no_file(
    library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(library, tmp_path / "segments")
    output = tmp_path / "full"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # as on a full disk; Python ignores the signal
    try:
        assert recover(library, tmp_path / "segments", output) == -errno.EIO
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot write rows to" in capfd.readouterr().err
    assert not list(tmp_path.glob("full*"))
