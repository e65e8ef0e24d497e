"""Makes frames that XDP passes up the network stack, and small builds of the protocols to send them to."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from harness.data.frames import CLIENT_PORT, PROTOCOL_UDP, Frame
from harness.live.server import Server
from harness.rig.netns import Endpoint, Rig

SESSIONS = 16
SESSION_CONSTANTS = {"Sessions": SESSIONS, "SessionsOfPeer": SESSIONS, "Lease": 1_000_000}
# One bucket of four ways, so that keys are spilled to its page.
BUCKET = {
    "types": {"client": "u4"},
    "constants": {"Ways": 4, "PageSize": 16, **SESSION_CONSTANTS},
    "tables": {name: {"capacity": 1} for name in ("bucket", "page", "row", "shelf", "tail")},
}
STORE = {
    **BUCKET,
    "types": {**BUCKET["types"], "note": "u8"},
    "constants": {**BUCKET["constants"], "Notes": 16 * SESSIONS},
}
TRANSACTIONS = {
    **BUCKET,
    "constants": {**BUCKET["constants"], "AllIntents": 4 * SESSIONS},
    "local": {"intent": "u6"},
}
LOCKS = {
    "types": {"client": "u4"},
    "constants": {"OverflowCapacity": 16, **SESSION_CONSTANTS},
    "message": {"entry": "u4", "own": "u4"},
    "tables": {"lock": {"capacity": 4}},
}
LOG = {
    "types": {"client": "u4"},
    "constants": {"Logs": 1, "Slots": 64, "Records": 128, **SESSION_CONSTANTS},
    "message": {"log": "u1"},
    "local": {"slot": "u7"},
    "tables": {
        **{name: {"capacity": 2} for name in ("head", "drained", "synced")},
        "answer": {"cell": {"log": "u1"}},
    },
}
OVERRIDES = {"kv": STORE, "occ": TRANSACTIONS, "lock": LOCKS, "log": LOG}

NO_OPERATIONS = bytes([1, 1, 1, 1])  # IPv4 options
PADDING = bytes([1, 4, 0, 0, 0, 0])  # PadN, which fills an IPv6 extension header of eight bytes
HOP_BY_HOP, DESTINATION_OPTIONS = 0, 60
MORE_FRAGMENTS = 0x2000
TPID_VLAN = 0x8100
VLAN = 77


def frame(rig: Rig, payload: bytes, port: int, version: int = 4, source_port: int = CLIENT_PORT) -> Frame:
    """From the rig's client to its server."""
    here, there = rig.client, rig.server
    source, destination = (ip_address(each.ipv4 if version == 4 else each.ipv6) for each in (here, there))
    macs = {
        "source_mac": bytes.fromhex(here.mac.replace(":", "")),
        "destination_mac": bytes.fromhex(there.mac.replace(":", "")),
    }
    return Frame(
        payload, port, source_port=source_port, version=version, source=source, destination=destination, **macs
    )


def with_options(made: Frame) -> list[bytes]:
    return [replace(made, options=NO_OPERATIONS).to_bytes()]


def with_header(made: Frame, header: int) -> list[bytes]:
    return [replace(made, protocol=header, options=bytes([PROTOCOL_UDP, 0]) + PADDING).to_bytes()]


def in_fragments(made: Frame) -> list[bytes]:
    """IPv4: the UDP header and eight bytes more, and the rest."""
    whole = replace(made, fragment=0).to_bytes()
    at = made.udp_offset() + 16
    first = replace(made, payload=b"", fragment=MORE_FRAGMENTS, ip_length=20 + 16).to_bytes()[: made.udp_offset()]
    second = replace(made, payload=b"", fragment=2, ip_length=20 + len(whole) - at).to_bytes()[: made.udp_offset()]
    return [first + whole[made.udp_offset() : at], second + whole[at:]]


def with_tag(made: Frame) -> list[bytes]:
    whole = made.to_bytes()
    return [whole[:12] + struct.pack(">HH", TPID_VLAN, VLAN) + whole[12:]]


WAYS = {
    "options": (4, with_options),
    "fragments": (4, in_fragments),
    "hop-by-hop": (6, lambda made: with_header(made, HOP_BY_HOP)),
    "destination options": (6, lambda made: with_header(made, DESTINATION_OPTIONS)),
    "a VLAN tag": (4, with_tag),
}
"""Ways past XDP: the version of IP, and the frames that a datagram becomes."""


def past_xdp(rig: Rig, payload: bytes, port: int, way: str) -> list[bytes]:
    version, made = WAYS[way]
    return made(frame(rig, payload, port, version))


@contextlib.contextmanager
def another_address(rig: Rig, address: str) -> Iterator[socket.socket]:
    """A socket that has another of the client's addresses, and an end to that of the server."""
    words = f"ip addr add {address}/24 dev {rig.client.iface}".split()
    rig.client.run(words, check=True)
    with rig.client.socket() as made:
        made.bind((address, 0))
        yield made
    rig.client.run([*words[:2], "del", *words[3:]], check=True)


@contextlib.contextmanager
def wire(endpoint: Endpoint) -> Iterator[socket.socket]:
    """Sends frames as they are."""
    with endpoint.socket(socket.AF_PACKET, socket.SOCK_RAW) as sending:
        sending.bind((endpoint.iface, 0))
        yield sending


def strangers(server: Server) -> int:
    return server.status()["daemon"]["strangers"]


def opened(server: Server, caller: Any, seed: int) -> Any:
    caller.open(random.Random(seed), server.build.capacities["session"])
    return caller


def spoiled_sum(made: Frame, choose: random.Random) -> bytes:
    """Any other checksum but zero, with which an IPv4 packet says that it has none, and is right."""
    whole = bytearray(made.to_bytes())
    at = made.udp_offset() + 6
    right = wrong = int.from_bytes(whole[at : at + 2], "big")
    while wrong == right:
        wrong = choose.randrange(1, 1 << 16)
    whole[at : at + 2] = wrong.to_bytes(2, "big")
    return bytes(whole)


def seen_by_xdp(server: Server, before: Counter[str]) -> dict[str, int]:
    """Returns what the first hook has counted since. (TC also sees the kernel's own ICMP errors.)"""
    return {
        name: count for name, count in (server.counters() - before).items() if not name.startswith(("tc.", "sweep."))
    }
