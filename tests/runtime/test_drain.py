"""Tests tests/golden/ledger/ as generated: its daemon drains records to segment files, and recovers from them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.base import protocols
from harness.bench.build import load_module
from harness.data import row_files
from harness.operate import service
from harness.rig import Rig
from tests.runtime.conftest import HERE, ROOT, Echo, process_status, wait_for
from tests.runtime.test_udp_server import serve as serve_udp

GENERATED = ROOT / "tests/golden/ledger/expected"
LANES, SLOTS = 3, 32
EXIT_CORRUPT = 3

codec: Any = load_module("codec_of_ledger", GENERATED / "ledger_codec.py")
Kind = codec.Kind


@pytest.fixture(scope="module")
def folder(built: Callable[..., Path]) -> Path:
    return built(protocol="ledger", generated=GENERATED)


@pytest.fixture(scope="module")
def failing_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("failing-disk") / "failing_disk.so"
    subprocess.run(
        ["gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", HERE / "failing_disk.c", "-o", target],
        check=True,
    )
    return target


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig("drain") as opened:
        yield opened


class Ledger(Echo):
    """With a folder of segments, and a client who counts what was added."""

    def __init__(self, folder: Path, rig: Rig, segments: Path) -> None:
        super().__init__(folder, rig, "ledger", codec.PORT)
        self.segments = segments
        self.socket = rig.client.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(2)
        self.added: list[tuple[int, int, int, int, int]] = []  # epoch, lane, number, account, version
        self.version = self.questions = 0

    def begin(self, *options: str, **others: Any) -> subprocess.Popen[str]:
        return self.serve("--segments", str(self.segments), *options, **others)

    def ask(self, message: Any) -> Any:
        """The answer; to what was asked before there may be answers still."""
        self.send(message)
        while True:
            answer = codec.Message.decode(self.socket.recv(256))
            if answer.text == message.text:
                return answer

    def send(self, message: Any) -> None:
        self.socket.sendto(message.encode(), (self.rig.server.ipv4, self.port))

    def add(self, lane: int, account: int = 0) -> bool:
        """Whether there was room."""
        self.version += 1
        account = account or self.version % 7
        version = self.version
        answer = self.ask(
            codec.Message(
                kind=Kind.ADD,
                lane=lane,
                account=account,
                version=version,
                mood=codec.Mood.BOLD,
                paid=version % 2 == 1,
                sign=version.to_bytes(3, "big"),
                text=f"entry {version:6}".encode(),
            )
        )
        if answer.kind == Kind.ADDED:
            self.added.append((answer.epoch, answer.lane, answer.number, account, version))
        return answer.kind == Kind.ADDED

    def fill(self, count: int) -> None:
        """Records in all lanes, with a daemon that makes room."""
        for at in range(count):
            wait_for(lambda lane=at % LANES: self.add(lane), "there is room")

    def question(self, record: tuple[int, ...]) -> Any:
        self.questions += 1
        return codec.Message(
            kind=Kind.ASK, epoch=record[0], lane=record[1], number=record[2], text=f"asks {self.questions:7}".encode()
        )

    def is_stored(self, record: tuple[int, ...]) -> bool:
        try:
            self.socket.settimeout(0.05)
            return self.ask(self.question(record)).kind == Kind.STORED
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(2)

    def entries(self) -> list[dict[str, Any]]:
        """Returns the entries of all segments, then the report."""
        done = self.succeed("segments", str(self.segments), "--json", "--entries")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def places(self) -> set[tuple[int, int, int, int, int]]:
        *entries, report = self.entries()
        assert report["corrupt"] == 0
        for one in entries:
            version = one["version"]
            assert (one["mood"], one["paid"]) == ("Bold", version % 2 == 1)
            assert (
                one["sign"] == version.to_bytes(3, "big").hex()
                and bytes.fromhex(one["text"]) == f"entry {version:6}".encode()
            )
        found = {(one["epoch"], one["lane"], one["number"], one["account"], one["version"]) for one in entries}
        assert len(found) == len(entries)
        return found

    def drained(self, name: str) -> int:
        return self.status()["daemon"][f"drain_{name}"]


@pytest.fixture
def ledger(folder: Path, rig: Rig, tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(folder, rig, tmp_path / "segments")
    made.load()
    yield made
    made.socket.close()


def test_what_is_added_is_drained_and_recovered(ledger: Ledger, tmp_path: Path) -> None:
    assert not ledger.add(0), "no lane is open before a daemon has begun an epoch"
    daemon = ledger.begin()
    ledger.fill(2000)
    wait_for(lambda: ledger.is_stored(ledger.added[-1]), "it is on the disk")
    assert {epoch for epoch, *_ in ledger.added} == {1}
    for lane in range(LANES):
        numbers = [number for _, where, number, *_ in ledger.added if where == lane]
        assert numbers == list(range(1, len(numbers) + 1))
    wait_for(lambda: ledger.drained("records") == 2000, "all are drained")
    status = ledger.status()["daemon"]
    assert 2000 / (LANES * 16) <= status["drain_batches"] <= 2000 and status["drain_syncs"] >= 1
    assert status["drain_bytes"] == 2000 * (ledger.entries()[-1]["bytes"] - 76 * (1 + status["drain_segments"])) // 2000
    assert status["drain_segments"] >= 1 and status["drain_full"] == 0
    assert "stepwise_daemon_drain_sync_last_us{" in ledger.succeed("status", "--prometheus").stdout
    assert ledger.end(daemon)[0] == 0
    assert ledger.places() == set(ledger.added)

    lines = ledger.succeed("recover", str(ledger.segments), "--text").stdout.splitlines()
    newest: dict[int, int] = {}
    for *_, account, version in ledger.added:
        newest[account] = max(newest.get(account, 0), version)
    found = [dict(pair.split("=", 1) for pair in row.split()) for row in lines]
    assert {int(row["account"]): int(row["version"]) for row in found} == newest
    assert all(row["mood"] == "Bold" and row["sign"] == int(row["version"]).to_bytes(3, "big").hex() for row in found)
    output = tmp_path / "rows"
    done = ledger.succeed("recover", str(ledger.segments), "--output", str(output))
    assert f"{len(newest)} keys, in " in done.stderr and "2000 entries" in done.stderr
    assert len(output.read_bytes()) == row_files.HEAD.size + 6 * row_files.FIELD.size + len(newest) * 24 + 4


def test_a_daemon_that_is_killed_leaves_nothing_out(ledger: Ledger) -> None:
    """Kills the daemon again and again while records come in. They wait in the tables until a daemon runs, or the
    tables are full.
    """
    for _ in range(6):
        daemon = ledger.begin()
        ledger.fill(300)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        for lane in range(LANES):
            while ledger.add(lane):
                pass
    daemon = ledger.begin()
    wait_for(lambda: all([ledger.add(lane) for lane in range(LANES)]), "there is room again")
    assert ledger.end(daemon)[0] == 0
    assert ledger.places() == set(ledger.added)
    assert {epoch for epoch, *_ in ledger.added} == {1}


def test_a_daemon_that_ends_leaves_nothing_in_the_tables(ledger: Ledger) -> None:
    """However many batches there are."""
    for _ in range(8):
        daemon = ledger.begin()
        wait_for(lambda: all([ledger.add(lane) for lane in range(LANES)]), "there is room")
        daemon.send_signal(signal.SIGSTOP)
        while any(ledger.add(lane) for lane in range(LANES)):
            pass
        daemon.send_signal(signal.SIGTERM)
        daemon.send_signal(signal.SIGCONT)
        assert daemon.wait(10) == 0
        assert ledger.places() == set(ledger.added)


def test_new_tables_begin_another_epoch(ledger: Ledger, tmp_path: Path) -> None:
    for epoch in (1, 2, 3):
        daemon = ledger.begin()
        ledger.fill(50)
        assert ledger.added[-1][:3] == (epoch, 1, 17)
        assert ledger.end(daemon)[0] == 0
        if epoch == 2:  # as the machine that goes down with half of a write
            last = max(ledger.segments.glob("*.log"))
            last.write_bytes(last.read_bytes() + b"torn")
        ledger.succeed("unload", ledger.iface, "--purge")
        ledger.load()
    assert ledger.places() == set(ledger.added)
    # Tables that have an epoch belong to one folder.
    daemon = ledger.begin()
    ledger.fill(3)
    ledger.end(daemon)
    refused = ledger.refuse("serve", "--segments", str(tmp_path / "other"))
    assert "its last segment is of epoch 0 (there is none), but the tables are of epoch 4" in refused


def test_files_that_are_not_of_these_tables_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    daemon = ledger.begin()
    ledger.fill(60)
    assert ledger.end(daemon)[0] == 0
    (path,) = ledger.segments.glob("*.log")
    whole = path.read_bytes()
    path.write_bytes(whole[: 76 + (len(whole) - 76) // 2 // 38 * 38])
    refused = ledger.refuse("serve", "--segments", str(ledger.segments))
    assert "ends at number" in refused and "but 20 was written; the files were changed" in refused
    # Further than the tables: of others, though of the same epoch.
    path.write_bytes(whole)
    ledger.succeed("unload", ledger.iface, "--purge")
    ledger.load()
    ledger.segments = tmp_path / "second"
    daemon = ledger.begin()
    ledger.fill(3)
    ledger.end(daemon)
    refused = ledger.refuse("serve", "--segments", str(path.parent))
    assert (
        "lane 0 ends at number 20 there, but the tables have written 1 and no longer have the records between"
        in refused
    )
    daemon = ledger.begin()
    ledger.end(daemon)
    for name in ("00000001.log", "00000002.log"):
        (tmp_path / "second" / name).write_bytes(b"something else")
    assert "is corrupt in" in ledger.refuse("serve", "--segments", str(ledger.segments))
    assert ledger.run("segments", str(ledger.segments)).returncode == EXIT_CORRUPT
    assert ledger.run("recover", str(ledger.segments), "--text").returncode == EXIT_CORRUPT


def test_what_commands_take(ledger: Ledger, tmp_path: Path) -> None:
    assert "serve needs --segments DIR" in ledger.refuse("serve", code=2)
    assert "truncate needs --before NUMBER" in ledger.refuse("truncate", str(tmp_path), code=2)
    assert "segments needs one DIR, not 0" in ledger.refuse("segments", code=2)
    assert "status does not accept --segments" in ledger.refuse("status", "--segments", "x", code=2)
    assert "cannot open the folder of segments" in ledger.refuse("segments", str(tmp_path / "absent"))
    terminal, ours = os.openpty()
    done = subprocess.run(
        [ledger.daemon, "recover", tmp_path], stdout=ours, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(terminal)
    os.close(ours)
    assert done.returncode == 1 and "use --text, or --output FILE" in done.stderr
    daemon = ledger.begin()
    ledger.fill(5)
    assert "a daemon still writes" in ledger.succeed("segments", str(ledger.segments)).stdout
    ledger.end(daemon)


def test_older_segments_are_removed_while_it_drains(ledger: Ledger) -> None:
    daemon = ledger.begin()
    ledger.fill(2000)
    wait_for(lambda: ledger.drained("segments") >= 1, "another segment has begun")
    first = set(ledger.segments.glob("*.log"))
    ledger.succeed("truncate", str(ledger.segments), "--before", "2")
    assert first - set(ledger.segments.glob("*.log")) == {ledger.segments / "00000001.log"}
    ledger.fill(10)
    ledger.end(daemon)
    assert ledger.places() < set(ledger.added)
    daemon = ledger.begin()
    ledger.fill(10)
    ledger.end(daemon)
    report = ledger.entries()[-1]
    assert report["corrupt"] == 0 and sum(report["numbers"]) == len(ledger.added)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", path], check=True)
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def test_a_full_disk_is_waited_out(ledger: Ledger, small_disk: Path) -> None:
    ledger.segments = small_disk / "segments"
    (small_disk / "filler").write_bytes(bytes(110_000))
    daemon = ledger.begin()
    while any(ledger.add(lane) for lane in range(LANES)) or ledger.drained("full") == 0:
        pass
    # The first of two batches may have made room in the tables before the second filled the disk.
    while any(ledger.add(lane) for lane in range(LANES)):
        pass
    time.sleep(0.3)
    assert not ledger.add(0) and daemon.poll() is None
    assert not ledger.is_stored(ledger.added[-1])
    (small_disk / "filler").unlink()
    wait_for(lambda: ledger.add(0), "there is room again")
    wait_for(lambda: ledger.is_stored(ledger.added[-1]), "it is on the disk")
    returned, errors = ledger.end(daemon)
    assert returned == 0
    assert errors.count("cannot write drained records: No space left on device") == 1
    assert "there is room again for drained records" in errors
    assert ledger.places() == set(ledger.added)


def test_a_sync_that_fails_ends_the_daemon(ledger: Ledger, failing_disk: Path, tmp_path: Path) -> None:
    switch = tmp_path / "fails"
    prefix = ("env", f"LD_PRELOAD={failing_disk}", f"DISK_FAILS={switch}")
    daemon = ledger.begin(prefix=prefix)
    ledger.fill(30)
    wait_for(lambda: ledger.is_stored(ledger.added[-1]), "it is on the disk")
    switch.touch()
    assert ledger.add(1)
    assert daemon.wait(timeout=5) == 1
    assert daemon.stderr and "entries that were not yet synced may be lost" in daemon.stderr.read()
    switch.unlink()
    last = ledger.added[-1]
    assert not ledger.is_stored(last)
    daemon = ledger.begin()
    wait_for(lambda: ledger.is_stored(last), "another daemon has copied it")
    ledger.end(daemon)
    assert ledger.places() == set(ledger.added)


def test_nothing_is_stored_before_a_sync_that_began_after_it_was_written(
    ledger: Ledger, failing_disk: Path, tmp_path: Path
) -> None:
    switch = tmp_path / "waits"
    prefix = ("env", f"LD_PRELOAD={failing_disk}", f"DISK_WAITS={switch}")
    daemon = ledger.begin(prefix=prefix)
    switch.touch()
    assert ledger.add(0)
    time.sleep(0.1)  # a sync of the first is under way
    for _ in range(20):
        wait_for(lambda: ledger.add(0), "the drain goes on while the disk takes long")
    wait_for(lambda: ledger.drained("records") == 21, "all are in the file")
    assert not any(ledger.is_stored(record) for record in ledger.added)
    waits = [ledger.question(record) for record in ledger.added]
    for question in waits:
        ledger.send(question)
    wait_for(lambda: ledger.status()["daemon"]["kept"] >= len(waits), "all of them wait in the daemon")
    switch.unlink()
    # Nobody asks again: the end of a sync is enough.
    texts = {question.text for question in waits}
    while texts:
        answer = codec.Message.decode(ledger.socket.recv(256))
        assert answer.kind == Kind.STORED
        texts.discard(answer.text)
    ledger.end(daemon)


def test_the_sanitizers_find_nothing(built: Callable[..., Path], rig: Rig, tmp_path: Path) -> None:
    ledger = Ledger(
        built(protocol="ledger", generated=GENERATED, make_variables=("SANITIZE=1",)), rig, tmp_path / "segments"
    )
    assert b"__asan_init" in Path(ledger.daemon).read_bytes()
    ledger.load()
    for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        daemon = ledger.begin()
        ledger.fill(600)
        assert "Sanitizer" not in ledger.end(daemon, how)[1]
        assert daemon.returncode == (0 if how == signal.SIGTERM else -signal.SIGKILL)
    assert ledger.places() == set(ledger.added)
    for command in (
        ("segments",),
        ("recover", "--text"),
        ("recover", "--output", str(tmp_path / "rows")),
        ("truncate", "--before", "2"),
    ):
        done = ledger.succeed(command[0], str(ledger.segments), *command[1:])
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    ledger.socket.close()


def test_as_another_user(ledger: Ledger, reachable: Path) -> None:
    """The folder is opened with that user's rights. A user who may not make it, or files in it, gets an error. The
    user's own folder is written to.
    """
    ledger.segments = reachable / "segments"
    serve = ("serve", "--segments", str(ledger.segments), "--user", "nobody")
    assert "as user 65534: Permission denied; name one that this user can make or write to" in ledger.refuse(
        *serve, code=4
    )
    ledger.end(ledger.begin())
    ledger.segments.chmod(0o755)
    assert (
        f"cannot create files in {ledger.segments} as user 65534: Permission denied; the folder, and its files"
        in ledger.refuse(*serve, code=4)
    )
    shutil.chown(ledger.segments, "nobody")
    assert "it, and the segments, must belong to the user that the daemon runs as" in ledger.refuse(*serve, code=4)
    subprocess.run(["chown", "-R", "nobody", ledger.segments], check=True)
    daemon = ledger.begin("--user", "nobody")
    assert process_status(daemon.pid)["Uid"].split()[0] != "0"
    ledger.fill(2000)
    wait_for(lambda: ledger.drained("segments") >= 1, "another segment has begun")
    ledger.end(daemon)
    assert ledger.places() == set(ledger.added)


def test_in_the_background_with_a_relative_folder(ledger: Ledger, tmp_path: Path) -> None:
    ledger.succeed("serve", "--segments", "segments", "--daemonize", cwd=tmp_path)
    ledger.fill(10)
    wait_for(lambda: ledger.is_stored(ledger.added[-1]), "it is on the disk")
    os.kill(ledger.status()["daemon"]["pid"], signal.SIGTERM)
    wait_for(lambda: not ledger.status()["daemon"]["alive"], "it has ended")
    assert ledger.places() == set(ledger.added)


def test_the_kernel_udp_server_drains_to_nowhere(folder: Path, rig: Rig, tmp_path: Path) -> None:
    """No lane is ever full, and what is asked for the disk is there."""
    ledger = Ledger(folder, rig, tmp_path / "segments")
    with ledger.socket:
        serve_udp(ledger, "--threads", "2")
        for at in range(3 * LANES * SLOTS):
            assert ledger.add(at % LANES)
        assert {record[:3] for record in ledger.added} == {
            (1, lane, 1 + number) for lane in range(LANES) for number in range(3 * SLOTS)
        }
        wait_for(lambda: ledger.is_stored(ledger.added[-1]), "it is drained")
    assert not ledger.segments.exists()


def test_recipes_find_a_folder(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The folder has the protocol's name unless another one is named. The tables belong to one folder."""
    (tmp_path / "spec/ledger").mkdir(parents=True)
    (tmp_path / "spec/ledger/layout.yaml").touch()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/ledger").symlink_to(Path(ledger.daemon).parent)
    monkeypatch.setattr(protocols, "SPEC", tmp_path / "spec")
    monkeypatch.setattr(protocols, "BUILD", tmp_path / "build")
    monkeypatch.setattr(service, "bring_up_to_date", lambda protocol, stale: None)
    for name, value in ledger.rig.environment.items():
        monkeypatch.setenv(name, value)

    def just(*arguments: str) -> tuple[int, str]:
        with ledger.rig.server.entered():
            code = service.main(list(arguments))
        return code, capfd.readouterr().err

    def end() -> None:
        os.kill(ledger.status()["daemon"]["pid"], signal.SIGTERM)
        wait_for(lambda: not ledger.status()["daemon"]["alive"], "it has ended")

    usual = ledger.segments = Path(ledger.rig.state_directory, "ledger")
    assert just("load", "ledger", ledger.iface)[0] == 0
    assert usual.stat().st_mode & 0o777 == 0o700
    ledger.fill(10)
    end()
    assert ledger.places() == set(ledger.added)
    code, said = just("load", "ledger", ledger.iface, "--segments", str(tmp_path / "other"))
    assert code == 1 and "name the folder that they drained to" in said
    assert not ledger.status()["daemon"]["alive"], "a daemon that could not start has ended when that is reported"
    assert f"once the reason above is removed, `just serve ledger --segments {tmp_path / 'other'}` starts it" in said
    serving = os.fork()
    if serving == 0:  # it becomes the daemon
        just("serve", "ledger", "--daemonize")
        os._exit(1)
    assert os.waitpid(serving, 0)[1] == 0
    ledger.fill(10)
    assert just("unload", ledger.iface)[0] == 0
    assert ledger.places() == set(ledger.added)

    assert just("purge", "ledger")[0] == 0
    monkeypatch.setenv("STEPWISE_STATE", "/proc/nowhere")
    code, said = just("load", "ledger", ledger.iface)
    assert (
        code == 1
        and "cannot make /proc/nowhere/ledger, the folder for the files of ledger: No such file or directory" in said
    )
    ledger.segments = tmp_path / "named"
    assert just("load", "ledger", ledger.iface, "--segments", str(ledger.segments))[0] == 0
    assert ledger.add(0) and ledger.added.pop()[:3] == (1, 0, 1)
    assert just("unload", ledger.iface)[0] == 0
