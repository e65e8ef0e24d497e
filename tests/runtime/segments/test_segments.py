"""Tests segment files: written, cut, refused and read again, after anything that may happen to them."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from crc32c import crc32c

from tests.runtime.segments.folder import BAD, HEADER, LANES, STRIDE, Folder, Library, compile_library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(compile_library(tmp_path_factory.mktemp("segments")))


@pytest.fixture
def folder(library: Library, tmp_path: Path) -> Path:
    """Three segments of two epochs, the last with eight entries of two lanes."""
    path = tmp_path / "written"
    opened = library.open(path)
    assert opened and opened.epoch == 0
    opened.begin(1)
    opened.append(0, 5)
    opened.append(2, 3)
    opened.sync()
    opened.begin(2)
    opened.append(1, 4)
    opened.sync()
    opened.rotate()
    for count in (2, 1, 3):
        opened.append(1, count)
    opened.append(0, 2)
    opened.sync()
    opened.close()
    return path


LAST = "00000003.log"
CLAIM = "claim"  # by which a daemon holds the folder
LAST_PLACES = [(1, 5), (1, 6), (1, 7), (1, 8), (1, 9), (1, 10), (0, 1), (0, 2)]


def copy_of(folder: Path, to: Path) -> Path:
    if to.exists():
        shutil.rmtree(to)
    return Path(shutil.copytree(folder, to))


def numbers_after(places: list[tuple[int, int]], before: dict[int, int]) -> list[int]:
    numbers = [before.get(lane, 0) for lane in range(LANES)]
    for lane, number in places:
        numbers[lane] = number
    return numbers


def test_the_known_check_value_and_both_ways(library: Library) -> None:
    c = library.c
    generator = random.Random(1)
    for function in (c.crc32c, c.crc32c_by_table, *([c.crc32c_by_instruction] if c.crc32c_in_hardware() else [])):
        assert function(0, b"123456789", 9) == 0xE3069283
        assert function(0, bytes(32), 32) == 0x8A9136AA  # of RFC 3720, B.4
        assert function(0, bytes([0xFF] * 32), 32) == 0x62A8AB43
        assert function(0, b"", 0) == 0
    for size in [*range(40), 1000, 4099]:
        data = generator.randbytes(size)
        split = generator.randrange(size + 1)
        whole = c.crc32c_by_table(0, data, size)
        assert c.crc32c_by_instruction(0, data, size) == whole
        assert crc32c(data) == whole
        assert c.crc32c_by_table(c.crc32c_by_table(0, data[:split], split), data[split:], size - split) == whole
        assert (
            c.crc32c_by_instruction(c.crc32c_by_instruction(0, data[:split], split), data[split:], size - split)
            == whole
        )


def test_what_was_written_is_there(library: Library, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result, report, entries = library.report(folder, capfd, entries=True)
    assert (result, report["corrupt"], report["cut_bytes"], report["findings"]) == (0, 0, 0, [])
    assert (report["segments"], report["first"], report["last"], report["epoch"], report["entries"]) == (3, 1, 3, 2, 20)
    assert report["numbers"] == [2, 10, 0] and report["is_written"] is False
    assert [(one["epoch"], one["lane"], one["number"]) for one in entries] == [
        *((1, 0, number) for number in range(1, 6)),
        *((1, 2, number) for number in range(1, 4)),
        *((2, 1, number) for number in range(1, 5)),
        *((2, *place) for place in LAST_PLACES),
    ]
    assert all(int.from_bytes(bytes.fromhex(one["value"]), "little") == one["number"] for one in entries)
    opened = library.open(folder)
    assert opened and (opened.epoch, opened.numbers) == (2, [2, 10, 0])
    assert library.report(folder, capfd)[1]["is_written"] is True
    opened.append(2, 1)
    opened.close()
    assert library.report(folder, capfd)[1]["numbers"] == [2, 10, 1]
    assert sorted(os.listdir(folder)) == ["00000001.log", "00000002.log", LAST, CLAIM]


def test_a_tail_torn_at_any_byte_is_cut(
    library: Library, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = (folder / LAST).read_bytes()
    assert len(whole) == HEADER + len(LAST_PLACES) * STRIDE
    for size in range(HEADER, len(whole)):
        torn = copy_of(folder, tmp_path / "torn")
        (torn / LAST).write_bytes(whole[:size])
        left = (size - HEADER) // STRIDE
        expected = numbers_after(LAST_PLACES[:left], {1: 4})
        if size % 7 == 0:  # the reader sees the same, and changes nothing
            result, report, _ = library.report(torn, capfd)
            assert (result, report["numbers"], report["entries"]) == (0, expected, 12 + left)
            assert report["cut_bytes"] == (size - HEADER) % STRIDE and len(report["findings"]) == (
                report["cut_bytes"] != 0
            )
            assert (torn / LAST).read_bytes() == whole[:size]
        opened = library.open(torn)
        assert opened and opened.numbers == expected and opened.size == HEADER + left * STRIDE
        assert (torn / LAST).read_bytes() == whole[: HEADER + left * STRIDE]
        opened.append(2, 2)
        opened.close()
        result, report, _ = library.report(torn, capfd)
        assert (result, report["cut_bytes"], report["entries"]) == (0, 0, 12 + left + 2)


def test_any_bit_of_the_last_segments_entries_cuts_there(library: Library, folder: Path, tmp_path: Path, capfd) -> None:
    whole = (folder / LAST).read_bytes()
    for at in range(HEADER, len(whole)):
        flipped = copy_of(folder, tmp_path / "flipped")
        (flipped / LAST).write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        left = (at - HEADER) // STRIDE
        opened = library.open(flipped)
        assert opened and opened.numbers == numbers_after(LAST_PLACES[:left], {1: 4})
        opened.close()
        # A hole may be followed by whole records: none of them comes back.
        assert (flipped / LAST).read_bytes() == whole[: HEADER + left * STRIDE]
        assert f"with {len(LAST_PLACES) - left - 1} whole entries behind" in capfd.readouterr().err


def test_a_hole_of_zeros_is_cut_with_what_follows(
    library: Library, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = bytearray((folder / LAST).read_bytes())
    whole[HEADER + STRIDE : HEADER + 3 * STRIDE] = bytes(2 * STRIDE)
    (folder / LAST).write_bytes(whole)
    result, report, _ = library.report(folder, capfd)
    assert (result, report["numbers"], report["cut_whole"], report["cut_bytes"]) == (0, [0, 5, 0], 5, 7 * STRIDE)
    assert report["findings"][0]["offset"] == HEADER + STRIDE


def test_any_bit_elsewhere_is_named_and_not_handed_over(library: Library, folder: Path, tmp_path: Path, capfd) -> None:
    """In all segments but the last, and in every header: by file and offset, and nothing false is handed over."""
    _, _, entries = library.report(folder, capfd, entries=True)
    true = {(one["epoch"], one["lane"], one["number"]): one["value"] for one in entries}
    for name in ("00000001.log", "00000002.log", LAST):
        whole = (folder / name).read_bytes()
        for at in range(len(whole) if name != LAST else HEADER):
            flipped = copy_of(folder, tmp_path / "flipped")
            (flipped / name).write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
            result, report, entries = library.report(flipped, capfd, entries=True)
            assert result == BAD and report["corrupt"] >= 1, (name, at)
            assert all(true[one["epoch"], one["lane"], one["number"]] == one["value"] for one in entries)
            begin = 0 if at < HEADER else HEADER + (at - HEADER) // STRIDE * STRIDE
            finding = report["findings"][0]
            assert (finding["file"], finding["offset"]) == (name, begin), (name, at, report)
            if at >= HEADER:
                assert (report["corrupt"], report["entries"]) == (1, 19)
            if at < HEADER or name == LAST:
                assert library.open(flipped) is None
                assert f"first {name} at byte 0" in capfd.readouterr().err


def test_a_segment_torn_in_the_middle_of_the_row(
    library: Library, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = folder / "00000001.log"
    path.write_bytes(path.read_bytes()[:-3])
    result, report, _ = library.report(folder, capfd)
    finding = report["findings"][0]
    assert (result, report["corrupt"], report["entries"]) == (BAD, 1, 19)
    assert (finding["file"], finding["offset"], finding["bytes"]) == ("00000001.log", HEADER + 7 * STRIDE, STRIDE - 3)
    assert library.open(folder) is None


def test_entries_missing_at_the_end_of_a_segment_are_found_by_the_next(library: Library, tmp_path: Path, capfd) -> None:
    path = rows_of_segments(library, tmp_path)
    second = path / "00000002.log"
    second.write_bytes(second.read_bytes()[:-STRIDE])
    result, report, _ = library.report(path, capfd)
    assert (result, [(one["file"], one["offset"]) for one in report["findings"]]) == (BAD, [("00000003.log", 0)])
    assert (
        "its header says that lane 1 ended at number 4 before it, but the lane ended at 3"
        in report["findings"][0]["text"]
    )
    assert library.open(path) is None
    assert (
        "00000003.log at byte 0: its header counts 6 numbers before it, but the files have 5" in capfd.readouterr().err
    )


def rows_of_segments(library: Library, tmp_path: Path, segments: int = 5) -> Path:
    """Each with one entry of lane 0 and two of lane 1."""
    path = tmp_path / "rows"
    opened = library.open(path)
    assert opened
    opened.begin(7)
    for at in range(segments):
        if at:
            opened.rotate()
        opened.append(0, 1)
        opened.append(1, 2)
        opened.sync()
    opened.close()
    return path


def test_a_missing_segment_is_named(library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = rows_of_segments(library, tmp_path)
    for name in ("00000003.log", "00000002.log"):
        (path / name).unlink()
        result, report, _ = library.report(path, capfd)
        assert (result, len(report["findings"])) == (BAD, 1)
        assert report["findings"][0]["file"] == name and "missing before 00000004.log" in report["findings"][0]["text"]
    assert library.open(path) is None
    assert "00000002.log at byte 0: 2 segments are missing before 00000004.log" in capfd.readouterr().err
    # The first ones may be gone: they were truncated.
    (path / "00000001.log").unlink()
    result, report, _ = library.report(path, capfd)
    assert (result, report["entries"], report["numbers"]) == (0, 6, [5, 10, 0])


def test_a_segment_under_another_name_is_named(
    library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = rows_of_segments(library, tmp_path)
    shutil.copy(path / "00000002.log", path / "00000006.log")
    result, report, _ = library.report(path, capfd)
    assert result == BAD and report["entries"] == 15
    assert report["findings"][0] == {
        "file": "00000006.log",
        "offset": 0,
        "bytes": HEADER + 3 * STRIDE,
        "is_cut": False,
        "text": "its header says that it is segment 2",
    }


def test_content_of_another_file_is_torn(library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Blocks that a file system gives to a file with what they had before: whole entries, of another segment."""
    path = rows_of_segments(library, tmp_path)
    stale = (path / "00000004.log").read_bytes()[HEADER:]
    with (path / "00000005.log").open("ab") as last:
        last.write(stale)
    result, report, _ = library.report(path, capfd)
    assert (result, report["entries"], report["cut_bytes"], report["cut_whole"]) == (0, 15, len(stale), 0)
    opened = library.open(path)
    assert opened and opened.numbers == [5, 10, 0]
    opened.close()


def replaced(path: Path, at: int, entry: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(entry)] = entry
    path.write_bytes(content)


@pytest.mark.parametrize(
    "epoch, number, text, entries",
    [
        (7, 2, "number 2 of lane 1 comes after 2", 14),
        (7, 9, "number 9 of lane 1 comes after 2: the numbers between are missing", 14),
        (6, 3, "it is of lane 1 and epoch 6, but the segment is of epoch 7", 14),
    ],
)
def test_whole_entries_out_of_order_are_corrupt(library, tmp_path, capfd, epoch, number, text, entries) -> None:
    """With right checksums, so that only the order tells. Records behind a gap are valid, and are handed over."""
    path = rows_of_segments(library, tmp_path)
    entry = library.filled(epoch, 1, number, 1).raw[: STRIDE - 4]
    seeded = library.c.crc32c(0, (2).to_bytes(8, "little"), 8)
    entry += library.c.crc32c(seeded, entry, len(entry)).to_bytes(4, "little")
    replaced(path / "00000002.log", HEADER + STRIDE, entry)
    result, report, _ = library.report(path, capfd)
    assert result == BAD
    assert (report["findings"][0]["file"], report["findings"][0]["offset"]) == ("00000002.log", HEADER + STRIDE)
    assert report["findings"][0]["text"] == text
    assert report["entries"] == entries


def test_what_does_not_go_on_where_the_files_end_is_not_appended(library: Library, folder: Path, capfd) -> None:
    opened = library.open(folder)
    assert opened
    for arguments in ({"first": 12}, {"first": 10}, {"first": 11, "epoch": 3}):
        assert opened.try_to_append(1, 1, **arguments) == BAD
        assert "in epoch 2; these files were not written from these tables" in capfd.readouterr().err
    assert opened.try_to_append(1, 1) == 0
    opened.close()


def test_segments_of_others_are_refused(library: Library, folder: Path, tmp_path: Path, capfd) -> None:
    assert library.open(folder, "probe_other_entries") is None
    error = capfd.readouterr().err
    assert (
        "00000001.log: its entries are of another layout than this probe (0102030405060708, not 0102030405060709)"
        in error
    )
    assert (
        library.c.segments_truncate(str(folder).encode(), library.entries_of("probe_other_entries"), 3)
        == -errno.EMEDIUMTYPE
    )
    assert sorted(os.listdir(folder)) == ["00000001.log", "00000002.log", LAST, CLAIM]
    other = tmp_path / "other"
    other.mkdir()
    (other / "00000001.log").write_text(
        "Sep 12 10:00:00 something else, in a file of such a name, and long enough to have a header\n" * 3
    )
    assert library.open(other) is None
    assert "it does not start like a segment" in capfd.readouterr().err
    (tmp_path / "file").touch()
    assert library.open(tmp_path / "file") is None
    assert library.open(tmp_path / "no" / "such") is None
    assert "No such file or directory; name one that this user can make or write to" in capfd.readouterr().err


def test_a_second_daemon_is_kept_out(library: Library, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    opened = library.open(folder)
    assert opened
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    assert library.open(folder) is None
    assert "another daemon has it open; stop that daemon first, or name another folder" in capfd.readouterr().err
    assert before == {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    opened.close()
    again = library.open(folder)
    assert again
    again.close()


def test_a_start_that_was_cut_short_leaves_nothing(library: Library, folder: Path) -> None:
    (folder / "00000003.new").write_bytes(b"half")
    (folder / "00000004.new").write_bytes((folder / LAST).read_bytes())
    (folder / "lost+found").mkdir()
    opened = library.open(folder)
    assert opened and opened.numbers == [2, 10, 0]
    opened.close()
    assert sorted(os.listdir(folder)) == ["00000001.log", "00000002.log", LAST, CLAIM, "lost+found"]


def test_truncation_leaves_the_last(library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = rows_of_segments(library, tmp_path)
    opened = library.open(path)  # while a daemon has it
    truncate = library.c.segments_truncate
    arguments = (str(path).encode(), library.entries_of())
    assert truncate(*arguments, 1) == 0
    assert truncate(*arguments, 3) == 2
    assert sorted(os.listdir(path)) == ["00000003.log", "00000004.log", "00000005.log", CLAIM]
    assert truncate(*arguments, 1000) == 2
    assert sorted(os.listdir(path)) == ["00000005.log", CLAIM]
    assert opened
    opened.append(0, 1)
    opened.close()
    result, report, _ = library.report(path, capfd)
    assert (result, report["numbers"], report["entries"]) == (0, [6, 10, 0], 4)
    again = library.open(path)  # numbers of what is gone are in the header
    assert again and again.numbers == [6, 10, 0] and again.epoch == 7
    again.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], check=True)
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_a_full_disk_moves_nothing_and_can_be_tried_again(library: Library, small_disk: Path, capfd) -> None:
    path = small_disk / "segments"
    opened = library.open(path)
    assert opened
    opened.begin(1)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(40_000))
    refused = 0
    while not refused:
        before = opened.numbers, opened.size, (path / "00000001.log").read_bytes()
        refused = opened.try_to_append(0, 100)
    assert refused == -errno.ENOSPC
    assert before == (opened.numbers, opened.size, (path / "00000001.log").read_bytes())
    assert before[0][0] > 0
    # Something else, and less of it, the next time.
    while opened.try_to_append(2, 7) == 0:
        pass
    assert library.report(path, capfd)[:2][0] == 0
    assert library.c.segments_rotate(opened.handle) == -errno.ENOSPC
    assert "make room there: `truncate` removes segments" in capfd.readouterr().err
    numbers = opened.numbers
    filler.unlink()
    opened.append(0, 100)
    opened.sync()
    opened.rotate()
    opened.append(1, 1)
    opened.close()
    result, report, _ = library.report(path, capfd)
    assert (result, report["cut_bytes"]) == (0, 0)
    assert report["numbers"] == [numbers[0] + 100, 1, numbers[2]]
    # A start needs room for a copy; where there is none, the old file stays.
    with pytest.raises(OSError):
        filler.write_bytes(bytes(65_536))
    assert library.open(path) is None
    assert "No space left on device; make room there" in capfd.readouterr().err
    filler.unlink()
    again = library.open(path)
    assert again and again.numbers == report["numbers"]
    again.close()


WRITER = """
import sys
from pathlib import Path
from tests.runtime.segments.folder import Library
library = Library(Path(sys.argv[1]))
opened = library.open(Path(sys.argv[2]))
if opened.epoch == 0:
    opened.begin(1)
lane = 0
while True:
    lane = (lane + 1) % 3
    opened.append(lane, 4000)
    print(*opened.numbers, flush=True)
    if opened.size > 4_000_000:
        opened.sync()
        opened.rotate()
"""


def test_a_daemon_that_is_killed_while_it_writes_loses_nothing(library: Library, tmp_path: Path, capfd) -> None:
    path = tmp_path / "killed"
    generator = random.Random(3)
    root = Path(__file__).resolve().parents[3]
    torn = 0
    for _ in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, library.path, path],
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        assert writer.stdout and writer.stdout.readline()
        time.sleep(generator.uniform(0.02, 0.1))
        writer.send_signal(signal.SIGKILL)
        said = [0] * LANES
        for line in writer.stdout:
            if line.endswith("\n"):
                said = [int(number) for number in line.split()]
        writer.wait()
        result, report, _ = library.report(path, capfd)
        assert result == 0 and all(have >= told for have, told in zip(report["numbers"], said))
        torn += report["cut_bytes"] > 0
    opened = library.open(path)
    assert opened and opened.numbers == report["numbers"]
    opened.close()
    assert library.report(path, capfd)[1]["entries"] == sum(report["numbers"])


def test_a_foreign_folder_reads_as_empty(library: Library, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.log").write_text("not a segment")
    (tmp_path / "1.log").write_text("nor this")
    result, report, _ = library.report(tmp_path, capfd)
    assert (result, report["segments"], report["entries"]) == (0, 0, 0)
    assert (
        library.c.command_segments(
            library.entries_of(), str(tmp_path / "absent").encode(), ctypes.create_string_buffer(64)
        )
        == -errno.ENOENT
    )
    assert "name the folder that serve got as --segments" in capfd.readouterr().err


def test_reading_does_not_keep_a_daemon_out(library: Library, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    opened: Folder | None = library.open(folder)
    assert opened
    assert library.report(folder, capfd)[0] == 0
    opened.close()
