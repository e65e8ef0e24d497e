"""Frames that fuzzing starts from.

They are right frames of every kind of message, and one for each way to be foreign or malformed.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from ipaddress import ip_address
from itertools import product
from types import ModuleType

from harness.data.frames import CLIENT_PORT, Frame

EXTENSION_HEADER = bytes([17, 0, 1, 4, 0, 0, 0, 0])  # UDP follows
TRAILER_SIZE = 18

WAYS: dict[str, Callable[[Frame], Frame]] = {
    "VLAN": lambda frame: replace(frame, ethertype=0x8100),
    "other version's ethertype": lambda frame: replace(frame, ethertype=0x86DD if frame.version == 4 else 0x0800),
    "TCP": lambda frame: replace(frame, protocol=6),
    "options": lambda frame: replace(
        frame, options=EXTENSION_HEADER, protocol=frame.protocol if frame.version == 4 else 0
    ),
    "fragment": lambda frame: replace(frame, fragment=0x2000, protocol=frame.protocol if frame.version == 4 else 44),
    "later fragment": lambda frame: replace(frame, fragment=0x0001),
    "other port": lambda frame: replace(frame, source_port=frame.destination_port, destination_port=frame.source_port),
    "multicast": lambda frame: replace(frame, destination_mac=bytes.fromhex("333300000001")),
    "multicast source": lambda frame: replace(
        frame, source=ip_address("224.0.0.1" if frame.version == 4 else "ff02::1")
    ),
    "loopback source": lambda frame: replace(frame, source=ip_address("127.0.0.1" if frame.version == 4 else "::1")),
    "link-local destination": lambda frame: replace(
        frame, destination=ip_address("169.254.0.1" if frame.version == 4 else "fe80::1")
    ),
    "padded": lambda frame: replace(frame, trailer=bytes(TRAILER_SIZE)),
    "no checksum": lambda frame: replace(frame, udp_checksum=0),
    "wrong checksum": lambda frame: replace(frame, udp_checksum=0x0101),
    "short payload": lambda frame: replace(frame, payload=frame.payload[:-1]),
    "long payload": lambda frame: replace(frame, payload=frame.payload + b"\0"),
    "UDP length of the header": lambda frame: replace(frame, udp_length=8),
    "IP length of 0": lambda frame: replace(frame, ip_length=0),
    "IP length that is long": lambda frame: replace(frame, ip_length=0xFFFF),
}


def seeds(protocol: str) -> list[bytes]:
    """Returns whole frames, always in the same order."""
    codec = importlib.import_module(f"generated.{protocol}.{protocol}_codec")
    return list(_frames(codec))


def _frames(codec: ModuleType) -> Iterator[bytes]:
    payloads = [codec.Message(kind=kind).encode() for kind in codec.Kind]
    if hasattr(codec, "tail_size"):
        payloads += [_tailed(codec, codec.TAIL_OVER + 1), _tailed(codec, codec.TAIL_MAX)]
    if hasattr(codec, "operation_count"):
        payloads += list(_gathered(codec))
    for version in (4, 6):
        for payload in payloads:
            request = Frame(payload, codec.PORT, version=version)
            yield request.to_bytes()
            yield replace(request, source_port=codec.PORT, destination_port=CLIENT_PORT).to_bytes()
        plain = Frame(payloads[0], codec.PORT, version=version)
        yield from (way(plain).to_bytes() for way in WAYS.values())
        whole = plain.to_bytes()
        yield from (whole[:size] for size in (0, 13, 14, plain.udp_offset(), plain.payload_offset(), len(whole) - 1))


def _gathered(codec: ModuleType) -> Iterator[bytes]:
    """Encodes messages with one operation, with the most that a message may have, and with one more.

    The codec does not say which field counts them, nor which kinds have any, so each is tried.
    """
    most = codec.OPERATIONS_MAX
    for kind, field, count in product(codec.Kind, fields(codec.Message), (1, most, most + 1)):
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            message = codec.Message(kind=kind, **{field.name: count}, operations=[codec.Operation()] * count)
            if codec.operation_count(message) == count:
                yield message.encode()


def _tailed(codec: ModuleType, size: int) -> bytes:
    """Encodes a message with a tail of that many bytes.

    The codec does not say which field has the tail's length, so each is tried; the codec accepts only the right one.
    """
    for field in fields(codec.Message):
        try:
            encoded: bytes = codec.Message(**{field.name: size, "tail": bytes(size)}).encode()
            return encoded
        except (ValueError, TypeError, AttributeError):
            continue
    raise ValueError(f"no field of {codec.__name__}.Message holds the length of a tail of {size} bytes")
