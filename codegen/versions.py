"""Versions of kernels."""

from __future__ import annotations

import re


def version(text: str) -> tuple[int, ...]:
    """What releases and versions are compared by, their first two numbers: (6, 12) of `6.12.117+deb12-cloud-amd64`."""
    return tuple(map(int, re.findall(r"\d+", text)[:2]))
