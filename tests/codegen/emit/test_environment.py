"""The parts of env are emitted only where a step asks for them: unused C does not compile."""

from __future__ import annotations

import copy
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from codegen.compile import load
from codegen.emit import generate
from tests.codegen.compiling import RUNTIME

LAYOUT = {
    "protocol": "ticket",
    "module": "TicketSteps",
    "env": {"now": {"type": "u16", "tick_ns": 1048576}},
    "message": {"number": "u16", "place": "u4"},
    "tables": {
        "desk": {"cell": {"next": "u16", "closing": "u16"}, "capacity": 16, "index": "msg.place", "atomic": "word"}
    },
    "hooks": {"xdp": [{"desk": "Take"}]},
    "wire": {"transport": "udp", "port": 4244, "order": ["number", "place"]},
    "budget": {"xdp": {"insns": 1000, "states": 100, "stack": 256}},
}
BUDGET = LAYOUT["budget"]["xdp"]
TAKE = "Take(desk, msg) == Reply([desk EXCEPT !.next = (@ + 1) % 65536], [msg EXCEPT !.number = desk.next])"
TAKE_NOW = TAKE.replace("msg)", "msg, env)", 1).replace("desk.next]", "env.now]")
TAKE_INDEX = TAKE.replace("msg)", "msg, env)", 1).replace("desk.next]", "env.index]")
TAKE_CPU = TAKE.replace("msg)", "msg, env)", 1).replace("desk.next]", "env.cpu]")
TAKE_BOTH = TAKE.replace("msg)", "msg, env)", 1).replace("desk.next]", "(env.cpu + env.now) % 65536]")
KEEP_CPU = "Keep(desk, msg, env) == Reply([desk EXCEPT !.closing = env.cpu], msg)"
FIND = "Find(desks, msg) == Reply(desks, msg)"
FIND_NOW = "Find(desks, msg, env) == Reply(desks, [msg EXCEPT !.number = env.now])"
KEEP_NOW = "Keep(desk, msg, env) == Reply([desk EXCEPT !.closing = env.now], msg)"
CLOSE_NOW = "Close(desk, msg, env) == IF desk.closing = env.now THEN Continue([desk EXCEPT !.closing = 0], msg) ELSE Drop(desk, msg)"
USER, TC = {"user": {"desk": "Find"}}, {"tc": [{"desk": "Keep"}]}
SWEEP = {"period_ms": 10, "passes": [{"each": "desk", "sections": [{"desk": "Close"}]}]}

CASES = {
    "no clock": ([TAKE], {}, {"env": {}}, False),
    "a clock that no step uses": ([TAKE], {}, {}, False),
    "another part of env": ([TAKE_INDEX], {}, {"env": {}}, False),
    "a clock for the user step only": ([TAKE, FIND_NOW], USER, {}, False),
    "a user step without env": ([TAKE_NOW, FIND], USER, {}, True),
    "xdp": ([TAKE_NOW], {}, {}, True),
    "tc": ([TAKE, FIND, KEEP_NOW], {**USER, **TC}, {}, True),
    "sweep": ([TAKE, CLOSE_NOW], {}, {"sweep": SWEEP}, True),
    "the processor": ([TAKE_CPU], {}, {"env": {"cpu": "u16"}}, False),
    "the processor's whole number": (
        [TAKE_CPU.replace("env.cpu", "env.cpu % 100")],
        {},
        {"env": {"cpu": "u32"}},
        False,
    ),
    "a processor that no step uses": ([TAKE], {}, {"env": {"cpu": "u16"}}, False),
    "the processor and a clock": ([TAKE_BOTH], {}, {"env": {**LAYOUT["env"], "cpu": "u16"}}, True),
    "the processor in tc": ([TAKE_NOW, FIND, KEEP_CPU], {**USER, **TC}, {"env": {**LAYOUT["env"], "cpu": "u16"}}, True),
    "no words": ([TAKE_NOW], {}, {"atomic": "spin_lock"}, True),
}


def generated(folder: Path, case: str) -> Path:
    """The folder that one case is generated to."""
    steps, hooks, changes, _ = CASES[case]
    layout = copy.deepcopy(LAYOUT)
    layout["hooks"].update(copy.deepcopy(hooks))
    changes = dict(changes)
    layout["tables"]["desk"]["atomic"] = changes.pop("atomic", "word")
    layout.update(copy.deepcopy(changes))
    layout["budget"].update({name: BUDGET for name in ("tc", "sweep") if name in layout["hooks"] or name in layout})
    spec, out = folder / "ticket", folder / "generated"
    spec.mkdir()
    out.mkdir()
    (spec / "layout.yaml").write_text(yaml.safe_dump(layout, sort_keys=False))
    (spec / "TicketSteps.tla").write_text(
        "\n".join(["---- MODULE TicketSteps ----", "EXTENDS Offload", *steps, "====", ""])
    )
    for name, text in generate(load(spec)).items():
        (out / name).write_text(text)
    return out


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_emitted_that_is_not_used(tmp_path: Path, case: str) -> None:
    out = generated(tmp_path, case)
    program, user = ((out / f"ticket{end}").read_text() for end in (".bpf.c", "_user.c"))
    steps, *_, clock = CASES[case]
    processor = any("env.cpu" in step for step in steps)
    for text in ("stepwise_clock.h", "ticket_now(void)", "environment.now = "):
        assert (text in program.replace("sweep->environment", "environment")) is clock, text
    for text in ("ticket_cpu(void)", "environment.cpu = ", "bpf_get_smp_processor_id()"):
        assert (text in program) is processor, text
    assert ("stepwise_conform_env" in program) is (clock or processor)
    assert ("stepwise_sweep.h" in program) is (case == "sweep")
    assert "(void)env;" not in user
    assert user.count("ticket_env_set(") in (0, 2, 3), "a function that is not called, or called and not there"


@pytest.mark.parametrize("defines", ["", "-DSTEPWISE_CONFORM -DSTEPWISE_COVERAGE"])
@pytest.mark.parametrize("case", CASES)
def test_it_compiles_without_a_warning(tmp_path: Path, case: str, defines: str) -> None:
    out, build = generated(tmp_path, case), tmp_path / "build"
    command = [
        "make",
        "-s",
        "-C",
        RUNTIME,
        "PROTOCOL=ticket",
        f"GENERATED={out}",
        f"BUILD={build}",
        f"DEFINES={defines}",
    ]
    command += [build / "ticket.bpf.o", build / "ticket_user.o"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
