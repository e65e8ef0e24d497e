"""Prepares conformance for several kernels.

TLC evaluates the steps once, on the host, and the programs are compiled once. Each kernel only runs and compares.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

from codegen.layout.older_kernels import older_of, override
from harness.base.protocols import BUILD, SPEC
from harness.builds.program_variants import OLDER, merged
from harness.conform import kernel
from harness.conform.campaign import Campaign, Stage
from harness.data.cells import LAYOUT


def prepare(protocol: str, form: str, inputs_max: int, work: Path) -> Path:
    """Writes a stage below `work`, and returns its file: the small build of a form (see builds.Programs).

    The stage has at most `inputs_max` cases, evenly spread. Raises what conformance raises (harness/conform).
    """
    kernel.library()  # compile it on the host, not in a machine
    known = BUILD / "conform" / protocol / "oracle"
    own = work / "conform" / f"{protocol}-{form}"
    own.mkdir(parents=True, exist_ok=True)
    oracle = own / "oracle"  # TLC's answers hold for every form, so all forms share them
    if not oracle.is_symlink():
        known.mkdir(parents=True, exist_ok=True)
        oracle.symlink_to(known)
    campaign = Campaign(SPEC / protocol, own)
    older = older_of(SPEC / protocol) if form == OLDER else None
    if older is not None:
        campaign.text = campaign.text.model_copy(update={"small": merged(campaign.text.small, override(older))})
    stage = campaign.stage(LAYOUT)
    step = -(-len(stage.cases) // inputs_max)
    path = own / f"stage-{inputs_max}.pickle"
    path.write_bytes(pickle.dumps(replace(stage, cases=stage.cases[::step])))
    return path


def load(path: Path) -> Stage:
    """Reads a stage that prepare() wrote, in this repository and this run."""
    stage: Stage = pickle.loads(path.read_bytes())
    return stage
