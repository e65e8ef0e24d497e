"""Compiles steps that a test writes, over one table with a field of every type."""

from __future__ import annotations

import copy
from pathlib import Path

import yaml

from codegen import ir
from codegen.compile import load

LAYOUT = {
    "protocol": "sample",
    "module": "SampleSteps",
    "types": {"client": "u14", "slot": {"record": {"used": "bool", "owner": "client"}}},
    "env": {"now": {"type": "u25", "tick_ns": 1024}},
    "message": {
        "client": "client",
        "state": "cell.state",
        "delta": "u8",
        "number": "u64",
        "where": "u10",
        "key": {"bytes": 8},
    },
    "local": {"seen": {"set": "client", "max": 4}, "chosen": "u4"},
    "tables": {
        "cell": {
            "cell": {
                "count": "u8",
                "total": "u16",
                "open": "bool",
                "state": {"enum": ["Idle", "Busy", "Gone"]},
                "members": {"set": "client", "max": 4},
                "marks": {"bits": 16},
                "slots": {"array": "slot", "size": 4},
                "spare": "slot",
                "queue": {"sequence": "client", "max": 4},
                "key": {"bytes": 8},
            },
            "capacity": 1000,
            "index": "msg.where",
            "atomic": "spin_lock",
        },
        "entry": {
            "cell": {"used": "bool", "owner": "client"},
            "capacity": 64,
            "index": "msg.chosen",
            "atomic": "word",
        },
    },
    "hooks": {"xdp": []},
    "wire": {"transport": "udp", "port": 4242, "order": ["client", "state", "delta", "number", "where", "key"]},
    "budget": {"xdp": {"insns": 1000, "states": 100, "stack": 256}},
}


SERVE = "ServeTheForwarded(entries, msg) == Drop(entries, msg)"
"""For steps that forward: a user step, which must be there then."""


def write(folder: Path, steps: str, names: list[str], constants: dict | None = None, user: str | None = None) -> Path:
    """A protocol folder whose xdp hook has the named steps, all on the table `cell`."""
    layout = copy.deepcopy(LAYOUT)
    layout["constants"] = constants or {}
    layout["hooks"]["xdp"] = [{"cell": name, "contended": "skip"} for name in names]
    layout["hooks"]["user"] = {"entry": user or "ServeTheForwarded"}
    declared = f"CONSTANTS {', '.join(constants)}\n" if constants else ""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    (folder / "SampleSteps.tla").write_text(
        f"---- MODULE SampleSteps ----\nEXTENDS Offload\n{declared}{steps}\n{SERVE}\n====\n"
    )
    return folder


def compile_steps(
    folder: Path, steps: str, names: list[str], constants: dict | None = None, user: str | None = None
) -> dict[str, ir.Step]:
    """The named steps, compiled."""
    protocol = load(write(folder, steps, names, constants, user))
    found = {section.step.name: section.step for section in protocol.xdp}
    if user is not None:
        found |= {section.step.name: section.step for section in protocol.user}
    return found


def path_text(path: ir.Path) -> str:
    return "".join(f".{place}" if isinstance(place, str) else f"[{text(place)}]" for place in path)


def text(node: ir.Expr) -> str:
    """An expression on one line, to compare with."""
    match node:
        case ir.Int(value) | ir.Literal(value):
            return str(value)
        case ir.Var(name):
            return name
        case ir.Field(base, name):
            return f"{text(base)}.{name}"
        case ir.Index(base, index):
            return f"{text(base)}[{text(index)}]"
        case ir.Arith(op, left, right) | ir.Compare(op, left, right) | ir.SetOp(op, left, right):
            return f"({text(left)} {op} {text(right)})"
        case ir.Not(operand):
            return f"not {text(operand)}"
        case ir.Logic(op, operands):
            return "(" + f" {op} ".join(text(operand) for operand in operands) + ")"
        case ir.If(condition, then, otherwise):
            return f"({text(condition)} ? {text(then)} : {text(otherwise)})"
        case ir.Let(name, value, body):
            return f"(let {name} = {text(value)} in {text(body)})"
        case ir.SetOf(elements):
            return "{" + ", ".join(text(element) for element in elements) + "}"
        case ir.SequenceOf(elements):
            return "<<" + ", ".join(text(element) for element in elements) + ">>"
        case ir.In(element, within):
            return f"({text(element)} in {text(within)})"
        case ir.Subset(left, right):
            return f"({text(left)} within {text(right)})"
        case ir.Cardinality(operand):
            return f"|{text(operand)}|"
        case ir.Range(low, high):
            return f"{text(low)}..{text(high)}"
        case ir.Quantifier(op, variable, domain, predicate):
            return f"({op} {variable} in {text(domain)}: {text(predicate)})"
        case ir.First(variable, domain, predicate, none):
            return f"(first {variable} in {text(domain)}: {text(predicate)}" + (f" or {text(none)})" if none else ")")
        case ir.Count(variable, domain, predicate) | ir.Filter(variable, domain, predicate):
            return f"({type(node).__name__.lower()} {variable} in {text(domain)}: {text(predicate)})"
        case ir.Image(variable, domain, value, predicate=predicate):
            where = f" where {text(predicate)}" if predicate else ""
            return f"(image {variable} in {text(domain)}{where}: {text(value)})"
        case ir.ArrayOf(variable, value):
            return f"(array {variable}: {text(value)})"
        case ir.RecordOf(fields):
            return "[" + ", ".join(f"{name} {text(value)}" for name, value in fields) + "]"
        case ir.Append(sequence, element):
            return f"append({text(sequence)}, {text(element)})"
        case ir.Tail(sequence):
            return f"tail({text(sequence)})"
        case ir.Update(base, updates):
            return f"{text(base)}" + "".join(f"{{{path_text(path)} = {text(value)}}}" for path, value in updates)
    raise AssertionError(f"no text for {node}")


def tree(body: ir.Body, depth: int = 0) -> list[str]:
    """A step's body, a line a node."""
    indent = "  " * depth
    match body:
        case ir.Leaf():
            sides = [f" cell{path_text(one.path)} = {text(one.value)};" for one in body.cell]
            sides += [f" msg{path_text(one.path)} = {text(one.value)};" for one in body.message]
            return [f"{indent}{body.verdict} {body.name}:" + "".join(sides)]
        case ir.Bind():
            return [f"{indent}{body.name} = {text(body.value)}", *tree(body.body, depth)]
    return [
        f"{indent}if {text(body.condition)}",
        *tree(body.then, depth + 1),
        f"{indent}else",
        *tree(body.otherwise, depth + 1),
    ]
