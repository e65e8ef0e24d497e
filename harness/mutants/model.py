"""python -m harness.mutants.model PROTOCOL MODEL: runs one model, and prints its verdict and what it violates.

If the model must fail, it is run with the right rules: the steps may have a fault like the wrong ones.
"""

from __future__ import annotations

import sys

from harness.tla import config, tlc
from harness.tla.models import with_right_rules
from harness.tla.run import violated_by


def main(protocol: str, name: str) -> int:
    """Print the model's present result, whatever models.yaml expects of it."""
    model = with_right_rules(protocol, name)
    config.write(model)
    outcome = tlc.check(model.module, model.config, model.search_path, quick=model.seconds < 5)
    print(f"{outcome.verdict} {violated_by(model, outcome) or '-'} {outcome.distinct}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
