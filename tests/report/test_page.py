"""Tests the page's content: with every kind of results, with none, and with results of another commit than HEAD."""

from __future__ import annotations

import re
from functools import reduce
from html import unescape
from html.parser import HTMLParser
from operator import getitem

import pytest

from harness.base.protocols import REPOSITORY
from harness.kernels.kernel_list import Listed
from harness.report.collect import load, together
from harness.report.formats import KINDS, ReportError
from harness.report.page import render
from harness.report.summary import duration, verdicts
from tests.report import made_up
from tests.report.made_up import COMMIT


class Text(HTMLParser):
    """Collects the text of a page, and its references."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.references: list[str] = []
        self.identifiers: list[str] = []
        self._hidden = False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self._hidden = tag in ("script", "style")
        for name, value in attributes:
            if name in ("href", "src", "srcset", "action", "data", "poster", "xlink:href"):
                self.references.append(value)
            if name == "id":
                self.identifiers.append(value)

    def handle_endtag(self, tag):
        self._hidden = False

    def handle_data(self, data):
        if not self._hidden:
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())


def page_of(tmp_path, found, head=COMMIT, **when) -> str:
    return render(together(load(made_up.write(tmp_path / "results", found, **when))), head)


def test_everything_is_on_the_page(full):
    text = Text(full).text
    for wanted in (
        "4,044 distinct states",
        "No two clients have tickets of the same number.",
        "a ticket is torn off twice",
        "roll[0].torn: 0 -> 1",
        "18,120 inputs",
        "xdp 9,000",
        "11,000",
        "TicketSteps",
        "layout: 1 of 5 branches were not taken",
        "1,410 / 1,500",
        "+17.5% of baseline",
        "for newer kernels only",
        "Booted in 7.3 s",
        "the roll is torn twice",
        "✓ caught",
        "off by one 6 3 0 1 2",
        "OnTake ◐ not all 2 3 13 73.1 s",
        "OnReturn ✓ proved 1 1 13 0.4 s",
        "OnTake, leaf 2.2 TicketSteps.tla:2.2 timeout: <i>Cardinality</i> of all tickets",
        "2 steps, 3 of 4 leaves proved (75.0%)",
        "all 18 14 1 1 2",
        "✓ has a reason",
        "Equal numbers are the same number.",
        "1 without an end",
        "1 fault stopped TLC",
        "1 fault the generator refuses",
        "the index lies in 1..8",
        "roll[0] -> roll[<i>]",
        "Latency against load",
        "p99 (µs)",
        "[0.8051, 0.8632]",
        "the generator was the limit",
        "met: take, of reflector: 0.83, at least 0.8",
        "1,390 / 1,500",
        "7,654,321 keys",
        "Answered by the daemon",
        "Engine 27.5",
        "912 MB",
        "120,000",
        "pydantic",
        "clang",
    ):
        assert wanted in text, wanted
    assert "– not run" not in text and "modulus dropped" not in text, "no fault is of this kind"


def test_the_heat_map_has_the_source_to_the_letter(full):
    lines = re.findall(r'<span class="text">(.*?)</span></div>', full, re.DOTALL)
    assert [unescape(re.sub(r"<[^>]*>", "", line)) for line in lines] == made_up.TICKET.splitlines()
    assert '<span class="heat h5" title="on_take.3: 20,900 times">' in full
    assert '<b class="bad">✗ 0</b>' in full and "on_take.choice.then: NOT TAKEN" in full


def test_every_part_can_be_reached(full):
    page = Text(full)
    targets = [reference.removeprefix("#") for reference in page.references if reference.startswith("#")]
    assert len(targets) > 10 and set(targets) <= set(page.identifiers)
    assert len(set(page.identifiers)) == len(page.identifiers)


def test_nothing_comes_from_outside(full, bare):
    for page in (full, bare):
        assert all(reference.startswith(("#", "data:")) for reference in Text(page).references)
        assert not re.search(r"@import|url\((?!#)", page)
        assert re.findall(r"<script[^>]*>", page) == ['<script type="application/json" id="results">']


def test_what_results_say_is_no_markup(full):
    """A message of the counterexample and a line of the source have tags in them."""
    assert "<script>alert" not in full and "&lt;script&gt;alert(1)" in full
    assert "Sold out &lt;b&gt;" in full and "Sold out <b>" not in full


EVERY_COMMAND = (
    "just check",
    "just conform",
    "just prove",
    "just veristat",
    "just kernels",
    "just mutants",
    "just mutants --steps",
    "just bench all",
    "just fuzz all --minutes 20",
    "just fill kv",
    "just docker all",
)


def test_without_results_the_page_says_once_which_command_makes_them(bare):
    for command in EVERY_COMMAND:
        assert bare.count(f"<code>{command}</code>") == 1, command
    text = Text(bare).text
    assert text.count("– not run") == len(EVERY_COMMAND) and "<dt>nothing</dt><dd>not found</dd>" in bare
    assert re.findall(r'<h2 id="(\w+)"', bare) == ["versions"]


def test_a_missing_subject_is_named_once(full):
    for command in (
        "just check lock",
        "just bench lock",
        "just prove lock",
        "just veristat lock",
        "just mutants --steps lock",
        "just kernels --kernel host",
    ):
        assert full.count(f"<code>{command}</code>") == 1, command


@pytest.fixture
def ticket_alone(monkeypatch):
    """Only the protocol of the made-up results exists, and all of its checks are in them."""
    monkeypatch.setattr("harness.tla.models.protocols", lambda: ["ticket"])
    monkeypatch.setattr("harness.tla.models.models_of", lambda _: [])
    kernels = [Listed(name, None) for name in ("6.1", "6.12")]
    for name, value in {
        "protocols": lambda: ["ticket"],
        "FORMS": ("layout", "spin_lock"),
        "listed": lambda: kernels,
        "load": lambda _: [],
        "_with": lambda _: ["ticket"],
    }.items():
        monkeypatch.setattr(f"harness.report.missing.{name}", value)


SUBJECTS = {
    "models": "check/ticket",
    "conformance": "conform/ticket",
    "proofs": "prove/ticket",
    "budgets": "veristat/ticket",
    "steps": "mutants --steps/ticket",
    "benchmarks": "bench/ticket",
    "fuzzing": "fuzz/ticket",
    "filling": "fill/ticket",
}


@pytest.mark.parametrize("anchor", SUBJECTS)
def test_what_holds_for_some_subjects_holds_partly(tmp_path, monkeypatch, ticket_alone, anchor):
    found = made_up.everything()
    found["conform/ticket"]["problems"] = []
    results = together(load(made_up.write(tmp_path / "results", found)))
    assert {verdict.word for verdict in verdicts(results, COMMIT)} == {"✓ holds"}
    monkeypatch.setattr("harness.report.missing.protocols", lambda: ["ticket", "tram"])
    monkeypatch.setattr("harness.report.missing._with", lambda _: ["ticket", "tram"])
    monkeypatch.setattr("harness.tla.models.protocols", lambda: ["ticket", "tram"])
    (part,) = [verdict for verdict in verdicts(results, COMMIT) if verdict.anchor == anchor]
    assert part.word == "◐ partly" and part.missing == [f"just {SUBJECTS[anchor].split('/')[0]} tram"]
    text = Text(render(results, COMMIT)).text
    assert f"{part.title} ◐ partly" in text


def test_a_part_of_one_subject_is_partly_as_well(tmp_path, ticket_alone):
    """A form of conformance, a kernel's conformance, a stage without a round, and a smoke test stand for no whole."""
    found = made_up.everything()
    found["conform/ticket"]["problems"] = []
    del found["conform/ticket"]["builds"][1]
    del found["kernels/6.12"]["conformance"][0]
    found["fuzz/ticket"]["stages"][0]["count"] = 0
    found["docker/all"]["smoke"] = True
    results = together(load(made_up.write(tmp_path / "results", found)))
    assert {part.anchor: part.missing for part in verdicts(results, COMMIT) if part.is_partial} == {
        "conformance": ["just conform ticket"],
        "kernels": ["just kernels --kernel 6.12"],
        "fuzzing": ["just fuzz ticket"],
        "containers": ["just docker all"],
    }


def test_every_command_that_keeps_results_has_a_part(full):
    kept = {name.split("/")[0] for name in made_up.everything()}
    called = {
        name
        for path in (REPOSITORY / "harness").rglob("*.py")
        for name in re.findall(r'\.keep\(\s*"(\w+)"', path.read_text(encoding="utf-8"))
    }
    assert called == kept == set(KINDS)
    assert len(re.findall(r'<h2 id="(\w+)"', full)) == len(kept) + 1


def test_only_the_named_protocols_count(tmp_path):
    found = made_up.everything()
    found["kernels/6.1"]["programs"].append(made_up._program("tram_xdp", 10, protocol="tram"))
    found["mutants/all"]["mutants"].append({**made_up._mutant("no tram comes"), "protocol": "tram"})
    made_up.write(tmp_path / "results", found)
    tram = {
        name.replace("ticket", "tram"): each
        for name, each in made_up.of("tram").items()
        if "ticket" in name or "tram" in name
    }
    made_up.write(tmp_path / "results", tram)
    assert "tram_xdp" in render(together(load(tmp_path / "results")), COMMIT)
    page = render(together(load(tmp_path / "results"), ["ticket"]), COMMIT)
    assert "tram" not in page[: page.index("<script")]


def test_results_of_another_commit_are_marked(tmp_path, full):
    assert "not HEAD" not in full
    other = Text(page_of(tmp_path, made_up.everything(), head="f" * 40)).text
    assert other.count("of commit 0123456789, not HEAD") >= 6
    changed = Text(page_of(tmp_path, made_up.everything(), commit=COMMIT + "+")).text
    assert "with changes that were not committed" in changed and "not HEAD" not in changed


def test_of_each_model_the_latest_run_counts(tmp_path):
    found = made_up.everything()
    made_up.write(tmp_path / "results", found)
    model = dict(found["check/ticket"]["models"][0], distinct=5_555)
    later = {"check/ticket-small": {**found["check/ticket"], "models": [model]}}
    made_up.write(tmp_path / "results", later, began=made_up.BEGAN + 500)
    models = together(load(tmp_path / "results")).check["ticket"].models
    assert {name: entry.distinct for name, (entry, _) in models.items()} == {"small": 5_555, "fail_twice": 44}


SPOILT = {
    "Model checking": (
        "check/ticket",
        ["models", 0, "surprises"],
        ["it is in deadlock"],
        "ticket/small: it is in deadlock",
    ),
    "Conformance": ("conform/ticket", ["builds", 1, "mismatches"], ["xdp: verdict"], "ticket, spin_lock: xdp: verdict"),
    "Proofs": ("prove/ticket", ["problems"], ["OnTake, leaf 1 is left"], "ticket: OnTake, leaf 1 is left"),
    "Kernels": ("kernels/6.1", ["programs", 0, "faults"], ["over"], "6.1.0-40-cloud-amd64: over"),
    "Seeded faults": (
        "mutants/all",
        ["mutants", 0, "caught"],
        False,
        "the roll is torn twice (templates/hooks.h.j2): NoTicketTwice",
    ),
    "Step faults": (
        "steps/ticket",
        ["survivors", 1, "reason"],
        "",
        "ticket: OnTake: off by one: 2 -> 1 (spec/ticket/TicketSteps.tla:7:19): survives without a reason",
    ),
    "Speed": ("bench/ticket", ["targets"], ["MISSED: take"], "ticket: MISSED: take"),
    "Fuzzing": ("fuzz/ticket", ["failures"], [{"text": "found 4", "saved": None}], "ticket: found 4"),
    "Verifier budgets": ("veristat/ticket", ["programs", 1, "faults"], ["ticket_tc: over"], "ticket_tc: over"),
    "Full tables": ("fill/ticket", ["passes", 1, "complaints"], {"wrong": 3}, "ticket, read: 3 wrong"),
    "Containers": ("docker/all", ["steps", 1, "status"], 2, "check ended with 2"),
}
"""By part: the results, the place in them, what is put there, and what the summary says of it."""


@pytest.mark.parametrize("title", SPOILT)
def test_a_fault_of_any_part_is_in_the_summary(tmp_path, title):
    found = made_up.everything()
    found["conform/ticket"]["problems"] = []
    of_good = verdicts(together(load(made_up.write(tmp_path / "good", found))), COMMIT)
    assert [verdict.holds for verdict in of_good] == [True] * len(of_good)

    name, (*way, last), spoilt, said = SPOILT[title]
    reduce(getitem, way, found[name])[last] = spoilt
    results = together(load(made_up.write(tmp_path / "bad", found)))
    (bad,) = [verdict for verdict in verdicts(results, COMMIT) if not verdict.holds]
    assert bad.title == title and any(fault.startswith(said) for fault in bad.faults), bad.faults
    assert said in Text(render(results, COMMIT)).text


def test_a_survivor_without_a_reason_comes_first(tmp_path):
    found = made_up.everything()
    found["steps/ticket"]["survivors"][1]["reason"] = ""
    text = Text(page_of(tmp_path, found)).text
    assert "2 -> 1 spec/ticket/TicketSteps.tla:7:19 ✗ NO REASON – 3 1 without an end OnTake: off by one: a < b" in text
    assert "1 survivor with a reason" in text


def test_an_entry_for_no_survivor_is_a_fault(tmp_path):
    found = made_up.everything()
    found["steps/ticket"]["stale"] = ["OnTake: *"]
    results = together(load(made_up.write(tmp_path / "results", found)))
    (part,) = [verdict for verdict in verdicts(results, COMMIT) if verdict.anchor == "steps"]
    assert part.faults == ["ticket: 'OnTake: *' in unseen.yaml fits no fault that survives"]
    assert "✗ OnTake: * in unseen.yaml fits no fault that survives." in Text(render(results, COMMIT)).text


def test_kernels_are_in_the_order_of_their_releases(tmp_path):
    releases = ["host", "6.12.9-amd64", "6.1", "6.12.30-amd64", "6.2"]
    found = {f"kernels/{release}": made_up._kernel(release, 1_200, None) for release in releases}
    kernels = together(load(made_up.write(tmp_path / "results", found))).kernels
    assert list(kernels) == ["6.1", "6.2", "6.12.9-amd64", "6.12.30-amd64", "host"]


def test_results_of_another_shape_are_named(tmp_path):
    found = made_up.everything()
    del found["check/ticket"]["models"][1]["depth"]
    said = r"results of check on ticket .*models\.1\.depth: Field required.*remove check/ticket.json"
    with pytest.raises(ReportError, match=said):
        together(load(made_up.write(tmp_path / "results", found)))


def test_a_figure_that_is_no_number_is_named(tmp_path):
    found = made_up.everything()
    found["bench/ticket"]["curves"][0]["series"]["generated"][0]["y"] = float("nan")
    with pytest.raises(
        ReportError, match="results of bench on ticket .*curves.0.series.generated.0.y: Input should be a finite number"
    ):
        together(load(made_up.write(tmp_path / "results", found)))


@pytest.mark.parametrize("seconds, text", [(4.25, "4.2 s"), (200, "3 min 20 s"), (7_500, "2 h 5 min")])
def test_durations_are_in_words(seconds, text):
    assert duration(seconds) == text
