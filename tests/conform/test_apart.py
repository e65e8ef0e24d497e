"""A protocol of somebody's own whose tables keep arrays apart: looked up before the hook, on the way, and by a sweep."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.conform import __main__ as command
from harness.conform.build import FORMS, LAYOUT, ROOT
from harness.conform.campaign import Campaign

STEPS = """---- MODULE LibrarySteps ----
EXTENDS Offload
CONSTANTS Places, Slips, Desks, Rounds
PlaceOf(shelf, book) == FirstIndex(1, Places, 0, LAMBDA i : shelf.books[i].there /\\ shelf.books[i].number = book)
Take(shelf, msg) ==
  LET place == PlaceOf(shelf, msg.book)
  IN  CASE msg.kind # "Borrow" -> NotARequest :: Drop(shelf, msg)
        [] place = 0 -> Reply(shelf, [msg EXCEPT !.kind = "Absent", !.title = shelf.books[Places].title])
        [] OTHER -> Continue([shelf EXCEPT !.books[place].there = FALSE, !.round = (@ + 1) % Rounds],
                             [msg EXCEPT !.title = shelf.books[place].title, !.desk = shelf.round % Desks, !.slip = place])
\\* A desk's slips name the books that are lent.  The last one tells how many.
Note(desk, msg) ==
  CASE msg.slip \\notin 1..Slips -> NoSlip :: Drop(desk, msg)
    [] desk.slips[msg.slip] = msg.book -> Twice :: Drop(desk, msg)
    [] desk.slips[msg.slip] # 0 -> Reply([desk EXCEPT !.slips[msg.slip] = msg.book, !.slips[1] = desk.slips[msg.slip]], [msg EXCEPT !.kind = "Instead"])
    [] OTHER -> Reply([desk EXCEPT !.slips[msg.slip] = msg.book, !.lent = (@ + 1) % Rounds], [msg EXCEPT !.kind = "Lent"])
Tidy(shelf, msg) ==
  IF \\E i \\in 1..Places : shelf.books[i].there /\\ shelf.books[i].number = 0
    THEN Continue([shelf EXCEPT !.books[1].there = FALSE], [msg EXCEPT !.desk = shelf.round % Desks, !.slip = IF shelf.round = 5 THEN 3 ELSE 2])
    ELSE Drop(shelf, msg)
Clear(desk, msg) ==
  IF msg.slip \\in 1..Slips THEN Continue([desk EXCEPT !.slips[msg.slip] = 0], msg) ELSE Drop(desk, msg)
====
"""
LAYOUT_TEXT = """
protocol: library
module: LibrarySteps
constants: {Places: 3, Slips: 2, Desks: 3, Rounds: 100}
types: {title: {bytes: 11}}
message: {kind: {enum: [Borrow, Lent, Instead, Absent]}, book: u64, title: title}
local:
  row: {type: u32, from: "hash(msg.book, shelf.capacity)"}
  desk: u2
  slip: u2
tables:
  shelf:
    cell: {round: u7, books: {array: {record: {there: bool, number: u64, title: title}}, size: Places}}
    map: array
    capacity: 64
    index: msg.row
    atomic: res_spin_lock
    apart: [books]
  desk:
    cell: {slips: {array: u64, size: Slips}, lent: u7}
    map: array
    capacity: 3
    index: msg.desk
    atomic: spin_lock
    apart: [slips]
hooks: {xdp: [{shelf: Take}, {desk: Note, contended: skip}]}
sweep: {period_ms: 1000, passes: [{each: shelf, sections: [{shelf: Tidy}, {desk: Clear, contended: skip}]}]}
wire: {transport: udp, port: 20297, order: [kind, book, title]}
budget: {xdp: {insns: 3000, states: 200, stack: 384}, sweep: {insns: 3000, states: 200, stack: 384}}
"""
CONFORM = """
small: {constants: {Desks: 2}, tables: {shelf: {capacity: 3}, desk: {capacity: 2}}}
variants:
  one place: {constants: {Places: 1}}
values:
  shelf.round: [0, 5, 99]
  shelf.books.number: [=message.book, 0, 2]
  desk.slips: [0, =message.book, 3]
families:
  - name: at the shelf
    hook: xdp
    vary: {message.kind: all, message.book: all, message.title: [0, 3], shelf.round: all, shelf.books.2.there: all, shelf.books.2.number: all}
    together:
      - - {shelf.books.1.there: true, shelf.books.1.title: 4}
        - {shelf.books.1.there: false, shelf.books.1.title: 0}
  - name: any shelf
    hook: xdp
    sample: 300
    vary: {message.book: all, shelf.round: all, shelf.books: all}
  - name: at the desk
    hook: xdp
    given: {message.book: 3, shelf.books.2.there: true, shelf.books.2.number: 3, shelf.round: 3}
    vary: {desk.0.slips.1: [0, 3, 4], desk.0.slips.2: [0, 3, 4], desk.0.lent: [0, 99]}
  - name: in the evening
    hook: 1
    first: 0
    count: 3
    vary: {shelf.1.round: all, shelf.1.books.2.there: all, shelf.1.books.2.number: [0, 1], shelf.1.books.1.there: all, desk.0.slips.2: [0, 3]}
  - name: the shelf is crowded
    hook: xdp
    contended: 1
    vary: {message.kind: all, shelf.books.1.there: all}
samples: 60
variant_samples: 40
pairs_min: 300
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The protocol, in a spec/ of its own."""
    folder = tmp_path_factory.mktemp("apart")
    shutil.copytree(ROOT / "spec/lib", folder / "spec/lib")
    spec = folder / "spec/library"
    spec.mkdir()
    for name, text in (("LibrarySteps.tla", STEPS), ("layout.yaml", LAYOUT_TEXT), ("conform.yaml", CONFORM)):
        (spec / name).write_text(text)
    return spec


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where builds go; TLC's results are kept there."""
    return tmp_path_factory.mktemp("work")


def test_it_conforms_in_every_form_and_variant(library, work):
    campaign = Campaign(library, work)
    results = campaign.results()
    assert [result.name for result in results] == [*FORMS, "one place", "as shipped, seed 1"]
    assert [command.show("library", result) for result in results] == [[]] * 5
    assert command.show_pairs("library", results[:3], campaign.text.pairs_min) == []


NEXT_PLANE = "i * LIBRARY_CAPACITY_SHELF + index"


@pytest.mark.parametrize("file, old, new, said", [
    ("library.bpf.c", NEXT_PLANE, "index * 3 + i", "xdp, layout, family"),
    ("library_user.c", "(size_t)i * LIBRARY_CAPACITY_SHELF + index", "(size_t)index * 3 + i", "xdp, layout, userspace, family"),
    ("library_steps.h", "item = apart->books[i];", "item = apart->books[0];", "xdp, layout, family"),
])  # fmt: skip
def test_items_in_other_places_are_found_out(library, work, tmp_path, file, old, new, said):
    (work / "oracle").mkdir(exist_ok=True)
    (tmp_path / "oracle").symlink_to(work / "oracle")  # in a folder of its own, since a library is loaded once by its path
    result = Campaign(library, tmp_path, stop_early=True, edits=((file, old, new),)).small(LAYOUT)
    assert result.mismatches, "it conforms"
    assert said in str(result.mismatches[0])
