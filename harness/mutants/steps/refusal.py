"""Asks the generator whether it accepts steps with a fault in them. One that it refuses comes to no kernel."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from codegen.compile import load
from codegen.errors import SpecErrors
from harness.base.write_files import replace_whole
from harness.mutants.steps.changes import Change, changed
from harness.tla.tlc import ROOT


def refusal_of(change: Change, protocols: Iterable[str]) -> str | None:
    """Returns the generator's first complaint about steps with this fault, for the last protocol that has them.

    None if it accepts them for any of the protocols. All of these accept the steps without it.
    """
    complaint = None
    with tempfile.TemporaryDirectory(prefix="stepwise-refusal-") as folder:
        spec = Path(folder) / "spec"
        shutil.copytree(ROOT / "spec", spec)
        text = (ROOT / change.span.file).read_text(encoding="utf-8")
        replace_whole(Path(folder) / change.span.file, changed(text, change))
        for protocol in protocols:
            try:
                load(spec / protocol)
            except SpecErrors as refused:
                complaint = refused.errors[0].found
            else:
                return None
    return complaint
