"""Compiles steps that a test writes, over one table with a field of every type."""

from __future__ import annotations

import copy
from pathlib import Path

import yaml

from codegen import ir
from codegen.front import load

LAYOUT = {
    "protocol": "sample",
    "module": "SampleSteps",
    "types": {"client": "u14", "slot": {"record": {"used": "bool", "owner": "client"}}},
    "env": {"now": {"type": "u25", "tick_ns": 1024}},
    "message": {
        "client": "client", "state": "cell.state", "delta": "u8", "number": "u64", "where": "u10", "key": {"bytes": 8},
    },
    "local": {"seen": {"set": "client", "max": 4}, "chosen": "u4"},
    "tables": {
        "cell": {
            "cell": {
                "count": "u8", "total": "u16", "open": "bool", "state": {"enum": ["Idle", "Busy", "Gone"]},
                "members": {"set": "client", "max": 4}, "marks": {"bits": 16}, "slots": {"array": "slot", "size": 4},
                "spare": "slot", "queue": {"sequence": "client", "max": 4}, "key": {"bytes": 8},
            },
            "capacity": 1000, "index": "msg.where", "atomic": "spin_lock",
        },
        "entry": {
            "cell": {"used": "bool", "owner": "client"}, "capacity": 64, "index": "msg.chosen", "atomic": "word",
        },
    },
    "hooks": {"xdp": []},
    "wire": {"transport": "udp", "port": 4242, "order": ["client", "state", "delta", "number", "where", "key"]},
    "budget": {"xdp": {"insns": 1000, "states": 100, "stack": 256}},
}  # fmt: skip


def write(folder: Path, steps: str, names: list[str], constants: dict | None = None, user: str | None = None) -> Path:
    """A protocol folder whose xdp hook has the named steps, all on the table `cell`."""
    layout = copy.deepcopy(LAYOUT)
    layout["constants"] = constants or {}
    layout["hooks"]["xdp"] = [{"cell": name, "contended": "skip"} for name in names]
    if user is not None:
        layout["hooks"]["user"] = {"entry": user}
    declared = f"CONSTANTS {', '.join(constants)}\n" if constants else ""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    (folder / "SampleSteps.tla").write_text(
        f"---- MODULE SampleSteps ----\nEXTENDS Offload\n{declared}{steps}\n====\n"
    )
    return folder


def compile_steps(
    folder: Path, steps: str, names: list[str], constants: dict | None = None, user: str | None = None
) -> dict[str, ir.Step]:
    """The named steps, compiled."""
    protocol = load(write(folder, steps, names, constants, user))
    found = {section.step.name: section.step for section in protocol.xdp}
    if protocol.user is not None:
        found[protocol.user.step.name] = protocol.user.step
    return found


def leaves(body: ir.Body) -> list[ir.Leaf]:
    """The leaves of a step, in order."""
    match body:
        case ir.Leaf():
            return [body]
        case ir.Bind():
            return leaves(body.body)
    return leaves(body.then) + leaves(body.otherwise)
