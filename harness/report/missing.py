"""Names the commands that would add the results that are missing, by the part of the report."""

from __future__ import annotations

from harness.base.protocols import BENCH, SPEC, protocols
from harness.data.cells import FORMS
from harness.kernels.kernel_list import listed
from harness.mutants.catalogue import GENERIC, CatalogueError, load
from harness.report.collect import Everything
from harness.tla import models
from harness.tla.tlc import TlcError


def check(found: Everything) -> list[str]:
    lacking = [name for name in models.protocols() if not _has_models(name, found)]
    return _commands("just check", lacking, bool(found.check))


def _has_models(protocol: str, found: Everything) -> bool:
    """Returns whether there is a result of every small model, which `just check` runs by default."""
    known = found.check.get(protocol)
    try:
        small = {model.name for model in models.models_of(protocol) if model.size == "small"}
    except TlcError:
        small = set()
    return known is not None and small <= known.models.keys()


def conform(found: Everything) -> list[str]:
    lacking = [
        name
        for name in _with("conform.yaml")
        if name not in found.conform or not set(FORMS) <= found.conform[name].builds.keys()
    ]
    return _commands("just conform", lacking, bool(found.conform))


def prove(found: Everything) -> list[str]:
    return _commands("just prove", [name for name in protocols() if name not in found.prove], bool(found.prove))


def veristat(found: Everything) -> list[str]:
    return _commands(
        "just veristat", [name for name in protocols() if name not in found.veristat], bool(found.veristat)
    )


def kernels(found: Everything) -> list[str]:
    lacking = [each.name for each in listed() if not _is_measured(each.name, found)]
    return _commands("just kernels --kernel", lacking, bool(found.kernels), every="just kernels")


def _is_measured(name: str, found: Everything) -> bool:
    """Returns whether a kernel has a result of every protocol, and of the conformance of all that it can load."""
    if name not in found.kernels:
        return False
    kernel, _ = found.kernels[name]
    declared = {each.protocol for each in kernel.programs if each.declared}
    compared = {each.protocol for each in kernel.conformance}
    return set(protocols()) <= {each.protocol for each in kernel.programs} and (
        declared & set(_with("conform.yaml")) <= compared
    )


def mutants(found: Everything) -> list[str]:
    names = {name for _, name in found.mutants}
    files = {"": GENERIC} | {name: SPEC / name / "mutants.yaml" for name in _with("mutants.yaml")}
    lacking = []
    for protocol, path in files.items():
        try:
            if not {mutant.name for mutant in load(path)} <= names:
                lacking.append(protocol)
        except CatalogueError:
            lacking.append(protocol)
    if "" in lacking:  # those of the machinery are in every run
        return ["just mutants"]
    return _commands("just mutants", lacking, bool(found.mutants))


def steps(found: Everything) -> list[str]:
    lacking = [name for name in models.protocols() if name not in found.steps]
    return _commands("just mutants --steps", lacking, bool(found.steps))


def bench(found: Everything) -> list[str]:
    lacking = [name for name in _with(f"{BENCH}/bench.py") if name not in found.bench]
    return _commands("just bench", lacking, bool(found.bench), every="just bench all")


def fuzz(found: Everything) -> list[str]:
    lacking = [
        name
        for name in protocols()
        if name not in found.fuzz or not all(stage.count for stage in found.fuzz[name][0].stages)
    ]
    return _commands("just fuzz", lacking, bool(found.fuzz), every="just fuzz all --minutes 20")


def fill(found: Everything) -> list[str]:
    return [f"just fill {name}" for name in _with(f"{BENCH}/fill.py") if name not in found.fill]


def containers(found: Everything) -> list[str]:
    return [] if any(not each.smoke for each, _ in found.containers.values()) else ["just docker all"]


def _commands(command: str, lacking: list[str], is_any_there: bool, every: str = "") -> list[str]:
    """Returns the command for each missing subject; a single one for all if nothing is there."""
    return [f"{command} {each}" for each in lacking] if is_any_there else [every or command]


def _with(file: str) -> list[str]:
    """Returns the protocols that have this file in their folder."""
    return [name for name in protocols() if (SPEC / name / file).exists()]
