"""Provides the protocol of tests/golden/locker and changed copies of it: its daemon keeps what follows a message."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

SPEC = Path(__file__).resolve().parents[1] / "golden" / "locker" / "spec"
LAYOUT: dict[str, Any] = yaml.safe_load((SPEC / "layout.yaml").read_text())
STEPS = (SPEC / "LockerSteps.tla").read_text()
PORT = LAYOUT["wire"]["port"]


def write(folder: Path, over: dict[str, Any] | None = None, steps: str = STEPS) -> Path:
    """The folder of the protocol; over: laid over its layout, key by key, `None` removes one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "layout.yaml").write_text(yaml.safe_dump(laid_over(copy.deepcopy(LAYOUT), over or {}), sort_keys=False))
    (folder / "LockerSteps.tla").write_text(steps)
    return folder


def laid_over(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    for key, value in over.items():
        if value is None:
            base.pop(key)
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            laid_over(base[key], value)
        else:
            base[key] = value
    return base
