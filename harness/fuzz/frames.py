"""Makes whole frames from the client's end, for packets that no socket would send."""

from __future__ import annotations

import ipaddress

from harness.data.frames import Frame
from harness.rig.netns import Rig

UDP_SIZE = 8
UDP_CHECKSUM = slice(6, 8)


def frame(rig: Rig, port: int, payload: bytes, version: int) -> Frame:
    """A datagram from the client's end of a rig to its server's."""
    source, destination = (rig.client.ipv4, rig.server.ipv4) if version == 4 else (rig.client.ipv6, rig.server.ipv6)
    return Frame(
        payload=payload,
        destination_port=port,
        version=version,
        source_mac=bytes.fromhex(rig.client.mac.replace(":", "")),
        destination_mac=bytes.fromhex(rig.server.mac.replace(":", "")),
        source=ipaddress.ip_address(source),
        destination=ipaddress.ip_address(destination),
    )


def garbled(rig: Rig, port: int, payload: bytes, place: int, flip: int) -> bytes:
    """A datagram with one byte changed on the way, after its checksum was computed."""
    whole = frame(rig, port, payload, 4 if place % 2 else 6)
    data = bytearray(whole.to_bytes())
    segment = whole.udp_offset()
    index = segment + place // 2 % (UDP_SIZE + len(payload))
    data[index] ^= flip
    checksum = data[segment + UDP_CHECKSUM.start : segment + UDP_CHECKSUM.stop]
    if bytes(checksum) == b"\0\0":  # zero means "no checksum", so the change would be valid
        data[index] = 1 if flip != 1 else 2
    return bytes(data)
