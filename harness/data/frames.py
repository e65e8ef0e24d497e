"""Builds the frames that go into a program, and says what must come out.

Checksums are computed from scratch here, so the program's incremental updates are checked against an independent sum.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

ETHERNET_IPV4, ETHERNET_IPV6 = 0x0800, 0x86DD
PROTOCOL_UDP = 17
ETHERNET_SIZE, UDP_SIZE = 14, 8

CLIENT_MAC, SERVER_MAC = bytes.fromhex("02c011e27001"), bytes.fromhex("025e4be40002")
CLIENT_IPV4, SERVER_IPV4 = ipaddress.IPv4Address("192.0.2.77"), ipaddress.IPv4Address("198.51.100.9")
CLIENT_IPV6, SERVER_IPV6 = ipaddress.IPv6Address("2001:db8:1::c1e7"), ipaddress.IPv6Address("2001:db8:2:3::5e")
CLIENT_PORT = 40_961


def ones_complement_sum(data: bytes) -> int:
    """The Internet checksum's sum of 16-bit words, folded until nothing carries."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data: bytes) -> int:
    """The Internet checksum of data whose checksum field is zero."""
    return ones_complement_sum(data) ^ 0xFFFF


@dataclass(frozen=True)
class Frame:
    """A UDP datagram in IPv4 or IPv6 in Ethernet. Fields that are None get the right value."""

    payload: bytes
    destination_port: int
    source_port: int = CLIENT_PORT
    version: int = 4
    source_mac: bytes = CLIENT_MAC
    destination_mac: bytes = SERVER_MAC
    source: ipaddress.IPv4Address | ipaddress.IPv6Address | None = None
    destination: ipaddress.IPv4Address | ipaddress.IPv6Address | None = None
    ethertype: int | None = None
    protocol: int = PROTOCOL_UDP
    options: bytes = b""  # IPv4 options, or IPv6 extension headers
    fragment: int = 0x4000  # IPv4 flags and fragment offset
    ip_length: int | None = None
    udp_length: int | None = None
    udp_checksum: int | None = None
    header_checksum: int | None = None
    trailer: bytes = b""  # after the datagram: Ethernet padding

    def turned(self, payload: bytes) -> Frame:
        """The answer to this frame: addresses and ports exchanged, and another payload of the same size."""
        source, destination = self.addresses()
        return replace(
            self,
            payload=payload,
            source_mac=self.destination_mac,
            destination_mac=self.source_mac,
            source=destination,
            destination=source,
            source_port=self.destination_port,
            destination_port=self.source_port,
            udp_checksum=0 if self.udp_checksum == 0 else None,
        )

    def addresses(self) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, ...]:
        """Source and destination."""
        if self.version == 4:
            return self.source or CLIENT_IPV4, self.destination or SERVER_IPV4
        return self.source or CLIENT_IPV6, self.destination or SERVER_IPV6

    def to_bytes(self) -> bytes:
        """The frame on the wire."""
        datagram = self._udp()
        network = (self._ipv4 if self.version == 4 else self._ipv6)(len(datagram))
        ethertype = self.ethertype
        if ethertype is None:
            ethertype = ETHERNET_IPV4 if self.version == 4 else ETHERNET_IPV6
        ethernet = self.destination_mac + self.source_mac + struct.pack(">H", ethertype)
        return ethernet + network + datagram + self.trailer

    def udp_offset(self) -> int:
        """Where the UDP header starts."""
        return ETHERNET_SIZE + (20 if self.version == 4 else 40) + len(self.options)

    def payload_offset(self) -> int:
        """Where the UDP payload starts."""
        return self.udp_offset() + UDP_SIZE

    def _udp(self) -> bytes:
        length = UDP_SIZE + len(self.payload)
        claimed = length if self.udp_length is None else self.udp_length
        header = struct.pack(">HHHH", self.source_port, self.destination_port, claimed, 0)
        total = self.udp_checksum
        if total is None:
            source, destination = (address.packed for address in self.addresses())
            pseudo = source + destination + struct.pack(">II", claimed, PROTOCOL_UDP)
            total = checksum(pseudo + header + self.payload) or 0xFFFF
        return header[:6] + struct.pack(">H", total) + self.payload

    def _ipv4(self, datagram_size: int) -> bytes:
        source, destination = self.addresses()
        words = 5 + len(self.options) // 4
        length = words * 4 + datagram_size if self.ip_length is None else self.ip_length
        start = struct.pack(">BBHHHBB", 0x40 | words, 0, length, 0x1D0F, self.fragment, 57, self.protocol)
        rest = source.packed + destination.packed + self.options
        total = checksum(start + b"\0\0" + rest) if self.header_checksum is None else self.header_checksum
        return start + struct.pack(">H", total) + rest

    def _ipv6(self, datagram_size: int) -> bytes:
        source, destination = self.addresses()
        length = len(self.options) + datagram_size if self.ip_length is None else self.ip_length
        start = struct.pack(">IHBB", 0x6 << 28 | 0x2B << 20 | 0x51CE5, length, self.protocol, 57)
        return start + source.packed + destination.packed + self.options


def differences(expected: bytes, found: bytes, version: int) -> list[str]:
    """Describes how two frames differ, header by header."""
    regions = [("Ethernet destination", 0, 6), ("Ethernet source", 6, 12), ("ethertype", 12, 14)]
    at = 14
    if version == 4:
        regions += [
            ("IPv4 fields", at, at + 10),
            ("IPv4 header checksum", at + 10, at + 12),
            ("IP source", at + 12, at + 16),
            ("IP destination", at + 16, at + 20),
        ]
        at += 20
    else:
        regions += [("IPv6 fields", at, at + 8), ("IP source", at + 8, at + 24), ("IP destination", at + 24, at + 40)]
        at += 40
    regions += [
        ("UDP source port", at, at + 2),
        ("UDP destination port", at + 2, at + 4),
        ("UDP length", at + 4, at + 6),
        ("UDP checksum", at + 6, at + 8),
        ("payload", at + 8, max(len(expected), len(found))),
    ]
    return [
        f"{name}: expected {expected[low:high].hex()}, found {found[low:high].hex()}"
        for name, low, high in regions
        if expected[low:high] != found[low:high]
    ]


def classify(packet: bytes, port: int, payload_size: int, tail_size: Callable[[bytes], int] = lambda payload: 0) -> str:
    """Classifies a packet that came by lo, as in test runs: `foreign`, `malformed`, `malformed.checksum` or `ours`.

    Only the frame is checked, not the message's fields. tail_size: bytes that must follow a payload of payload_size.
    This is docs/reference/wire.md in Python, independent of runtime/bpf/stepwise_frame.h.
    """
    if len(packet) < ETHERNET_SIZE or packet[0] & 1:
        return "foreign"
    ethertype = int.from_bytes(packet[12:14], "big")
    if ethertype == ETHERNET_IPV4:
        header = 20
        ours = packet[14:15] == b"\x45" and len(packet) >= 34 and packet[23] == PROTOCOL_UDP
        ours = (
            ours and not int.from_bytes(packet[20:22], "big") & 0x3FFF and ones_complement_sum(packet[14:34]) == 0xFFFF
        )
        ours = ours and 0 < packet[26] < 224
    elif ethertype == ETHERNET_IPV6:
        header = 40
        ours = len(packet) >= 54 and packet[14] >> 4 == 6 and packet[20] == PROTOCOL_UDP and packet[22] != 0xFF
    else:
        return "foreign"
    datagram = packet[ETHERNET_SIZE + header :]
    if not ours or len(datagram) < UDP_SIZE or int.from_bytes(datagram[2:4], "big") != port:
        return "foreign"
    size = UDP_SIZE + payload_size
    if len(datagram) >= size:
        size += tail_size(datagram[UDP_SIZE:size])
    length_at, addresses_at, addresses_size = (16, 26, 8) if header == 20 else (18, 22, 32)
    length = int.from_bytes(packet[length_at : length_at + 2], "big")
    if (
        len(datagram) < size
        or int.from_bytes(datagram[4:6], "big") != size
        or length != size + (20 if header == 20 else 0)
    ):
        return "malformed"
    if datagram[6:8] == b"\0\0":
        return "ours" if header == 20 else "malformed.checksum"
    pseudo = packet[addresses_at : addresses_at + addresses_size] + struct.pack(">II", size, PROTOCOL_UDP)
    return "ours" if ones_complement_sum(pseudo + datagram[:size]) == 0xFFFF else "malformed.checksum"
