"""Plants faults in generated steps. The prover must refute each, and the counterexample must be true when it is run."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import Errors, LayoutInvalid, SpecErrors
from codegen.ir import Span
from harness.base.protocols import GENERATED
from harness.base.yaml_documents import Strict, name_of, read
from harness.prove.programs import StepFunction
from harness.prove.proof import StepResult, proved
from harness.prove.replay import replayed
from harness.prove.setting import opened, prepared

FAULTS = Path(__file__).parent / "faults.yaml"
DESCRIBED_IN = "docs/reference/prove.md"
SECONDS = 60.0


class Fault(Strict):
    """A change of generated/PROTOCOL/PROTOCOL_steps.h, and the step that it makes wrong.

    function: where it is; by default the step's own function. old, new: the text, replaced once, after the function's
    beginning.
    """

    protocol: str
    step: str
    function: str = ""
    old: str
    new: str

    @property
    def name(self) -> str:
        """A name for people."""
        return f"{self.protocol} {self.step}: {' '.join(self.old.split())} -> {' '.join(self.new.split()) or 'nothing'}"


class FaultFile(Strict):
    """The catalogue."""

    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class Hunted:
    """The result of a planted fault. how: what differs, or what is wrong."""

    fault: Fault
    refuted: bool
    how: str
    seconds: float


def catalogue(path: Path = FAULTS) -> tuple[Fault, ...]:
    """All faults. Raises SpecErrors."""
    return read(path, FaultFile, DESCRIBED_IN).faults


def hunted(faults: Iterable[Fault]) -> Iterator[Hunted]:
    """Plants each fault and has the prover look at its step."""
    for fault in faults:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="prove-") as scratch:
            refuted, how = _hunt(fault, Path(scratch))
        yield Hunted(fault, refuted, how, time.monotonic() - began)


def _hunt(fault: Fault, scratch: Path) -> tuple[bool, str]:
    generated = scratch / fault.protocol
    shutil.copytree(GENERATED / fault.protocol, generated)
    header = generated / f"{fault.protocol}_steps.h"
    header.write_text(planted(header.read_text(), fault))
    folder = scratch / "build"
    prepared(fault.protocol, folder, generated)
    ready = opened(fault.protocol, folder, generated)
    step = next((each for each in ready.steps if each.name == fault.step), None)
    if step is None:
        return False, f"{fault.protocol} has no step {fault.step}"
    result = proved(ready.setting, step, SECONDS, until_refuted=True)
    return _judged(fault, step, result, folder, generated)


def _judged(fault: Fault, step: StepFunction, result: StepResult, folder: Path, generated: Path) -> tuple[bool, str]:
    leaf = next((each for each in result.leaves if each.counterexample), None)
    if leaf is None or leaf.counterexample is None:
        left = [each.reason for each in result.leaves if not each.proved]
        return False, f"not refuted: {', '.join(left)}" if left else "proved, with the fault"
    wrong, where = replayed(fault.protocol, step, leaf.counterexample, folder, generated)
    if wrong:
        return False, f"refuted, but not when it is run: {'; '.join(wrong)}"
    return True, f"leaf {leaf.arms} {leaf.name}: {', '.join(leaf.counterexample.differs)}; {where}"


def planted(text: str, fault: Fault) -> str:
    """The header with a fault. Raises SpecErrors if its text is not there."""
    function = fault.function or f"{fault.protocol}_"
    begin = text.find(f"{function}(") if fault.function else text.find(f"/* {fault.step}, ")
    at = text.find(fault.old, begin) if begin >= 0 else -1
    if at < 0:
        errors = Errors()
        here = Span(name_of(FAULTS), 1, 1)
        errors.add(LayoutInvalid(here, f"{fault.name}: the text is not in {function}", "change the fault"))
        raise SpecErrors(errors.found)
    return text[:at] + fault.new + text[at + len(fault.old) :]
