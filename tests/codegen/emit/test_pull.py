"""A reply does not leave uncompleted when the kernel, short of memory, cannot make its head readable."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.data.frames import Frame
from harness.rig import bpf
from tests.codegen.compiling import compile_bpf

VOTES = Path(__file__).resolve().parents[2] / "golden" / "votes" / "expected"
PORT = 4711
REPLY = Frame(bytes.fromhex("00 0001 00000007 05"), destination_port=40000, source_port=PORT)
ETHERNET_AND_IP, HEADERS_IPV6 = 34, 62
PULL = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

volatile __u64 pull_fails __attribute__((section(".data"))) = 0;
static inline __attribute__((always_inline)) long pull(struct __sk_buff *skb, __u32 size)
{
	return pull_fails ? -12 : bpf_skb_pull_data(skb, size);
}
#define bpf_skb_pull_data pull
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bpf.Object]:
    """The program in the kernel. A test runs it on the part of a packet that is in the head."""
    folder = tmp_path_factory.mktemp("votes")
    shutil.copytree(VOTES, folder, dirs_exist_ok=True)
    (folder / "pull.h").write_text(PULL)
    with bpf.Object.open(compile_bpf(folder, "votes.bpf.c", "-include", "pull.h")) as loaded:
        yield loaded


def run(loaded: bpf.Object, packet: bytes, fails: bool) -> int:
    loaded.variable("pull_fails").write(int(fails).to_bytes(8, "little"))
    return loaded.program("votes_tc").test_run(packet).action


@pytest.mark.parametrize("size", [ETHERNET_AND_IP, ETHERNET_AND_IP + 7, HEADERS_IPV6 - 1])
def test_what_may_be_a_reply_is_dropped(loaded: bpf.Object, size: int) -> None:
    head = replace(REPLY, trailer=bytes(40)).to_bytes()[:size]
    assert run(loaded, head, fails=True) == bpf.TC_ACT_SHOT
    packet = replace(REPLY, source_port=PORT + 1).to_bytes()
    assert run(loaded, packet, fails=False) == bpf.TC_ACT_UNSPEC, "a short packet of somebody else is in its head"


def test_it_is_counted(loaded: bpf.Object) -> None:
    names = (VOTES / "votes.h").read_text().partition("VOTES_COUNTER_NAMES {")[2].split('"')[1::2]
    at = names.index("tc.malformed") * 8

    def count() -> int:
        per_processor = loaded.map("counters").lookup_on_each_cpu(0)
        return sum(int.from_bytes(one[at : at + 8], "little") for one in per_processor)

    before = count()
    run(loaded, REPLY.to_bytes()[:ETHERNET_AND_IP], fails=True)
    assert count() == before + 1


@pytest.mark.parametrize("spoiled", [{"protocol": 6}, {"source_port": PORT + 1}])
def test_what_is_seen_to_be_foreign_goes_on(loaded: bpf.Object, spoiled: dict[str, int]) -> None:
    head = replace(REPLY, trailer=bytes(40), **spoiled).to_bytes()[:HEADERS_IPV6]
    assert run(loaded, head, fails=True) == bpf.TC_ACT_UNSPEC


def test_a_reply_of_which_only_the_headers_are_there_is_dropped(loaded: bpf.Object) -> None:
    head = replace(REPLY, version=6).to_bytes()[:HEADERS_IPV6]
    assert run(loaded, head, fails=True) == bpf.TC_ACT_SHOT
    assert run(loaded, replace(REPLY, version=6).to_bytes(), fails=True) == bpf.TC_ACT_OK, (
        "all in its head: nothing to pull"
    )
