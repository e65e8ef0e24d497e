"""Reads versions of kernels."""

from __future__ import annotations

import re


def version(text: str) -> tuple[int, ...]:
    """Returns the first two numbers, to compare by: (6, 12) for `6.12.117+deb12-cloud-amd64`."""
    return tuple(map(int, re.findall(r"\d+", text)[:2]))
