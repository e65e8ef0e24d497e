"""Keeps the results of proofs in build/prove, under a hash of everything that they depend on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import z3

from codegen.c import names as c_names
from harness.base.protocols import BUILD
from harness.base.write_files import replace_whole
from harness.data import btf, packing
from harness.prove.programs import ABI, StepFunction
from harness.prove.proof import Counterexample, LeafResult, Setting, StepResult
from harness.prove.syntax import Module, Node

HERE = Path(__file__).parent
SOURCES = (*sorted(HERE.glob("*.py")), *(Path(str(each.__file__)) for each in (packing, btf, c_names)), ABI)
"""The prover, and what it reads types and verdicts with."""
PROVE = BUILD / "prove"


def key(setting: Setting, step: StepFunction, module: Module, options: object) -> str:
    """A hash of the bytecode, the types, the TLA+ that the step reaches, the prover's sources and Z3's version.

    options: whatever else the result depends on.
    """
    objects = setting.objects[step.daemon]
    tags = ("message", "env", step.struct_tag(setting.protocol.name))
    parts: list[object] = [
        objects.function(step.function, step.section).instructions,
        sorted(objects.data.items()),
        [setting.shape(tag, step.daemon) for tag in tags if tag],
        [setting.protocol.message, setting.protocol.env, step.cell, step.table.capacity, step.parameters],
        setting.protocol.constants,
        setting.terms_value,
        reached(module, step.name),
        [path.read_bytes() for path in SOURCES],
        z3.get_version_string(),
        options,
    ]
    return hashlib.sha256("\0".join(map(repr, parts)).encode()).hexdigest()


def reached(module: Module, step: str) -> str:
    """A text of the definitions that a step reaches. It does not depend on SANY's numbers."""
    numbers: dict[str, int] = {}
    texts = []
    waiting = [module.top[step].uid] if step in module.top else []
    seen = set(waiting)

    def name(uid: str) -> str:
        return f"{module.constants.get(uid, '')}#{numbers.setdefault(uid, len(numbers))}" if uid else ""

    def told(node: Node) -> str:
        for uid in (node.uid, *node.definitions):
            if uid in module.definitions and uid not in seen:
                seen.add(uid)
                waiting.append(uid)
        inner = [told(each) for each in node.arguments]
        bound = [(tuple(map(name, names)), told(domain)) for names, domain in node.bound]
        substituted = [(name(uid), told(each)) for uid, each in node.substitutions]
        words = (node.form, node.where, node.name, name(node.uid), node.value, tuple(map(name, node.definitions)))
        return repr((*words, inner, bound, substituted))

    while waiting:
        definition = module.definitions[waiting.pop()]
        parameters = tuple(map(name, definition.parameters))
        texts.append(repr((name(definition.uid), definition.name, parameters, told(definition.body))))
    return "\n".join(texts)


def path_of(protocol: str, step: str) -> Path:
    """The file of a step's result."""
    return PROVE / protocol / f"{step}.json"


def known(protocol: str, step: str, wanted: str) -> StepResult | None:
    """The result of a step, if it is kept and still true."""
    try:
        content = json.loads(path_of(protocol, step).read_text(encoding="utf-8"))
        return _result(content["result"]) if content["key"] == wanted else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(protocol: str, result: StepResult, under: str) -> None:
    """Keeps a step's result."""
    replace_whole(path_of(protocol, result.step), json.dumps({"key": under, "result": asdict(result)}, indent=1) + "\n")


def _result(content: dict[str, Any]) -> StepResult:
    leaves = []
    for each in content.pop("leaves"):
        found = each.pop("counterexample")
        path = tuple(each.pop("path"))
        example = Counterexample(tuple(found.pop("differs")), **found) if found else None
        leaves.append(LeafResult(**each, path=path, counterexample=example))
    return StepResult(**content, leaves=leaves)
