"""Tests the comparison of two runs."""

from __future__ import annotations

import pytest

from harness.report.collect import load, together
from harness.report.compare import as_text, compare
from harness.report.formats import ReportError
from harness.report.page import render
from tests.report import made_up
from tests.report.made_up import COMMIT


@pytest.fixture
def changed():
    """Results in which something of every kind is otherwise."""
    found = made_up.everything()
    models = found["check/ticket"]["models"]
    models[0]["distinct"] = 4_100
    models[1] = made_up._model("fail_late", must_fail=True, verdict="holds", surprises=["passes, but must fail"])
    found["conform/ticket"]["builds"][0]["branches"][3]["times"] = 6
    found["kernels/6.1"]["programs"][0]["insns"] = 1_300
    found["mutants/all"]["mutants"][1]["caught"] = False
    figures = found["bench/ticket"]["sections"]["Closed loop"][0]["figures"]
    figures["p99 µs"], figures["operations/s"] = made_up.spread(45), made_up.spread(1_210_000)
    found["fuzz/ticket"]["failures"].append({"text": "found 4", "saved": None})
    return found


def parts_of(tmp_path, old, new):
    found = [together(load(made_up.write(tmp_path / name, each))) for name, each in (("old", old), ("new", new))]
    return {part.title: part for part in compare(*found)}


def rows(part):
    return {each.what: (each.old, each.new, each.difference, each.mark) for each in part.changes}


def test_each_part_has_old_new_and_difference(tmp_path, changed):
    parts = parts_of(tmp_path, made_up.everything(), changed)
    assert rows(parts["Model checking"]) == {
        "ticket/small: distinct states": ("4,000", "4,100", "+100 (+2.5%)", "changed"),
        "ticket/fail_twice": ("there", "–", "gone", "changed"),
        "ticket/fail_late": ("–", "there", "new", "changed"),
    }
    assert rows(parts["Conformance"]) == {"ticket, layout: branches taken": ("4 of 5", "5 of 5", "+1", "better")}
    sides = "1,410 (94% of its budget)", "1,300 (87% of its budget)"
    assert rows(parts["Programs on kernels"]) == {"ticket_xdp on 6.1: insns": (*sides, "-110 (-7.8%)", "better")}
    assert rows(parts["Seeded faults"]) == {
        "ticket: the last ticket is sold again": ("caught", "not caught", "verdict", "worse")
    }
    assert rows(parts["Fuzzing"]) == {"ticket: failures": ("0", "1", "+1", "worse")}


def steps_changes(tmp_path, **changed):
    new = made_up.everything()
    new["steps/ticket"].update(changed)
    part = parts_of(tmp_path, made_up.everything(), new)["Step faults"]
    assert part.same == (not part.changes)
    return {name.removeprefix("ticket: "): row for name, row in rows(part).items()}


def test_a_leaf_that_is_no_longer_proved_is_worse(tmp_path):
    new = made_up.everything()
    new["prove/ticket"]["steps"][1]["leaves"][0].update(proved=False, why="timeout")
    part = parts_of(tmp_path, made_up.everything(), new)["Proofs"]
    assert rows(part) == {"ticket: leaves not proved": ("1", "2", "+1 (+100.0%)", "worse")}


def test_a_fault_in_the_steps_that_is_no_longer_killed_is_worse(tmp_path):
    found = made_up.everything()["steps/ticket"]
    found["kinds"][0].update(killed=8, survive=1)
    alone = {**found["survivors"][0], "name": "OnTake: comparison: a = b -> a # b", "reason": ""}
    assert steps_changes(tmp_path, kinds=found["kinds"], survivors=[*found["survivors"], alone]) == {
        "killed": ("14", "13", "-1 (-7.1%)", "worse"),
        "survivors without a reason": ("0", "1", "+1", "worse"),
    }


def test_with_more_faults_in_the_steps_more_of_them_are_killed(tmp_path):
    found = made_up.everything()["steps/ticket"]
    found["kinds"][0].update(faults=11, killed=10, stopped=1)
    assert steps_changes(tmp_path, kinds=found["kinds"]) == {
        "faults": ("18", "20", "+2 (+11.1%)", "changed"),
        "killed": ("14", "15", "+1 (+7.1%)", "changed"),
        "stopped TLC": ("1", "2", "+1 (+100.0%)", "changed"),
    }


def test_entries_for_survivors_come_and_go(tmp_path):
    survivors = made_up.everything()["steps/ticket"]["survivors"]
    survivors[0]["reason"] = ""
    assert steps_changes(tmp_path, survivors=survivors, stale=["OnTake: *"]) == {
        "survivors with a reason": ("2", "1", "-1 (-50.0%)", "changed"),
        "survivors without a reason": ("0", "1", "+1", "worse"),
        "stale entries of unseen.yaml": ("0", "1", "+1", "worse"),
    }


def test_of_speeds_only_what_is_beyond_the_spread(tmp_path, changed):
    speed = parts_of(tmp_path, made_up.everything(), changed)["Speed"]
    (found,) = rows(speed).items()
    slower = ("31 [30.07, 32.24]", "45 [43.65, 46.8]", "+14 (+45.2%)", "worse")
    assert found == ("ticket, Closed loop: take, generated: p99 µs", slower)
    assert speed.same == 4


def test_points_are_compared_by_their_rows_and_not_by_where_they_were_measured(tmp_path, changed):
    for point in changed["bench/ticket"]["curves"][0]["series"]["generated"]:
        point["x"] *= 1.001
    speed = parts_of(tmp_path, made_up.everything(), changed)["Speed"]
    assert len(speed.changes) == 1


def test_a_table_that_one_run_alone_has_is_one_row(tmp_path):
    """A quick run lacks most of a whole one's; a row that a table of both lacks is named all the same."""
    whole, quick = made_up.everything(), made_up.everything()
    sections = quick["bench/ticket"]["sections"]
    sections["Closed loop"][0]["figures"].pop("p99 µs")
    whole["bench/ticket"]["sections"]["Two cores"] = made_up.everything()["bench/ticket"]["sections"]["Closed loop"]
    speed = parts_of(tmp_path, whole, quick)["Speed"]
    there = sum(len(row["figures"]) for row in whole["bench/ticket"]["sections"]["Two cores"])
    assert there > 1 and rows(speed) == {
        f"ticket, Two cores: {there} figures": ("there", "–", "gone", "changed"),
        "ticket, Closed loop: take, generated: p99 µs": ("there", "–", "gone", "changed"),
    }
    assert rows(parts_of(tmp_path, quick, whole)["Speed"]).keys() == rows(speed).keys()


@pytest.mark.parametrize(
    "name, was, now, mark",
    [
        ("ns", 400, 430, "worse"),
        ("ns", 400, 412, None),
        ("ns", 2, 4, None),
        ("Mpps", 2.5, 2.2, "worse"),
        ("times kernel UDP", 16, 18, "better"),
        ("of reflector", 0.7, 0.78, "better"),
        ("CPU share", 0.93, 0.99, "changed"),
        ("rejected share", 2e-6, 3e-6, None),
        ("granted share", 0.5, 0.47, "changed"),
        ("p99.9 µs", 31, 45, "worse"),
        ("operations/s", 9e5, 12e5, "better"),
    ],
)
def test_which_way_a_speed_went(tmp_path, name, was, now, mark):
    sides = [made_up.everything(), made_up.everything()]
    for side, figure in zip(sides, (was, now)):
        side["bench/ticket"]["sections"]["Closed loop"][0]["figures"][name] = {
            "low": figure,
            "median": figure,
            "high": figure,
            "count": 5,
        }
    found = rows(parts_of(tmp_path, *sides)["Speed"])
    assert [each[3] for each in found.values()] == ([mark] if mark else [])


def test_a_model_that_turns_is_worse(tmp_path):
    new = made_up.everything()
    surprise = "expected 'holds', found 'invariant' NoTicketTwice"
    new["check/ticket"]["models"][0].update(verdict="invariant", violated="NoTicketTwice", surprises=[surprise])
    assert rows(parts_of(tmp_path, made_up.everything(), new)["Model checking"]) == {
        "ticket/small": ("holds", "violates NoTicketTwice, unexpected", "verdict", "worse")
    }


def test_the_same_results_have_no_changes(tmp_path):
    parts = parts_of(tmp_path, made_up.everything(), made_up.everything()).values()
    assert [part.changes for part in parts] == [[]] * 8 and all(part.same for part in parts)


def test_what_is_on_one_side_only_is_said(tmp_path, changed):
    old = {name: found for name, found in made_up.everything().items() if name.startswith("check")}
    text = as_text(list(parts_of(tmp_path, old, changed).values()))
    assert "Seeded faults: nothing to compare: old results have no figures of it" in text
    assert (
        "Model checking: 3 changes, 0 as before\n"
        "  changed  ticket/small: distinct states  4,000 -> 4,100  +100 (+2.5%)\n" in text
    )


def test_a_report_has_its_results_in_it(tmp_path, folder, full, changed):
    page = tmp_path / "old.html"
    page.write_text(full)
    assert load(page) == sorted(load(folder), key=lambda kept: kept.began)
    new = together(load(made_up.write(tmp_path / "new", changed)))
    parts = compare(together(load(page)), new)
    shown = render(new, COMMIT, parts, "old.html")
    assert all(change.what in shown for part in parts for change in part.changes if "'" not in change.what)
    assert 'href="#changes"' in shown and 'href="#changes"' not in full


@pytest.mark.parametrize(
    "text, said",
    [
        ("<html></html>", "neither a folder of results nor a report"),
        ('<script type="application/json" id="results">[{"format": 1}]</script>', "is not a valid file of results"),
        ('<script type="application/json" id="results">[</script>', "cannot read the results"),
        ('<script type="application/json" id="results">[3]</script>', "is not a valid file of results"),
    ],
)
def test_what_is_no_report_is_refused_by_name(tmp_path, text, said):
    (tmp_path / "other.html").write_text(text)
    with pytest.raises(ReportError, match=f"other.html.*{said}|{said}.*other.html"):
        load(tmp_path / "other.html")
    with pytest.raises(ReportError, match="nothing.html: No such file"):
        load(tmp_path / "nothing.html")
