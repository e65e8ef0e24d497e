"""Runs one model and prints its verdict and what it violates: `python -m harness.mutants.model PROTOCOL MODEL`."""

from __future__ import annotations

import sys

from harness import tlc
from harness.check.models import models_of
from harness.check.run import violated_by


def main(protocol: str, name: str) -> int:
    """Whatever models.json expects of the model, what it comes to now is printed."""
    model = next(each for each in models_of(protocol) if each.name == name)
    outcome = tlc.check(model.module, model.config, model.search_path, quick=model.seconds < 5)
    print(f"{outcome.verdict} {violated_by(model, outcome) or '-'} {outcome.distinct}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
