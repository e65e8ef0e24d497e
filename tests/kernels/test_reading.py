"""Tests reading and showing: verifier logs, the baseline, the table."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import asdict
from pathlib import Path

from harness import veristat
from harness.kernels import baseline
from harness.kernels.run import Found, Reader, sentence
from harness.kernels.table import table
from harness.kernels.verifier_log import marked, origins

REFUSED = Path(__file__).resolve().with_name("refused.log")
LOG = """\
func#0 @0
0: R1=ctx() R10=fp0
; void *packet = (void *)(long)context->data; @ lock.bpf.c:120
0: (61) r3 = *(u32 *)(r1 +4)          ; R1=ctx()
; CASE a.b = "Free" -> \\* spec/p/PSteps.tla:7{first}
1: (61) r2 = *(u32 *)(r1 +0)
2: (bf) r4 = r2
; [] OTHER -> \\* spec/p/PSteps.tla:9{second}
3: (07) r4 += 34
from 3 to 1: R1=ctx()
; CASE a.b = "Free" -> \\* spec/p/PSteps.tla:7{first}
1: (61) r2 = *(u32 *)(r1 +0)
; }} @ lock.bpf.c:130
4: (95) exit
""".replace("\\\\", "\\")


def lines(first: str = "", second: str = "") -> list[str]:
    return LOG.format(first=first, second=second).splitlines()


def test_the_costliest_line_is_that_with_most_instructions_processed():
    """Whether the kernel says where a line stands (since 6.8) or not."""
    for log in (lines(), lines(" @ PSteps.tla:7", " @ PSteps.tla:9")):
        costliest = origins(log).costliest
        assert costliest is not None
        assert (costliest.place, costliest.text) == ("spec/p/PSteps.tla:7", 'CASE a.b = "Free" ->')
        assert (costliest.insns, costliest.of) == (3, 6)


def test_the_last_line_of_tla_is_where_a_refusal_came():
    last = origins(lines()[:8]).last
    assert last is not None and last.place == "spec/p/PSteps.tla:9"


def test_a_log_without_tla_names_only_a_line_of_c():
    found = origins(["; } @ lock.bpf.c:130", "4: (95) exit", "processed 1 insns"])
    assert found.costliest is None and found.last is None and found.last_c == "lock.bpf.c:130: }"


def test_a_refusal_names_the_last_lines_of_tla_and_of_c():
    """The log is that of a kernel, with a line of TLA+ before the line of C that reads beyond the packet."""
    recorded = REFUSED.read_text().splitlines()
    found = origins(recorded)
    assert found.last is not None and found.last.place == "spec/p/PSteps.tla:2"
    assert found.last_c == "p.bpf.c:21: return *amount & 1;"
    older = [re.sub(r" @ \S+:\d+$", "", line) for line in recorded]
    assert origins(older).last_c == "return *amount & 1;", "before 6.8, the kernel gives no place"
    until = next(at for at, line in enumerate(recorded) if "return *amount" in line)
    assert origins(recorded[:until]).last_c == "", "a line of TLA+ is the last"


def test_the_sentence_about_a_refusal_has_both_lines(tmp_path):
    found = Found()
    reader = Reader(found, tmp_path, lambda _: None, "host")
    measured = {"program": "p_xdp", "verdict": "failure", "insns": 15, "states": 1, "stack": 0}
    judged = {"protocol": "p", "form": "shipped", "measured": measured, "jited_bytes": 0, "budget": None, "faults": []}
    log = REFUSED.read_bytes()
    packed = base64.b64encode(zlib.compress(log)).decode()
    where = asdict(origins(log.decode().splitlines()))
    for kind, each in (("program", judged), ("log", {"program": "p_xdp", "log": packed, **where})):
        reader.take(json.dumps({kind: each}).encode() + b"\n")
    said = sentence("p_xdp: refused", "p_xdp", "host", found).splitlines()
    assert said[:3] == [
        "kernel host: p_xdp: refused",
        "  the last line of C before the refusal is p.bpf.c:21: return *amount & 1;",
        "  the last line of TLA+ before the refusal is spec/p/PSteps.tla:2 (8 of 15 instructions processed): "
        "IF msg.amount <= cell.tokens",
    ]
    assert (tmp_path / "p_xdp.log").read_bytes() == log


def test_the_last_words_leave_out_functions_that_are_checked_elsewhere():
    log = REFUSED.read_text()
    assert "assumed valid" in log and "assumed valid" not in veristat.last_words(log)
    assert "invalid access to packet" in veristat.last_words(log)


def test_a_line_of_the_copy_is_read_back():
    (found,) = [origins(["; " + marked("  a = b   ", "spec/p/PSteps.tla:3").strip(), "1: (95) exit"]).costliest]
    assert found is not None and (found.place, found.text) == ("spec/p/PSteps.tla:3", "a = b")


# --- Baseline and table -----------------------------------------------------------------------------


def program(name: str = "p_xdp", **changed: object) -> dict[str, object]:
    figures = {"insns": 1200, "states": 10, "stack": 64, "jited_bytes": 900}
    rest = {
        "verdict": "success",
        "form": "shipped",
        "declared": True,
        "budget": {"insns": 2000, "states": 12, "stack": 64},
    }
    return {"program": name, **figures, **rest, **changed}


def test_a_baseline_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "baseline.json"
    new = baseline.updated({}, "6.12.117+deb12-cloud-amd64", [program(), program("p_tc", verdict="failure")])
    new = baseline.updated(new, "6.1.0-56-cloud-amd64", [program(insns=3000)])
    baseline.write(new, path)
    assert baseline.read(path) == new
    assert list(new["6.12"]) == ["p_xdp"], "what is refused is no baseline"
    assert new["6.1"]["p_xdp"]["insns"] == 3000
    assert path.read_text().index('"6.1"') < path.read_text().index('"6.12"')


def test_what_was_not_measured_keeps_its_baseline():
    before = {"6.12": {"p_tc": {"insns": 1}}, "6.1": {"p_tc": {"insns": 2}}}
    after = baseline.updated(before, "6.12.1", [program()])
    assert set(after["6.12"]) == {"p_tc", "p_xdp"} and after["6.1"] == before["6.1"]


def test_no_baseline_is_an_empty_one(tmp_path):
    assert baseline.read(tmp_path / "absent.json") == {}


def test_the_table_has_a_line_for_each_program_on_each_kernel():
    kernels = [
        {
            "kernel": "6.1.0-56",
            "programs": [program(form="older"), program("p_tc", declared=False, verdict="none", budget=None)],
        },
        {"kernel": "6.12.117", "programs": [program(), program("p_tc", verdict="failure")]},
    ]
    shown = table(
        kernels, {"6.12": {"p_xdp": {"insns": 1000, "states": 10, "stack": 72, "jited_bytes": 900}}}
    ).splitlines()
    assert shown[0].split() == ["program", "kernel", "verdict", "insns", "states", "stack", "jited", "bytes"]
    assert [line.split()[:2] for line in shown[1:]] == [
        ["p_tc", "6.1"],
        ["p_tc", "6.12"],
        ["p_xdp", "6.1"],
        ["p_xdp", "6.12"],
    ]
    assert "none for it" in shown[1] and "refused" in shown[2] and "loads, older form" in shown[3]
    assert "1,200 / 2,000 (+200)" in shown[4] and "64 / 64 (-8)" in shown[4] and "10 / 12  " in shown[4]


def test_a_refused_program_has_no_growth():
    kernels = [{"kernel": "6.12.117", "programs": [program(verdict="failure")]}]
    before = {"6.12": {"p_xdp": {"insns": 1000, "states": 10, "stack": 72, "jited_bytes": 900}}}
    shown = table(kernels, before).splitlines()[1]
    assert "refused" in shown and "1,200 / 2,000" in shown and "(" not in shown
