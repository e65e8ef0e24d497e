"""python -m harness.report [--output FILE] [--results FOLDER] [--compare OLD]

Writes the findings of all commands as one HTML file. With --compare, the terminal and the file also show what changed
since OLD.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness import results
from harness.base import command, yaml_documents
from harness.base.command import counted
from harness.base.protocols import BUILD, protocols
from harness.report.collect import Everything, load, together
from harness.report.compare import as_text, compare
from harness.report.formats import ReportError
from harness.report.page import render
from harness.report.summary import Verdict, verdicts
from harness.tla import models


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="just report", description="Write the results of all commands to one HTML file."
    )
    parser.add_argument(
        "--output", type=Path, default=BUILD / "report.html", metavar="FILE", help="file to write (build/report.html)"
    )
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="folder of results to report on (build/results)")
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="OLD",
        help="list the changes since an earlier report, or since its folder of results",
    )
    return parser.parse_args()


def _found(named: Path | None) -> Everything:
    """Loads the results of the named folder, or of the commands' own, which may not exist yet."""
    if named is not None and not named.is_dir():
        raise ReportError(
            f"there is no folder of results {named}: name the folder that STEPWISE_RESULTS named when the commands ran"
        )
    folder = named or results.folder()
    # Old results may be of protocols that no longer exist.
    return together(load(folder) if folder.is_dir() else [], {*protocols(), *models.protocols()})


def _line(verdict: Verdict) -> str:
    said = "; ".join(filter(None, [verdict.text, *verdict.marks, *(f"not run: `{each}`" for each in verdict.missing)]))
    return f"{verdict.title:<17} {verdict.word:<10} {said}"


def main() -> int:
    arguments = _arguments()
    try:
        head, found = results.commit(), _found(arguments.results)
        differences = None
        if arguments.compare is not None:
            differences = compare(together(load(arguments.compare)), found)
            print(as_text(differences))
        page = render(found, head, differences, str(arguments.compare))
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(page, encoding="utf-8")
    except OSError as error:
        print(
            f"report: error: cannot write {arguments.output}: {error.strerror}; name another file by --output",
            file=sys.stderr,
        )
        return 2
    except ReportError as error:
        print(f"report: error: {error}", file=sys.stderr)
        return 2
    if differences is None:
        for verdict in verdicts(found, head):
            print(_line(verdict))
    print(
        f"{yaml_documents.name_of(arguments.output)}: {counted(len(found.runs), 'run')}, "
        f"{len(page.encode()) / 1e6:.1f} MB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(command.run("report", main))
