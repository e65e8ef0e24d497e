"""Tests the packet programs with made-up frames.

Kept inputs are clean, planted faults are found, and runs are reproducible.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.protocols import GENERATED, REPOSITORY, protocols
from harness.data import frames
from harness.fuzz_targets.parsers import cli
from harness.fuzz_targets.parsers.build import ParsersError, Sources, build, folder, sources
from harness.fuzz_targets.parsers.run import fault_in, fuzz, kept, replay
from harness.fuzz_targets.parsers.seeds import seeds

PROTOCOL = "limiter"  # the smallest: what is wrong in runtime/bpf shows in any
INPUTS_MAX = 1_000_000  # a search ends at the first fault, mostly long before
KEPT_MAX, KEPT_BYTES_MAX = 100, 50_000


# --- What is kept ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", protocols())
def test_kept_inputs_and_seeds_are_clean(protocol, tmp_path):
    target = build(sources(protocol), folder(protocol))
    starts = []
    for number, frame in enumerate(seeds(protocol)):
        starts.append(tmp_path / f"{number:05}")
        starts[-1].write_bytes(frame)
    assert len(starts) > 50 and kept(protocol)
    said = replay(target, [*starts, *kept(protocol)])
    assert said is None, said


@pytest.mark.parametrize("protocol", protocols())
def test_what_is_kept_is_small(protocol):
    assert len(kept(protocol)) <= KEPT_MAX
    assert sum(path.stat().st_size for path in kept(protocol)) <= KEPT_BYTES_MAX


# --- Faults that are put in -----------------------------------------------------------------------------------


FAULTS = {
    "no check that the UDP header is there": (
        "limiter",
        "stepwise_frame.h",
        "(const void *)(udp + 1) > end ||",
        "!end ||",
        "heap-buffer-overflow",
    ),
    "no check that the message is there": (
        "limiter",
        "stepwise_frame.h",
        "(const void *)udp + udp_size <= end && ",
        "end && ",
        "heap-buffer-overflow",
    ),
    "an IPv6 header that need not be there": (
        "limiter",
        "stepwise_frame.h",
        "packet + STEPWISE_UDP_OFFSET_IPV6 <= end",
        "end",
        "heap-buffer-overflow",
    ),
    "no look at IPv4's length": (
        "limiter",
        "stepwise_frame.h",
        "network->udp_length == udp->len;",
        "network;",
        "agree on whose packet it is",
    ),
    "another host's address": (
        "limiter",
        "stepwise_hosts.h",
        "return !stepwise_address_slots.filled ||",
        "return true ||",
        "agree on whose packet it is",
    ),
    "an address of another link": (
        "limiter",
        "stepwise_hosts.h",
        "address.ifindex = context->ingress_ifindex;",
        "address.ifindex = 0;",
        "agree on whose packet it is",
    ),
    "a source that is no host's": (
        "limiter",
        "stepwise_hosts.h",
        "return (__u8)(first - 1) < STEPWISE_IPV4_MULTICAST - 1;",
        "return first;",
        "agree on whose packet it is",
    ),
    "a loopback source": (
        "limiter",
        "stepwise_hosts.h",
        "!stepwise_is_loopback_ipv4(four) && ",
        "",
        "agree on whose packet it is",
    ),
    "a wrong checksum taken for another fault": (
        "limiter",
        "stepwise_frame.h",
        " STEPWISE_MALFORMED_CHECKSUM;",
        " STEPWISE_MALFORMED;",
        "agree on whose packet it is",
    ),
    "fragments are ours": (
        "limiter",
        "stepwise_frame.h",
        "FRAGMENT_MASK 0x3fff",
        "FRAGMENT_MASK 0x1fff",
        "agree on whose packet it is",
    ),
    "a sum that is folded without its last carry": (
        "log",
        "stepwise_wire.h",
        "half += half >> 16 | half << 16;\n\treturn half >> 16;",
        "return (half >> 16) + half;",
        "a right checksum is right again",
    ),
    "a corrected checksum that may come out as none": (
        "limiter",
        "stepwise_frame.h",
        "stepwise_where(stepwise_less_bit(0, udp->check),\n\t\t\t\t    stepwise_fold(udp->check + change))",
        "stepwise_fold(udp->check + change)",
        "a message without a checksum stays without one",
    ),
    "a field at an odd place summed as if at an even one": (
        "log",
        "stepwise_wire.h",
        "if (offset & 1)\n\t\t\tsum <<= 8;",
        "",
        "a right checksum is right again",
    ),
    "an answer that keeps its addresses": (
        "limiter",
        "stepwise_frame.h",
        "stepwise_exchange(packet, packet + ETH_ALEN, ETH_ALEN);",
        "",
        "headers stay, and are turned round",
    ),
    "an answer of no socket, before there was a daemon": (
        "lock",
        "stepwise_sender.h",
        "sender && *sender && ",
        "sender && ",
        "no cell is read for an answer",
    ),
    "an answer of any socket": ("lock", "stepwise_sender.h", " == *sender", "", "no cell is read for an answer"),
    "what leaves by the service's port with options": (
        "lock",
        "stepwise_sender.h",
        " && sender->src_port == port",
        " && sender->src_port != port",
        "a packet that leaves by the service's port",
    ),
    "a socket that is not let go of": (
        "lock",
        "stepwise_daemon.h",
        "bpf_sk_release(holder);",
        "",
        "a program has not released a socket",
    ),
    "a frame in the ring buffer that lacks its end": (
        "kv",
        "stepwise_daemon.h",
        "frame->size = size;",
        "frame->size = size - 1;",
        "the ring buffer has a packet's headers and message",
    ),
}


def faulty(tmp_path: Path, protocol: str, file: str, old: str, new: str) -> Path:
    """A target with one header of runtime/bpf changed."""
    shutil.copytree(REPOSITORY / "runtime", tmp_path / "runtime", ignore=shutil.ignore_patterns("*.c"))
    header = tmp_path / "runtime" / "bpf" / file
    text = header.read_text()
    assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
    header.write_text(text.replace(old, new))
    return build(Sources(protocol, tmp_path / "runtime", GENERATED / protocol), tmp_path / "build")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name, tmp_path):
    """From one right frame of each version, so that it is the search that finds it."""
    protocol, *change, words = FAULTS[name]
    target = faulty(tmp_path, protocol, *change)
    codec = importlib.import_module(f"generated.{protocol}.{protocol}_codec")
    starts = [frames.Frame(codec.Message().encode(), codec.PORT, version=version).to_bytes() for version in (4, 6)]
    found = fuzz(target, starts, INPUTS_MAX, 1, tmp_path / "saved")
    assert found.fault and words in found.fault, found
    assert found.saved.parent == tmp_path / "saved"
    said = replay(target, [found.saved])
    assert said and words in fault_in(said)
    assert replay(build(sources(protocol), folder(protocol)), [found.saved]) is None, (
        "the frame is clean without the fault"
    )


def test_a_tail_that_is_summed_beyond_its_end_is_found(tmp_path):
    change = ("kv", "stepwise_tail.h", "beyond = at + 8 > size ? at + 8 - size : 0;", "beyond = 0;")
    found = fuzz(faulty(tmp_path, *change), seeds("kv"), INPUTS_MAX, 1, tmp_path / "saved")
    assert found.fault and "agree on whose packet it is" in found.fault, found


OPERATION_FAULTS = {
    "more operations than a message may have": ("*count > gathering->count_max ||", ""),
    "operations that are not summed": ("stepwise_sum_at(payload_size, all->sum)", "0"),
    "an operation with a value outside its type": ("all && all->wrong", "all && !all"),
    "a message that is longer than its operations": (
        "fixed_size + beyond, &network",
        "bpf_ntohs(udp->len), &network",
    ),
}


@pytest.mark.parametrize("name", OPERATION_FAULTS)
def test_a_fault_in_messages_with_operations_is_found(name, tmp_path):
    target = faulty(tmp_path, "lock", "stepwise_gathered.h", *OPERATION_FAULTS[name])
    found = fuzz(target, seeds("lock"), INPUTS_MAX, 1, tmp_path / "saved")
    assert found.fault and "agree on whose packet it is" in found.fault, found


# --- Runs -------------------------------------------------------------------------------------------------------


def corpus_of(target: Path) -> set[str]:
    """Its names are digests of what they hold."""
    return {path.name for path in (target.parent / "corpus").iterdir()}


def test_a_seed_makes_the_same_run(tmp_path):
    target = build(sources(PROTOCOL), tmp_path)
    runs = []
    for seed in (5, 5, 6):
        found = fuzz(target, seeds(PROTOCOL), 10_000, seed, tmp_path / "saved")
        assert found.fault is None and found.inputs == 10_000 and found.edges > 20
        runs.append((found.edges, corpus_of(target)))
    assert runs[0] == runs[1] != runs[2]
    assert not (tmp_path / "saved").exists()


def test_the_command(capsys):
    assert cli.main([PROTOCOL, "--inputs", "3_000", "--seed", "9"]) == 0
    said = capsys.readouterr().out
    assert f"{PROTOCOL}: 3,000 inputs from" in said and "seed 9" in said
    assert said.endswith(f"{PROTOCOL}: clean\n")


def test_the_command_replays(capsys, tmp_path):
    frame = tmp_path / "one.frame"
    frame.write_bytes(seeds(PROTOCOL)[0])
    assert cli.main([PROTOCOL, "--replay", str(frame)]) == 0
    assert capsys.readouterr().out == f"{PROTOCOL}: 1 frame, clean\n"


def test_a_fault_ends_the_command_and_says_how_to_replay_it(capsys, monkeypatch, tmp_path):
    target = faulty(tmp_path, *FAULTS["fragments are ours"][:-1])
    monkeypatch.setattr(cli, "build", lambda *_: target)
    monkeypatch.setattr(cli, "KEPT", tmp_path)
    monkeypatch.setattr(cli, "REPOSITORY", tmp_path)
    assert cli.main([PROTOCOL, "--inputs", "1000", "--seed", "1"]) == 1
    said = capsys.readouterr().out
    assert "FAILED limiter, seed 1: parsers: this does not hold: the program and the plain reader" in said
    again = said.splitlines()[-1]
    assert again.startswith(f"to replay it: python -m harness.fuzz parsers limiter --replay {PROTOCOL}/crash-")
    assert (tmp_path / again.split()[-1]).is_file()
    assert cli.main([PROTOCOL, "--replay", str(tmp_path / again.split()[-1])]) == 1
    assert "agree on whose packet it is" in capsys.readouterr().out.splitlines()[-1]


# --- Mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nothing"], "there is no protocol 'nothing'"),
        (["limiter", "--inputs", "0"], "'0' is not a number of inputs"),
        (["limiter", "--inputs", "many"], "'many' is not a number of inputs"),
        (["limiter", "--seed", "0"], "'0' is not a seed: give a number from 1"),
        (["limiter", "--seed", "4294967296"], "'4294967296' is not a seed"),
        (["--replay", "a.frame"], "name the one protocol"),
        (["limiter", "--replay", "nowhere.frame"], "replaying nowhere.frame: there is no such file"),
    ],
)
def test_mistakes_get_a_sentence(arguments, words, capsys):
    try:
        code = cli.main(arguments)
    except SystemExit as refused:
        code = refused.code
    assert code == 2
    assert words in capsys.readouterr().err


def test_the_fuzzers_know_the_command():
    command = [sys.executable, "-m", "harness.fuzz", "parsers", "nothing"]
    done = subprocess.run(command, check=False, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no protocol 'nothing'" in done.stderr and "Traceback" not in done.stderr


def test_a_program_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(ParsersError, match="there is no .*limiter.bpf.c; run `just generate limiter`"):
        build(Sources(PROTOCOL, REPOSITORY / "runtime", tmp_path), tmp_path / "build")


def test_a_program_that_does_not_compile_is_a_sentence(tmp_path):
    with pytest.raises(ParsersError, match="compiling the parsers of limiter:\n(?s:.*): error"):
        faulty(tmp_path, PROTOCOL, "stepwise_frame.h", "enum stepwise_arrival {", "enum stepwise_arrival;")


def test_a_target_that_is_missing_is_a_sentence(tmp_path):
    with pytest.raises(ParsersError, match="running .*nothing: No such file"):
        fuzz(tmp_path / "nothing", [], 1, 1, tmp_path)
