"""just mutants --steps [PROTOCOL...] [--only TEXT] [--sample N]

Puts one-line faults into the steps, one at a time, and runs the small models that reach them. A model must violate a
property, or the generator refuse the steps. Fails if a fault survives for which unseen.yaml has no reason. A run of all
faults keeps its findings for `just report`: one file a protocol.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from harness.base.command import counted
from harness.mutants.steps.changes import KINDS, Change
from harness.mutants.steps.findings import findings, kind_of
from harness.mutants.steps.hunt import Verdict
from harness.mutants.steps.hunts import hunt_all
from harness.mutants.steps.plan import changes_of
from harness.results import ResultsError, begin
from harness.results.sample import SampleError, sampled
from harness.tla import models
from harness.tla.tlc import TlcError
from harness.tla.unseen import Compared, compared, file_of, unseen_of


def _line(verdict: Verdict) -> str:
    how = {
        "killed": f"{verdict.model}: {verdict.violated}",
        "stopped": f"{verdict.model}: TLC cannot evaluate it: {verdict.violated}",
        "refused": f"the generator: {verdict.violated}",
    }.get(verdict.how, f"makes a difference in {counted(verdict.models, 'model')}")
    late = f", {verdict.given_up} of them without an end" if verdict.given_up else ""
    return f"{verdict.how:<9} {verdict.change}\n            {how}{late} ({verdict.seconds:.1f} s)"


def _table(verdicts: Sequence[Verdict]) -> str:
    """Returns how many faults of each kind there were, and how many of them were noticed."""
    lines = [f"{'kind of fault':<22}{'faults':>8}{'killed':>8}{'stopped':>8}{'refused':>8}{'survive':>8}"]
    for kind in KINDS:
        own = kind_of(kind, verdicts)
        counts = (own.faults, own.killed, own.stopped, own.refused, own.survive)
        lines.append(f"{kind:<22}" + "".join(f"{count:>8}" for count in counts))
    return "\n".join(lines)


def _listed(protocol: str, faults: Iterable[Change]) -> Compared:
    """Compares faults of a protocol with its unseen.yaml. Raises TlcError if that cannot be read."""
    names = [change.full_name for change in faults]
    return compared(names, [(each.fault, each.why) for each in unseen_of(protocol).faults])


def _surviving(verdicts: Iterable[Verdict]) -> list[Change]:
    return [verdict.change for verdict in verdicts if verdict.survives]


def _argued(changes: Sequence[tuple[str, Change]]) -> set[Change]:
    """Returns the faults for which unseen.yaml has a reason to survive. Raises TlcError if it cannot be read."""
    found: set[Change] = set()
    for name in dict.fromkeys(name for name, _ in changes):
        own = [change for of, change in changes if of == name]
        reasons = _listed(name, own).reasons
        found.update(change for change in own if change.full_name in reasons)
    return found


def _sampled(changes: Sequence[tuple[str, Change]], count: int) -> list[tuple[str, Change]]:
    """Returns `count` faults of one protocol. The commit chooses it, and one with many faults more often.

    Faults of all protocols would need the models of all of them, which takes most of the time.
    """
    [(protocol, _)] = sampled(changes, min(count, 1), "fault")
    return sampled([each for each in changes if each[0] == protocol], count, "fault")


def _judge(protocol: str, verdicts: Sequence[Verdict], whole: bool) -> bool:
    """Prints what survives of a protocol's faults. Returns whether unseen.yaml says why, and nothing else.

    whole: whether these are all faults of the protocol, so that each entry of the file must fit one.
    """
    if not verdicts:
        return not whole or not unseen_of(protocol).faults
    noticed = sum(not verdict.survives for verdict in verdicts)
    surviving = {change.full_name: change for change in _surviving(verdicts)}
    found = _listed(protocol, surviving.values())
    print(
        f"{protocol}: {noticed} of {counted(len(verdicts), 'fault')} noticed ({noticed / len(verdicts):.1%}), "
        f"{counted(len(found.reasons), 'survivor')} with a reason"
    )
    for name in found.unlisted:
        print(f"  SURVIVES: {surviving[name]}")
    for pattern in found.stale if whole else ():
        print(f"  NO LONGER TRUE: {pattern!r} in {file_of(protocol)} fits no fault that survives")
    return not found.unlisted and not (whole and found.stale)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="just mutants --steps", description=__doc__)
    parser.add_argument("protocol", nargs="*", help="folders of spec/, or `session`; default: all")
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose line has this text")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="N of one protocol that have no reason to survive; the commit chooses"
    )
    options = parser.parse_args(arguments)
    run = begin()
    whole = not options.only and options.sample is None
    try:
        names = _chosen(options.protocol)
        changes = [(name, change) for name in names for change in changes_of(name) if options.only in str(change)]
        if not changes:
            raise TlcError(f"no fault has {options.only!r} in its line")
        argued = _argued(changes)
        if options.sample is not None:
            # Only a run on all faults asks whether nobody notices these.
            changes = _sampled([each for each in changes if each[1] not in argued], options.sample)
        found = []
        for protocol, verdict in hunt_all(changes, argued):
            found.append((protocol, verdict))
            print(_line(verdict), flush=True)
        of = {name: [verdict for protocol, verdict in found if protocol == name] for name in names}
        for name, own in of.items() if whole else ():
            run.keep("steps", name, findings(name, own, _listed(name, _surviving(own))))
    except (ResultsError, SampleError, TlcError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(_table([verdict for _, verdict in found]))
    return 0 if all([_judge(name, own, whole) for name, own in of.items() if own or whole]) else 1


def _chosen(named: Sequence[str]) -> list[str]:
    known = models.protocols()
    for name in named:
        if name not in known:
            raise TlcError(f"{name!r} has no models; choose from: {', '.join(known)}")
    return list(dict.fromkeys(named)) or known
