"""Reads a protocol's counters by verdict: most are named after a leaf, and each leaf has one."""

from __future__ import annotations

from collections import Counter

from codegen import ir
from codegen.c.names import Names
from codegen.emit.branch_numbers import Leaves
from codegen.ir.walk import leaves

FOREIGN, MALFORMED, CHECKSUM = "foreign", "malformed", "malformed.checksum"
TC_PREFIX = "tc."
SWEEP_PREFIX = "sweep."
BESIDE = ("skipped",)
"""Counters of sections rather than packets, so they must not be added to the number of packets."""


def counter_names(protocol: ir.Protocol) -> list[str]:
    """The names of a protocol's counters, in the order of the map."""
    return [counter.name for counter in Leaves(protocol, Names(protocol.name)).counters]


def verdicts(protocol: ir.Protocol) -> dict[str, str]:
    """The verdict on the packets that each counter counts: that of its leaf, or Drop if it has no leaf."""
    names = Names(protocol.name)
    found = {"malformed": "Drop", "contended": "Drop", "lost": "Drop"}
    found |= {TC_PREFIX + name: verdict for name, verdict in found.items()}
    found[CHECKSUM] = "Drop"
    for prefix, sections in (("", protocol.xdp), (TC_PREFIX, protocol.tc)):
        for section in sections:
            for leaf in leaves(section.step.body):
                verdict = "Drop" if leaf.verdict == "Continue" else leaf.verdict
                found[prefix + names.counter(section.step, leaf)] = verdict
    return found


def xdp_only(counters: Counter[str]) -> Counter[str]:
    """The counters that add up to the protocol's packets that XDP saw."""
    return Counter(
        {
            name: value
            for name, value in counters.items()
            if not name.startswith((TC_PREFIX, SWEEP_PREFIX)) and name not in (FOREIGN, *BESIDE)
        }
    )


def tc_only(counters: Counter[str]) -> Counter[str]:
    """The counters that add up to the daemon's replies that TC saw."""
    foreign_and_beside = tuple(TC_PREFIX + name for name in (FOREIGN, *BESIDE))
    return Counter(
        {
            name: value
            for name, value in counters.items()
            if name.startswith(TC_PREFIX) and name not in foreign_and_beside
        }
    )


class Counts:
    """The counters of one protocol; `names` is in the order of the map."""

    def __init__(self, protocol: ir.Protocol) -> None:
        self.names = counter_names(protocol)
        self._verdicts = verdicts(protocol)

    def ended(self, counters: Counter[str], verdict: str) -> int:
        """The number of packets in these counters that ended with this verdict."""
        return sum(value for name, value in counters.items() if self._verdicts.get(name) == verdict)

    def rare_share(self, counters: Counter[str]) -> float:
        """The share of the protocol's packets that went from XDP to the daemon."""
        seen = xdp_only(counters)
        return self.ended(seen, "Forward") / max(seen.total(), 1)

    def lost_share(self, counters: Counter[str]) -> float:
        """The share of the packets forwarded to the daemon that got no reply."""
        forwarded = self.ended(xdp_only(counters), "Forward")
        return 1 - min(tc_only(counters).total() / max(forwarded, 1), 1) if forwarded else 0.0
