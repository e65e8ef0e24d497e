"""The results of a campaign, as harness/results keeps them for the report."""

from __future__ import annotations

from codegen.emit.branch_numbers import Branch
from harness.base.protocols import REPOSITORY
from harness.conform.campaign import Result
from harness.results import models


def findings(protocol: str, seed: int, results: list[Result], forms_count: int, problems: list[str]) -> models.Conform:
    """Lists each build's inputs by hook, evaluations of each step, and counts of each branch.

    The first `forms_count` results are the forms of the small build, in which every branch must be taken. A branch that
    was taken only after a lost race is `excused` in a form without such races. sources: the texts of the branches.
    """
    lost = {branch for result in results[:forms_count] for branch in result.after_a_loss()}
    files = dict.fromkeys(branch.span.file for result in results for branch in result.branches)
    return models.Conform(
        protocol=protocol,
        seed=seed,
        problems=problems,
        builds=[_build(result, at < forms_count, lost) for at, result in enumerate(results)],
        sources={
            file: (REPOSITORY / file).read_text(encoding="utf-8") for file in files if (REPOSITORY / file).is_file()
        },
    )


def _build(result: Result, is_form: bool, lost: set[Branch]) -> models.Build:
    counted = zip(result.branches, result.taken)  # `taken` is empty in a build without coverage
    return models.Build(
        name=result.name,
        is_form=is_form,
        inputs=result.inputs,
        seconds=round(result.seconds, 1),
        mismatches=[str(mismatch) for mismatch in result.mismatches] + result.stray,
        steps=result.evaluations(),
        branches=[
            _branch(branch, times, is_form and not result.complete and branch in lost) for branch, times in counted
        ],
    )


def _branch(branch: Branch, times: int, excused: bool) -> models.Branch:
    span = branch.span
    return models.Branch(
        label=branch.label,
        file=span.file,
        line=span.line,
        column=span.column,
        last_line=span.last_line or span.line,
        last_column=span.last_column or span.column,
        times=times,
        excused=excused and not times,
    )
