"""Names the anomalies that a history of transactions must not have, and defines the report of one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Anomaly(StrEnum):
    """Adya's phenomena, and faults that no order of transactions can explain.

    docs/reference/transactions.md has examples.
    """

    VERSION_TWICE = "two writes with one version"
    THIN_AIR = "thin air"
    ABORTED_READ = "aborted read (G1a)"
    INTERMEDIATE_READ = "intermediate read (G1b)"
    WRITE_CYCLE = "write cycle (G0)"
    CIRCULAR_INFORMATION_FLOW = "circular information flow (G1c)"
    LOST_UPDATE = "lost update"
    READ_SKEW = "read skew (G-single)"
    WRITE_SKEW = "write skew (G2)"
    REAL_TIME = "real time"


@dataclass(frozen=True)
class Finding:
    """An anomaly that a history has, and the lines that show it."""

    anomaly: Anomaly
    lines: tuple[str, ...]
