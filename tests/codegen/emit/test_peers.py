"""Tests the golden protocol `gate`, which gives tokens and takes them.

Its user step runs with what the daemon computes from the sender's address.
"""

from __future__ import annotations

import ctypes
import importlib.util
import random
import sys
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from codegen.compile import load
from codegen.emit import generate
from tests.codegen.compiling import INCLUDE, UNDEFINED, compile_shared, import_codec

SPEC = Path(__file__).resolve().parents[2] / "golden" / "gate" / "spec"
REPLY = 1
PROGRAM = """
#include "base/peers.h"
#include "gate_user.c"
#include "base/peers.c"

static __u64 rows[GATE_CAPACITY_ROW];
static void *const memory[] = { rows };

static bool read_cell(const struct stepwise_tables *tables, unsigned int table, __u32 index, void *element)
{
	*(__u64 *)element = ((const __u64 *)tables->memory[table])[index];
	return true;
}

int run(const void *key, const void *source, __u32 nonce, unsigned char *payload, size_t *size)
{
	const struct stepwise_tables tables = { memory, read_cell, NULL };
	struct stepwise_environment environment = {};

	peers_tell(&stepwise_protocol, key, source, nonce, payload, &environment);
	return stepwise_protocol.on_forwarded(&tables, &environment, payload, size);
}
"""
SKELETON = 'static const void *gate_bpf__elf_bytes(size_t *size)\n{\n\t*size = 0;\n\treturn "";\n}\n'
KEY = bytes(range(16))


class Gate:
    """The daemon's part of the gate, with one key."""

    def __init__(self, library: ctypes.CDLL, codec: Any, key: bytes = KEY) -> None:
        self.codec, self._library, self._key = codec, library, key

    def asked(self, source: str, nonce: int = 0, **fields: object) -> Any:
        address = ip_address(source)
        packed = address.packed if address.version == 6 else IPv6Address(f"::ffff:{source}").packed
        payload = (ctypes.c_ubyte * self.codec.WIRE_SIZE).from_buffer_copy(self.codec.Message(**fields).encode())
        size = ctypes.c_size_t(self.codec.WIRE_SIZE)
        assert self._library.run(self._key, packed, ctypes.c_uint32(nonce), payload, ctypes.byref(size)) == REPLY
        return self.codec.Message.decode(bytes(payload))

    def told(self, source: str, nonce: int = 1) -> Any:
        return self.asked(source, nonce, kind=self.codec.Kind.ASK)

    def enters(self, source: str, row: int, ticket: bytes) -> bool:
        return self.entered(source, row, ticket).kind.name == "ENTERED"

    def entered(self, source: str, row: int, ticket: bytes, nonce: int = 0) -> Any:
        return self.asked(source, nonce, kind=self.codec.Kind.ENTER, row=row, ticket=ticket)


def compile_gate(folder: Path, override: dict[str, Any]) -> ctypes.CDLL:
    for name, text in generate(load(SPEC, override)).items():
        (folder / name).write_text(text)
    (folder / "run.c").write_text(PROGRAM)
    (folder / "gate.skel.h").write_text(SKELETON)
    compile_shared(folder, *UNDEFINED, "-D_GNU_SOURCE", *INCLUDE, "-lsodium")
    return ctypes.CDLL(str(folder / "run.so"))


def compiled_gate(folder: Path, override: dict[str, Any]) -> Gate:
    """Of another layout."""
    library = compile_gate(folder, override)
    spec = importlib.util.spec_from_file_location("another_gate_codec", folder / "gate_codec.py")
    codec = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = codec
    spec.loader.exec_module(codec)
    return Gate(library, codec)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[ctypes.CDLL, ModuleType]:
    folder = tmp_path_factory.mktemp("gate")
    return compile_gate(folder, {}), import_codec(folder, "gate")


@pytest.fixture
def gate(compiled: tuple[ctypes.CDLL, ModuleType]) -> Gate:
    return Gate(*compiled)


ADDRESSES = [
    "10.0.0.1",
    "10.0.0.2",
    "0.0.0.0",
    "255.255.255.255",
    "fd00::1",
    "fd00::2",
    "fd00:0:0:1::1",
    "::",
    "::a00:1",
]


@pytest.mark.parametrize("source", ADDRESSES)
def test_a_token_is_good_for_its_address_alone(gate, source):
    told = gate.told(source)
    assert gate.enters(source, told.row, told.ticket)
    for other in ADDRESSES:
        assert other == source or not any(gate.enters(other, row, told.ticket) for row in range(4))


def test_every_token_is_another_and_all_are_good(gate):
    tickets = {gate.told("10.0.0.1", nonce).ticket for nonce in range(1000)}
    row = gate.told("10.0.0.1").row
    assert len(tickets) == 1000 and all(gate.enters("10.0.0.1", row, ticket) for ticket in tickets)


def test_who_shows_a_first_token_gets_one_of_another_kind(gate):
    """It is good for the same address, and is not among those that are there for the asking; who shows it gets
    a first one again.
    """
    first = gate.told("10.0.0.1", 7)
    second = gate.entered("10.0.0.1", first.row, first.ticket, 7)
    assert second.ticket[:4] == first.ticket[:4] and second.ticket != first.ticket
    third = gate.entered("10.0.0.1", first.row, second.ticket, 7)
    assert third.kind.name == "ENTERED" and third.ticket == first.ticket
    assert not gate.enters("10.0.0.2", gate.told("10.0.0.2").row, second.ticket)


def test_a_token_is_good_for_its_terms_alone(gate, tmp_path):
    other = compiled_gate(tmp_path, {"wire": {"order": ["ticket", "row", "kind"]}})
    told = gate.told("10.0.0.1")
    assert other.told("10.0.0.1").row == told.row and other.told("10.0.0.1").ticket != told.ticket
    assert not other.enters("10.0.0.1", told.row, told.ticket)


def test_no_bit_of_a_token_may_be_another(gate):
    told = gate.told("10.0.0.1", 12345)
    number = int.from_bytes(told.ticket, "little")
    assert not any(gate.enters("10.0.0.1", told.row, (number ^ 1 << bit).to_bytes(8, "little")) for bit in range(64))


def test_what_nobody_gave_is_no_token(gate):
    noise = random.Random(1)
    guesses = [bytes(8), b"\xff" * 8, *(noise.randbytes(8) for _ in range(10_000))]
    assert not any(gate.enters("10.0.0.1", row, guess) for guess in guesses for row in range(4))


def test_another_key_takes_no_token_of_this_one(gate, compiled):
    other = Gate(*compiled, key=bytes(16))
    told, row = gate.told("10.0.0.1"), other.told("10.0.0.1").row
    assert told.ticket != other.told("10.0.0.1").ticket and not other.enters("10.0.0.1", row, told.ticket)


def test_only_its_own_row(gate):
    told = gate.told("10.0.0.1")
    assert [row for row in range(4) if gate.enters("10.0.0.1", row, told.ticket)] == [told.row]


def test_rows_go_by_the_network(gate):
    """A holder of one IPv6 address of a network has all of them. In IPv4 each address counts alone. All rows are in
    use alike.
    """
    assert len({gate.told(f"fd00:0:0:7::{host:x}").row for host in range(1, 200)}) == 1
    for name in ("10.0.{}.{}", "fd00:{:x}:{:x}::1"):
        rows = [gate.told(name.format(number // 200, number % 200 + 1)).row for number in range(2000)]
        assert all(400 < rows.count(row) < 600 for row in range(4))
