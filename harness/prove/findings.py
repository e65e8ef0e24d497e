"""The results of proofs, as harness/results keeps them for the report."""

from __future__ import annotations

from harness.prove.campaign import Judged
from harness.results import models


def findings(protocol: str, judged: list[Judged], problems: list[str]) -> models.Prove:
    """Lists the steps with their leaves. A leaf that is left has its reason from prove.yaml."""
    return models.Prove(protocol=protocol, problems=problems, steps=[_step(each) for each in judged])


def _step(judged: Judged) -> models.ProvedStep:
    result, told = judged.result, judged.told
    leaves = [
        models.ProvedLeaf(
            arms=leaf.arms,
            name=leaf.name,
            verdict=leaf.verdict,
            proved=leaf.proved,
            seconds=round(leaf.seconds, 1),
            jumps=leaf.jumps,
            why="" if leaf.proved else f"{leaf.reason}: {told.reason}" if told and told.has(leaf.arms) else leaf.reason,
        )
        for leaf in result.leaves
    ]
    return models.ProvedStep(step=result.step, seconds=round(result.seconds, 1), leaves=leaves, why=result.reason)
