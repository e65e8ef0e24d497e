"""Tests packing of cells and messages, hashes and checksums: against values worked out by hand, and there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen import ir
from harness.data import frames
from harness.data.hash_seed import PLAIN
from harness.data.model_values import Patterns, hash_index, mix64, to_tla, zero
from harness.data.packing import Member, NotCanonical, Struct, StructCodec, WordCodec, word_bits

COLOUR = ir.Enum("colour", ("Red", "Green", "Blue"))
SMALL_SET = ir.Set(ir.UInt(6), 3)
CELL = ir.Record(
    "cell",
    (
        ("colour", COLOUR),
        ("members", SMALL_SET),
        ("count", ir.UInt(9)),
        ("full", ir.Bool()),
        ("flags", ir.Bits(4)),
        ("limits", ir.Array(ir.UInt(3), 2)),
    ),
)


class Identity(Patterns):
    """Numbers that stand for themselves."""

    def __init__(self) -> None:
        pass

    def real(self, kind, number):
        return number

    def model(self, kind, value):
        return value


CODEC = WordCodec(Identity())
CELLS = st.fixed_dictionaries(
    {
        "colour": st.sampled_from(COLOUR.members),
        "members": st.frozensets(st.integers(0, 63), max_size=3),
        "count": st.integers(0, 511),
        "full": st.booleans(),
        "flags": st.frozensets(st.integers(0, 3)),
        "limits": st.tuples(st.integers(0, 7), st.integers(0, 7)),
    }
)


def test_a_word_by_hand():
    cell = {
        "colour": "Blue",
        "members": frozenset({5, 33}),
        "count": 300,
        "full": True,
        "flags": frozenset({0, 3}),
        "limits": (1, 6),
    }
    fields = [(2, 2), (2, 2), (33, 6), (5, 6), (0, 6), (300, 9), (1, 1), (0b1001, 4), (1, 3), (6, 3)]
    word = shift = 0
    for value, width in fields:
        word |= value << shift
        shift += width
    assert word_bits(CELL) == shift == 42
    assert CODEC.pack(CELL, cell) == word
    assert CODEC.unpack(CELL, word) == cell


@given(CELLS, st.booleans())
def test_words_there_and_back(cell, flip):
    assert CODEC.unpack(CELL, CODEC.pack(CELL, cell, flip)) == cell


@pytest.mark.parametrize(
    "word, complaint",
    [
        (1 << 2 | 9 << 4 | 9 << 10, "unused items"),  # one member, and a second that is not counted
        (2 << 2 | 9 << 4 | 9 << 10, "the set has an item twice"),
        (3, "colour has no member 3"),
        (1 << 42, "the type has 42 bits"),
    ],
)
def test_words_that_no_cell_packs_to(word, complaint):
    with pytest.raises(NotCanonical, match=complaint):
        CODEC.unpack(CELL, word)


def member(offset: int, size: int) -> Member:
    return Member(offset, size)


VECTOR = Struct("vector", 8, {"count": member(0, 1), "items": member(4, 4)})
SPREAD = Struct("spread", 4, {"count": member(0, 1), "items": Member(1, 3, elements=(3, member(0, 1)))})
LIMITS = Struct("limits", 1, {"items": member(0, 1)})


@pytest.mark.parametrize("members", [VECTOR, SPREAD])
@given(CELLS, st.booleans())
def test_structs_there_and_back(members, cell, flip):
    shape = Struct(
        "cell",
        32,
        {
            "colour": member(0, 4),
            "members": Member(4, members.size, struct=members),
            "count": member(12, 2),
            "full": member(14, 1),
            "flags": member(15, 1),
            "limits": Member(16, 1, struct=LIMITS),
        },
    )
    memory = StructCodec(Identity()).pack(CELL, cell, shape, flip)
    assert len(memory) == 32
    assert StructCodec(Identity()).unpack(CELL, memory, shape) == cell


@pytest.mark.parametrize("members", [VECTOR, SPREAD])
def test_a_struct_with_something_left_in_it(members):
    kind = ir.Record("cell", (("members", SMALL_SET),))
    shape = Struct("cell", members.size, {"members": Member(0, members.size, struct=members)})
    memory = bytearray(StructCodec(Identity()).pack(kind, {"members": frozenset({1, 2})}, shape))
    memory[0] = 1
    with pytest.raises(NotCanonical, match="unused items"):
        StructCodec(Identity()).unpack(kind, bytes(memory), shape)


def test_zero_is_zero():
    assert CODEC.pack(CELL, zero(CELL)) == 0


def test_the_plain_hash_is_the_finalizer_of_murmurhash3():
    assert mix64(0) == 0
    mixed = mix64(1) * PLAIN.upper % 2**64
    assert mixed ^ mixed >> 33 == 0xB456BCFC34C2CB2C  # the reference implementation's fmix64(1)
    assert {hash_index(value, 5) for value in range(200)} == set(range(5))
    assert all(hash_index(value << 40, 3) < 3 for value in range(1000))


def test_patterns_are_one_to_one():
    wide, opaque = ir.UInt(64), ir.Bytes(8)
    message = ir.Record("message", (("key", wide), ("slot", ir.UInt(32))))
    protocol = ir.Protocol(
        name="p",
        module="PSteps",
        constants=(),
        declared=frozenset(),
        message=message,
        wire=("key",),
        handover=(),
        port=1,
        hashes=(ir.HashIndex("slot", "key", 4),),
        env=ir.Record("env", ()),
        tick_ns=None,
        tables=(),
        xdp=(),
        tc=(),
        user=(),
        sweep_period_ms=0,
        sweep=(),
        budgets=(),
        sources=(),
    )
    patterns = Patterns(protocol)
    for kind in (wide, opaque):
        real = [patterns.real(kind, number) for number in range(50)]
        assert len(set(real)) == 50 and real[0] == 0
        assert [patterns.model(kind, value) for value in real] == list(range(50))
        assert patterns.model(kind, 0x1234567890ABCDEF) == "0x1234567890abcdef"
    assert [hash_index(patterns.real(wide, number), 4) for number in range(9)] == [number % 4 for number in range(9)]
    assert patterns.real(ir.UInt(32), 77) == 77


def test_tla_text():
    value = {"a": frozenset({2, 1}), "b": (True, "Red"), "c": {"d": 0}, "e": frozenset()}
    assert to_tla(value) == '[a |-> {1, 2}, b |-> <<TRUE, "Red">>, c |-> [d |-> 0], e |-> {}]'


# --- Frames ------------------------------------------------------------------------------------


def test_a_checksum_by_hand():
    assert frames.checksum(bytes.fromhex("45000073000040004011 0000c0a80001c0a800c7")) == 0xB861  # a well-known header
    assert frames.ones_complement_sum(b"\xff\xff\xff\xff\x01") == 0x0100


@pytest.mark.parametrize("version", (4, 6))
def test_a_frame_is_what_it_should_be(version):
    frame = frames.Frame(b"payload!", 20230, version=version)
    packet = frame.to_bytes()
    assert frames.classify(packet, 20230, 8) == "ours"
    assert packet[frame.payload_offset() :] == b"payload!"
    turned = frame.turned(b"payload?")
    assert frames.classify(turned.to_bytes(), frame.source_port, 8) == "ours"
    assert turned.turned(b"payload!").to_bytes() == packet


@given(st.binary(min_size=14, max_size=120))
def test_bytes_are_hardly_ever_ours(noise):
    assert frames.classify(noise, 20230, 28) in ("foreign", "malformed", "malformed.checksum")


def test_differences_name_the_header():
    frame = frames.Frame(b"payload!", 20230)
    found = frames.differences(frame.to_bytes(), frame.turned(b"payload?").to_bytes(), 4)
    assert [text.split(":")[0] for text in found] == [
        "Ethernet destination",
        "Ethernet source",
        "IP source",
        "IP destination",
        "UDP source port",
        "UDP destination port",
        "UDP checksum",
        "payload",
    ]


def test_a_record_that_is_no_struct_in_c_is_refused():
    kind = ir.Record("outer", (("inner", ir.Record("inner", (("count", ir.UInt(8)),))),))
    shape = Struct("outer", 1, {"inner": Member(0, 1)})
    with pytest.raises(TypeError, match="expected Struct, found None"):
        StructCodec(Identity()).pack(kind, {"inner": {"count": 1}}, shape)
    with pytest.raises(TypeError, match="expected Struct, found None"):
        StructCodec(Identity()).unpack(kind, b"\1", shape)
