"""Tests which wide integers of a protocol take part in arithmetic, and which a small model number can replace."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from codegen import ir
from codegen.compile import load
from harness.data.model_values import Patterns

LAYOUT = {
    "protocol": "sums",
    "module": "SumsSteps",
    "message": {"where": "u4", "key": "u64", "count": "u48", "limit": "u49", "other": "u50", "mark": "u51"},
    "tables": {
        "sum": {
            "cell": {"key": "u64", "count": "u48", "other": "u50", "keys": {"array": "u64", "size": 2}, "mark": "u51"},
            "capacity": 16,
            "index": "msg.where",
            "atomic": "spin_lock",
        }
    },
    "hooks": {"xdp": [{"sum": "Step"}]},
    "wire": {"transport": "udp", "port": 4243, "order": ["where", "key", "count", "limit", "other", "mark"]},
    "budget": {"xdp": {"insns": 5000, "states": 500, "stack": 256}},
}
COPIED = "Reply([sum EXCEPT !.key = msg.key, !.count = msg.count, !.other = msg.other], [msg EXCEPT !.mark = sum.mark])"
CASES = {
    "copied and compared": (
        f"IF sum.key = msg.key \\/ sum.keys[1] = msg.key \\/ msg.other = 0 THEN Drop(sum, msg) ELSE {COPIED}",
        set(),
    ),
    "one is ordered": (f"IF sum.count < msg.count THEN Drop(sum, msg) ELSE {COPIED}", {48}),
    "one is added to": ("IF msg.count < 9 THEN Reply(sum, [msg EXCEPT !.count = @ + 1]) ELSE Drop(sum, msg)", {48}),
    "one is compared with a number": (f"IF msg.other = 7 THEN Drop(sum, msg) ELSE {COPIED}", {50}),
    "one is put where another is": (
        "Reply([sum EXCEPT !.key = msg.limit], IF msg.count < 9 THEN [msg EXCEPT !.limit = msg.count + 1] ELSE msg)",
        {48, 49, 64},
    ),
    "one is put into an element": (
        "IF msg.mark > 5 THEN Reply([sum EXCEPT !.keys[2] = msg.mark], msg) ELSE Drop(sum, msg)",
        {51, 64},
    ),
    "one is compared with another": (
        "IF msg.mark = msg.key /\\ msg.other >= 2 THEN Reply(sum, msg) ELSE IF msg.other = msg.key THEN Drop(sum, msg) "
        "ELSE Forward(sum, msg)",
        {50, 51, 64},
    ),
    "one has a name": (
        "LET most == IF msg.count > sum.count THEN msg.count ELSE sum.count IN IF most = sum.count THEN Drop(sum, msg) "
        "ELSE "
        "Reply([sum EXCEPT !.count = most], [msg EXCEPT !.count = most])",
        {48, 49, 50, 51, 64},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_computed_with_is_what_it_is(tmp_path: Path, case: str) -> None:
    step, computed = CASES[case]
    spec = tmp_path / "sums"
    spec.mkdir()
    layout = {
        **LAYOUT,
        "hooks": {**LAYOUT["hooks"], **({"user": {"sum": "Find", "reads": "cell"}} if "Forward" in step else {})},
    }
    (spec / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    (spec / "SumsSteps.tla").write_text(
        f"---- MODULE SumsSteps ----\nEXTENDS Offload\nStep(sum, msg) == {step}\nFind(sum, msg) == Reply(sum, "
        "msg)\n====\n"
    )
    patterns = Patterns(load(spec))
    for width in (48, 49, 50, 51, 64):
        kind = ir.UInt(width)
        same = all(patterns.real(kind, number) == number for number in range(5))
        assert same is (width in computed), f"u{width}"
        assert [patterns.model(kind, patterns.real(kind, number)) for number in range(5)] == list(range(5))
