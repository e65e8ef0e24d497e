"""python -m harness.check [PROTOCOL|session|all] [quick|small|large|all|MODEL] [--sample N] [--record] [--trace]
                        [--reach]

Model-checks the specifications. Without arguments it checks the small models of all protocols. It prints one line a
model. It prints an unexpected counterexample as a sequence of messages and saves it as a diagram under build/check/. It
exits with 1 if a result differs from the models.yaml beside the specification.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from harness.base import command, yaml_documents
from harness.base.command import counted
from harness.check.findings import findings, subject_of
from harness.check.reach import Watch
from harness.results import ResultsError, begin
from harness.results.sample import SampleError, sampled
from harness.tla import models, tlc
from harness.tla.arms import Arm
from harness.tla.model import Model
from harness.tla.models_file import DESCRIBED_IN
from harness.tla.run import Report, run, violated_by
from harness.tla.tlc import ROOT, TlcError
from harness.tla.trace import as_text
from harness.tla.unseen import Compared, compared, unseen_of
from harness.tla.unseen import file_of as unseen_file_of
from harness.tla.unseen import is_there as has_unseen

PROGRESS_AFTER_SECONDS = 20
MEASURED = ("small", "all")
"""The choices of models after which it is measured whether the small ones reach every arm.

It takes as long as most of them together, so a run of the quick ones leaves it out.
"""

Result = TypeVar("Result")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="check", description="Model-check the specifications.")
    parser.add_argument("protocol", nargs="?", default="all", help="a folder of spec/, `session`, or `all` (default)")
    parser.add_argument(
        "which", nargs="?", default="small", help="quick, small (default), large, all, or a model's name"
    )
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="check N of them; the commit chooses them, so another commit checks others",
    )
    parser.add_argument("--record", action="store_true", help="record state counts and times in models.yaml")
    parser.add_argument("--trace", action="store_true", help="also print the counterexamples of models that must fail")
    parser.add_argument(
        "--reach",
        action="store_true",
        help="instead list the arms of the steps that no chosen model reaches that holds",
    )
    return parser.parse_args()


def _chosen(protocol: str, which: str) -> list[Model]:
    known = models.protocols()
    if protocol in models.without_models():
        raise TlcError(
            f"{protocol} has no models: {_file_of(protocol)} does not exist; {DESCRIBED_IN} says how to write it"
        )
    if protocol != "all" and protocol not in known:
        raise TlcError(f"{protocol!r} has no models; choose from: {', '.join(known)}, all")
    found = [model for name in (known if protocol == "all" else [protocol]) for model in models.models_of(name)]
    if which == "all":
        return found
    chosen = [model for model in found if which in (model.size, model.name) or (which == "quick" and model.is_quick)]
    if not chosen:
        names = ", ".join(model.name for model in found)
        raise TlcError(f"{protocol} has no model {which!r}; choose from: quick, small, large, all, {names}")
    return chosen


def _file_of(protocol: str) -> str:
    return yaml_documents.name_of(models.file_of(protocol))


def _properties(chosen: list[Model]) -> str:
    """Lists the checked properties, each with its sentence: the comment above it in the specification."""
    lines = []
    for protocol in dict.fromkeys(model.protocol for model in chosen):
        of_protocol = [model for model in chosen if model.protocol == protocol]
        meaning = models.sentences(of_protocol[0].search_path)
        names = dict.fromkeys(name for model in of_protocol for name in models.properties_of(model))
        lines.append(f"{protocol}: properties")
        lines += [f"  {name}: {meaning.get(name, '(no sentence)')}" for name in names]
    return "\n".join(lines)


def _line(report: Report) -> str:
    model, outcome = report.model, report.outcome
    verdict = "holds"
    if outcome.verdict != "holds":
        violated = violated_by(model, outcome) or outcome.verdict
        verdict = f"fails as it must: {violated}" if not report.surprises else f"VIOLATES {violated}"
    elif report.surprises:
        verdict = "UNEXPECTED"
    size = f"{outcome.distinct:>9,} states  depth {outcome.depth or len(outcome.trace):>3}"
    if model.simulation:
        size = f"{outcome.states:>9,} states of {model.simulation.behaviours:,} behaviours"
    return f"{model.full_name:<34} {verdict:<44} {size}  {outcome.seconds:6.1f} s"


def _check_all(chosen: list[Model], recording: bool) -> list[Report]:
    """Runs the models, and prints a line for each."""

    def checked(model: Model) -> Report:
        started = time.monotonic()

        def progress(text: str) -> None:
            if time.monotonic() - started > PROGRESS_AFTER_SECONDS:
                print(f"  ... {model.full_name}: {text}", flush=True)

        return run(model, recording=recording, progress=progress)

    reports = []
    for report in _side_by_side(checked, chosen):
        reports.append(report)
        print(_line(report), flush=True)
    return reports


def _side_by_side(run_one: Callable[[Model], Result], chosen: list[Model]) -> Iterator[Result]:
    """Runs the models, the longest first, as many at a time as there are cores. Yields each result when it is there."""
    # Large models run one at a time, because each may need all of the machine's memory.
    workers = 1 if any(model.size == "large" for model in chosen) else os.cpu_count() or 1
    return command.side_by_side(run_one, sorted(chosen, key=lambda model: -model.seconds), workers)


def _measured(chosen: list[Model]) -> list[Model]:
    """Returns the small models of the chosen models' protocols that must reach every arm."""
    names = [name for name in dict.fromkeys(model.protocol for model in chosen) if has_unseen(name)]
    return [model for name in names for model in models.models_of(name) if model.size == "small"]


def _reach_all(chosen: list[Model], verbose: bool) -> bool:
    """Prints for each protocol the arms that no chosen model reaches. Returns whether each of them has its reason.

    verbose: also prints what each model reaches, and the arms that have their reason.
    """
    holding = [model for model in chosen if not model.must_fail]
    complete = True
    for protocol in dict.fromkeys(model.protocol for model in holding):
        of_protocol = [model for model in holding if model.protocol == protocol]
        watch = Watch(protocol)
        reached: set[int] = set()
        explored = 0
        for batch in _batches(of_protocol):
            for found in _side_by_side(watch.explore, batch):
                explored += 1
                reached |= found.arms
                if verbose:
                    name = f"{protocol}/{found.model.name}"
                    arms = f"{len(found.arms & watch.own)} of {counted(len(watch.own), 'arm')}"
                    print(f"{name:<34} {arms:<20} {found.distinct:>9,} states  {found.seconds:6.1f} s", flush=True)
            missed = [watch.arms[number] for number in sorted(watch.own - reached)]
            if not verbose and not _compared(protocol, missed).unlisted:
                break
        complete &= _say_missed(protocol, len(watch.own), missed, explored, verbose)
    return complete


def _batches(chosen: list[Model]) -> Iterator[list[Model]]:
    """Yields the models with the fewest states first, as many at a time as there are cores."""
    ordered = sorted(chosen, key=lambda model: model.distinct or sys.maxsize)
    size = os.cpu_count() or 1
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def _compared(protocol: str, missed: list[Arm]) -> Compared:
    return compared([arm.name for arm in missed], [(each.arm, each.why) for each in unseen_of(protocol).arms])


def _say_missed(protocol: str, arms: int, missed: list[Arm], models_run: int, verbose: bool) -> bool:
    """Prints the arms of a protocol that were not reached. Returns whether unseen.yaml says why, and nothing else.

    arms: how many it has.
    """
    found = _compared(protocol, missed)
    print(
        f"{protocol}: {arms - len(missed)} of {counted(arms, 'arm')} reached, by "
        f"{counted(models_run, 'model')} that must hold; {counted(len(found.reasons), 'other')} with a reason"
    )
    for arm in missed:
        if arm.name not in found.reasons:
            print(f"  NOT REACHED: {arm}")
        elif verbose:
            print(f"  not reached: {arm} ({found.reasons[arm.name]})")
    for pattern in found.stale:
        print(f"  NO LONGER TRUE: {pattern!r} in {unseen_file_of(protocol)} fits no arm that is not reached")
    if found.unlisted:
        print(f"  a model must reach each of them, or {unseen_file_of(protocol)} must say why none does")
    return not found.unlisted and not found.stale


def _say_twins(protocols: Iterable[str]) -> None:
    """Prints for each protocol how many models must fail, and how many twins they have."""
    for protocol in protocols:
        twins = models.twins_in(protocol)
        own = len(set(twins.names.values())) - len(twins.derived)
        print(
            f"{protocol}: {counted(len(twins.names), 'model')} that must fail, each with a twin that must hold: "
            f"{own} in models.yaml, {len(twins.derived)} derived from it"
        )


def _explain(report: Report, always: bool) -> None:
    if not report.surprises and not always:
        return
    text = "; ".join(report.surprises) or report.model.about
    if not text and not report.steps:
        return
    name = report.model.full_name
    print(f"\n{name}: " + (text or f"violates {violated_by(report.model, report.outcome) or report.outcome.verdict}"))
    if report.steps and report.diagram is not None:
        print(as_text(report.steps))
        print(f"diagram: {report.diagram.relative_to(ROOT)}")


def _record(reports: list[Report]) -> None:
    for report in reports:
        if not report.surprises:
            models.record(report.model, report.outcome)


def main() -> int:
    arguments = _arguments()
    run = begin()
    try:
        chosen = _chosen(arguments.protocol, arguments.which)
        if arguments.sample is not None:
            chosen = sampled(chosen, arguments.sample, "model")
        version = tlc.version()
        print(version)
        if arguments.reach:
            if all(model.must_fail for model in chosen):
                raise TlcError(
                    "none of these models must hold, and the others show nothing of the arms that they reach"
                )
            return 0 if _reach_all(chosen, verbose=True) else 1
        print(_properties(chosen), flush=True)
        reports = _check_all(chosen, arguments.record)
        if arguments.record:  # before the reach, which compares its counts with these
            _record(reports)
        complete = True
        if arguments.which in MEASURED and arguments.sample is None and not any(report.surprises for report in reports):
            _say_twins(dict.fromkeys(model.protocol for model in chosen))
            complete = _reach_all(_measured(chosen), verbose=False)
        # A sample is not kept, because the report counts models.
        for protocol in dict.fromkeys(report.model.protocol for report in reports if arguments.sample is None):
            run.keep("check", subject_of(protocol, arguments.which), findings(protocol, reports, version))
    except (ResultsError, SampleError, TlcError) as error:
        print(f"check: {error}", file=sys.stderr)
        return 1
    for report in reports:
        _explain(report, arguments.trace or len(chosen) == 1)
    surprised = [report for report in reports if report.surprises]
    states = sum(report.outcome.distinct for report in reports)
    failing = sum(report.model.must_fail for report in reports)
    if arguments.protocol == "all":
        for name in models.without_models():
            print(f"{name} has no models ({_file_of(name)} does not exist), so nothing is checked")
    print(
        f"{counted(len(reports), 'model')} ({failing} that must fail), {counted(states, 'distinct state')}, "
        f"{run.seconds:.0f} s: "
        + (counted(len(surprised), "SURPRISE") if surprised else "all as expected")
        + ("" if complete else ", BUT ARMS ARE NOT REACHED")
    )
    return 1 if surprised or not complete else 0


if __name__ == "__main__":
    sys.exit(command.run("check", main))
