"""Tests what a user step learns of the tables' age, and how it uses the terms, on a golden protocol."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from codegen.c.names import Names
from codegen.compile import load
from codegen.emit import generate
from codegen.emit.branch_numbers import Leaves
from codegen.emit.identity import layout_id, terms
from tests.codegen.compiling import UNDEFINED, compile_shared, import_codec

SPEC = Path(__file__).resolve().parents[2] / "golden" / "cloakroom" / "spec"
TICK_NS = 1 << 30
HOURS = 6
REPLY = 1
PROGRAM = """
#include "cloakroom_user.c"

__u64 pegs[CLOAKROOM_CAPACITY_PEG], tickets[CLOAKROOM_CAPACITY_TICKET];

static void *const memory[] = { pegs, tickets };

static bool read_cell(const struct stepwise_tables *tables, unsigned int table, __u32 index, void *element)
{
	*(__u64 *)element = ((const __u64 *)tables->memory[table])[index];
	return true;
}

int run(int hook, __u64 age_ns, unsigned char *payload, size_t *size)
{
	const struct stepwise_environment environment = { .age_ns = age_ns, .random = 5 };
	const struct stepwise_tables tables = { memory, read_cell, NULL };

	return (hook ? stepwise_protocol.on_forwarded : stepwise_protocol.run_xdp)(&tables, &environment, payload, size);
}
"""
SKELETON = 'static const void *cloakroom_bpf__elf_bytes(size_t *size)\n{\n\t*size = 0;\n\treturn "";\n}\n'
XDP, USER = range(2)


@pytest.fixture(scope="module")
def cloakroom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ctypes.CDLL, ModuleType]]:
    folder = tmp_path_factory.mktemp("cloakroom")
    for name, text in generate(load(SPEC)).items():
        (folder / name).write_text(text)
    (folder / "run.c").write_text(PROGRAM)
    (folder / "cloakroom.skel.h").write_text(SKELETON)
    compile_shared(folder, *UNDEFINED)
    yield ctypes.CDLL(str(folder / "run.so")), import_codec(folder, "cloakroom")


def asked(cloakroom: tuple[ctypes.CDLL, ModuleType], hook: int, age_ns: int, **fields: object) -> tuple[int, object]:
    """Verdict and answer."""
    library, codec = cloakroom
    payload = (ctypes.c_ubyte * codec.WIRE_SIZE).from_buffer_copy(codec.Message(**fields).encode())
    size = ctypes.c_size_t(codec.WIRE_SIZE)
    verdict = library.run(hook, ctypes.c_uint64(age_ns), payload, ctypes.byref(size))
    return verdict, codec.Message.decode(bytes(payload))


@pytest.mark.parametrize(
    ("age_ns", "hours_left"),
    [(0, 6), (TICK_NS - 1, 6), (TICK_NS, 5), (6 * TICK_NS - 1, 1), (6 * TICK_NS, 0), (7 * TICK_NS - 1, 0)],
)
def test_young_tables_promise_nothing(cloakroom, age_ns, hours_left):
    verdict, answer = asked(cloakroom, USER, age_ns, coat=1)
    assert (verdict, answer.kind.name, answer.coat) == (REPLY, "OPENING", hours_left)


@pytest.mark.parametrize("ticks", [7, 8, 2**8, 2**32 + 1, 2**64 // TICK_NS - 1])
def test_old_ones_stay_old(cloakroom, ticks):
    """An age that did not stay at its greatest value would come round: 8 ticks would be none."""
    verdict, answer = asked(cloakroom, USER, ticks * TICK_NS, coat=1)
    assert (verdict, answer.kind.name, answer.ticket) == (REPLY, "HUNG", (5).to_bytes(8, "little"))


def test_only_who_has_the_terms_is_heard(cloakroom):
    codec = cloakroom[1]
    assert asked(cloakroom, XDP, 0, ticket=codec.TERMS)[1].kind.name == "HANG"  # and goes to the daemon
    for other in (bytes(8), codec.TERMS[::-1], bytes([codec.TERMS[0] ^ 1]) + codec.TERMS[1:]):
        verdict, answer = asked(cloakroom, XDP, 0, ticket=other)
        assert (verdict, answer.kind.name) == (REPLY, "MISREAD")


def identities(**override: object) -> tuple[bytes, int]:
    protocol = load(SPEC, override)
    return terms(protocol), layout_id(protocol, Leaves(protocol, Names(protocol.name)))


@pytest.mark.parametrize(
    ("override", "other_terms", "other_tables"),
    [
        ({}, False, False),
        ({"constants": {"Hours": 7}}, True, True),
        ({"env": {"now": {"tick_ns": 1 << 29}}}, True, True),
        ({"env": {"now": {"type": "u15"}}}, True, True),
        ({"message": {"row": "u8"}, "wire": {"order": ["kind", "peg", "coat", "ticket", "row"]}}, True, False),
        ({"wire": {"order": ["kind", "coat", "peg", "ticket"]}}, True, False),
        (
            {"message": {"kind": {"enum": ["Hang", "Fetch", "Fetched", "Hung", "Refused", "Misread", "Opening"]}}},
            True,
            False,
        ),
        ({"tables": {"ticket": {"capacity": 64}}}, False, True),
        ({"env": {"peer": {"type": "u8"}}}, False, True),
        ({"env": {"token": {"field": "msg.ticket"}}}, False, True),
        ({"wire": {"port": 20298}}, False, False),
        ({"budget": {"xdp": {"insns": 2001}}}, False, False),
    ],
)
def test_what_clients_and_tables_rely_on(override, other_terms, other_tables):
    before, after = identities(), identities(**override)
    assert (before[0] != after[0], before[1] != after[1]) == (other_terms, other_tables)
