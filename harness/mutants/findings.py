"""Puts the verdicts of a hunt into the form that is kept for the report: harness/results."""

from __future__ import annotations

from harness.mutants.catalogue import Mutant
from harness.mutants.hunt import Verdict
from harness.results import models


def findings(mutants: list[Mutant], verdicts: list[Verdict], witness: str) -> models.Mutants:
    """The mutants and their verdicts, in the order of the catalogue.

    witness: the protocol with which the machinery's mutants were run.
    """
    by_name = {verdict.mutant.name: verdict for verdict in verdicts}
    return models.Mutants(
        witness=witness,
        mutants=[
            models.Mutant(
                name=mutant.name,
                protocol=mutant.protocol,
                place=mutant.place,
                named=str(mutant.caught_by),
                caught=by_name[mutant.name].caught,
                how=by_name[mutant.name].how,
                seconds=round(by_name[mutant.name].seconds, 1),
            )
            for mutant in mutants
        ],
    )
