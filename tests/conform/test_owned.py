"""A user's own protocol conforms whose cells belong to one section at a time: of xdp, tc, the daemon or a sweep."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.conform import __main__ as command
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign
from harness.conform.domain import DomainError
from harness.data.cells import FORMS, LAYOUT

CONFORM = """
small:
  constants: {Turns: 8, Cabinets: 2}
  message: {desk: u1}
  local: {cabinet: u1, note: u1}
  tables: {desk: {capacity: 2}, sheet: {capacity: 2}, note: {cell: {cabinet: u1}, capacity: 2}}
values:
  desk.turn: [0, 1, 6, 7]
  env.cpu: [0, 1, 7, 65535]
families:
  - name: at the desk
    hook: xdp
    vary: {message.kind: all, message.desk: all, message.number: [1, 9], desk.state: all, desk.turn: all, env.cpu: all}
    together:
      - - {message.title: 2, sheet.title: 0, sheet.pages: [0, 0, 0], note.number: 0}
        - {message.title: 0, sheet.title: 3, sheet.pages: [7, 8, 9], note.number: 5}
  - name: another has written the desk
    hook: xdp
    contended: 1
    rival: {state: Busy, turn: 3}
    given: {desk.state: Free}
    vary: {message.kind: [Write, Ask], desk.turn: all}
  - name: in the office
    hook: user
    vary: {message.kind: all, message.desk: all, message.number: [0, 6], desk.state: all, desk.turn: all, sheet.title: [0, 3], sheet.pages: [[0, 0, 0], [4, 5, 6]]}
  - name: on the way out
    hook: tc
    vary: {message.kind: all, message.desk: all, message.number: [0, 6], desk.state: all, desk.turn: all, note.number: [0, 4], note.title: [0, 3]}
  - name: in the evening
    hook: 1
    first: 0
    count: 2
    vary: {desk.0.state: all, desk.1.state: all, desk.0.turn: all, desk.1.turn: [6], note.0.number: [0, 3], note.1.number: [7], note.1.title: [2]}
  - name: at night
    hook: 2
    first: 0
    count: 2
    vary: {sheet.0.number: [0, 1, 2], sheet.1.number: [0, 1, 2], desk.1.turn: [5]}
samples: 60
pairs_min: 5_000
"""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The protocol, in a spec/ of its own."""
    folder = tmp_path_factory.mktemp("owned")
    shutil.copytree(ROOT / "spec/lib", folder / "spec/lib")
    spec = folder / "spec/office"
    shutil.copytree(ROOT / "tests/golden/office/spec", spec)
    (spec / "conform.yaml").write_text(CONFORM)
    return spec


def test_it_conforms_in_every_form(office, work):
    campaign = Campaign(office, work)
    results = campaign.results()
    assert [result.name for result in results] == [*FORMS, "as shipped, seed 1"]
    assert [command.show("office", result) for result in results] == [[]] * 4
    assert command.show_pairs("office", results[:3], campaign.text.pairs_min) == []
    assert set(results[0].inputs) == {"xdp", "user", "tc", "sweep 1", "sweep 2"}


@pytest.mark.parametrize(
    "file, old, new, said",
    [
        (
            "office_hooks.h",
            "message->note);\n\toutcome = note ? office_file",
            "message->note ^ 1);\n\toutcome = note ? office_file",
            "xdp, layout",
        ),
        (
            "office_hooks.h",
            "office_sheet_element(tables, message->desk)",
            "office_sheet_element(tables, message->desk ^ 1)",
            "xdp, layout",
        ),
        (
            "office.bpf.c",
            "office_sheet_element(NULL, index)",
            "office_sheet_element(NULL, index ^ 1)",
            "pass 2 of the sweep, layout",
        ),
        (
            "office_user.c",
            "OFFICE_TABLE_SHEET, message->desk)",
            "OFFICE_TABLE_SHEET, message->desk ^ 1)",
            "user, layout, userspace",
        ),
        (
            "office_user.c",
            "stepwise_verdict(outcome) != STEPWISE_REPLY",
            "stepwise_verdict(outcome) == STEPWISE_CONTINUE",
            "user, layout, userspace",
        ),
        ("office.bpf.c", "stepwise_conform_env.cpu & 0xffff", "stepwise_conform_env.cpu & 0xfffe", "xdp, layout"),
        ("office_user.c", "from->cpu & 0xffff", "from->cpu & 0xfffe", "xdp, layout, userspace"),
    ],
)
def test_what_is_stepped_wrongly_is_found_out(office, work, tmp_path, file, old, new, said):
    (work / "oracle").mkdir(exist_ok=True)
    # in a folder of its own, since a library is loaded once by its path
    (tmp_path / "oracle").symlink_to(work / "oracle")
    result = Campaign(office, tmp_path, stop_early=True, edits=((file, old, new),)).small(LAYOUT)
    assert result.mismatches, "it conforms"
    assert said in str(result.mismatches[0])


def test_a_section_that_has_its_cell_loses_no_race(office, tmp_path, monkeypatch):
    spec = tmp_path / "spec/office"
    shutil.copytree(office.parent, tmp_path / "spec")
    text = (spec / "conform.yaml").read_text()
    (spec / "conform.yaml").write_text(text.replace("contended: 1\n    rival: {state: Busy, turn: 3}", "contended: 2"))
    with pytest.raises(DomainError, match="section 2 of xdp locks no cell"):
        Campaign(spec, tmp_path / "work").small(LAYOUT)
