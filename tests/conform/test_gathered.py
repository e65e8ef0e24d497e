"""A user's own protocol conforms whose messages have operations: groups of sections run for each of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codegen.compile import load
from harness.conform import __main__ as command
from harness.conform.build import ROOT
from harness.conform.campaign import Campaign
from harness.conform.domain import Domain, DomainError, DomainText, load_text
from harness.conform.gathered import Time
from harness.conform.malformed_packets import GarbageRun
from harness.data.cells import FORMS, LAYOUT
from harness.data.model_values import Patterns
from harness.data.packing import decodes, message_size, payload_rest

SPEC = ROOT / "tests/golden/meters/spec"
BEGUN = (
    "\t}, *message = &operation;\n"
    "\tstruct meters_env operation_environment = {}, *environment = &operation_environment;\n"
    "\t__u32 skipped = 0;\n\t__u32 outcome;\n\n\tenvironment->position = number;\n"
)
DECODED = "\tmeters_operation_decode(payload, message);\n\tmeters_operation_find(operations, number, message);\n"


@pytest.fixture(scope="module")
def meters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The protocol, in a spec/ of its own."""
    folder = tmp_path_factory.mktemp("gathered")
    shutil.copytree(ROOT / "spec/lib", folder / "spec/lib")
    shutil.copytree(SPEC, folder / "spec/meters")
    return folder / "spec/meters"


def campaign(meters: Path, work: Path, tmp_path: Path, edit: tuple[str, str, str]) -> Campaign:
    (work / "oracle").mkdir(exist_ok=True)
    # in a folder of its own, since a library is loaded once by its path
    (tmp_path / "oracle").symlink_to(work / "oracle")
    return Campaign(meters, tmp_path, stop_early=True, edits=(edit,))


def test_it_conforms_in_every_form(meters: Path, work: Path) -> None:
    results = Campaign(meters, work).results()
    assert [result.name for result in results] == [*FORMS, "as shipped, seed 1"]
    for result in results:
        assert [str(each) for each in result.mismatches] == []
    assert [command.show("meters", result) for result in results] == [[]] * 4


@pytest.mark.parametrize(
    "file, old, new, said",
    [
        (
            "meters_hooks.h",
            f"\tenvironment->position = number;\n{DECODED}\n\tmeter = ",
            f"{DECODED}\n\tmeter = ",
            "message found",
        ),
        (
            "meters_hooks.h",
            f"\t\t.noted = operations->message.noted,\n{BEGUN}{DECODED}\n\tmeter = ",
            f"{BEGUN}{DECODED}\n\tmeter = ",
            "found",
        ),
        ("meters_hooks.h", "\t\tmessage->served = operations->message.served;\n", "", "message found"),
        (
            "meters_hooks.h",
            "\tchange += stepwise_replace(payload, METERS_OPERATION_BY, 1, message->by);\n",
            "",
            "found",
        ),
        (
            "meters_codec.h",
            "message->meter = stepwise_read(payload + METERS_OPERATION_METER, 3);\n",
            "message->meter = 0;\n",
            "found",
        ),
        (
            "meters_codec.h",
            "return kind == METERS_MESSAGE_KIND_READ || kind == METERS_MESSAGE_KIND_DONE ?",
            "return kind == METERS_MESSAGE_KIND_READ ?",
            "counted as malformed",
        ),
        (
            "meters.bpf.c",
            "change += stepwise_sum_at(METERS_WIRE_SIZE, operations->all.change);\n",
            "change += 0;\n",
            "UDP checksum",
        ),
        ("meters.bpf.c", ".count_max = METERS_OPERATIONS_MAX", ".count_max = METERS_OPERATIONS_MAX + 1", "malformed"),
        ("meters_user.c", "count > METERS_OPERATIONS_MAX ||\n\t    ", "", "userspace"),
    ],
)
def test_what_is_done_wrongly_is_found_out(
    meters: Path, work: Path, tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    result = campaign(meters, work, tmp_path, (file, old, new)).small(LAYOUT)
    assert result.mismatches, "it conforms"
    assert said in str(result.mismatches[0])


def test_garbage_changes_nothing(meters: Path, work: Path) -> None:
    tally = GarbageRun(Campaign(meters, work).stage(LAYOUT), 3).run(20_000)
    assert tally.problems == []
    assert tally.packets == 20_000 and min(tally.foreign, tally.malformed, *tally.by_kind.values()) > 50


@pytest.mark.parametrize(
    "old, new",
    [
        ("\t\toperations->all.wrong = true;\n", ""),
        (".count_max = METERS_OPERATIONS_MAX", ".count_max = METERS_OPERATIONS_MAX + 1"),
        ("\toperations->all.sum +=", "\t(void)"),
    ],
)
def test_garbage_finds_what_is_not_checked(meters: Path, work: Path, tmp_path: Path, old: str, new: str) -> None:
    stage = campaign(meters, work, tmp_path, ("meters.bpf.c", old, new)).stage(LAYOUT)
    assert GarbageRun(stage, 3).run(20_000).problems


def test_a_payload_says_how_long_it_is() -> None:
    protocol = load(SPEC)
    kinds = ["Read", "Look", "Note", "Noted", "Over", "TakenBack", "Done", "Seen"]
    head = [bytes([kinds.index(kind), 0, count, 0, 0, 0, 0, 0, 0]) for kind in ("Read", "Look") for count in (0, 4, 5)]
    assert {len(each) for each in head} == {message_size(protocol)} == {9}
    assert [payload_rest(protocol, each) for each in head] == [0, 4 * 5, 1 << 16, 0, 0, 0]
    operation = bytes([2, 0, 0, 1, 7])
    assert decodes(protocol, head[1] + 4 * operation)
    assert not decodes(protocol, head[1] + 3 * operation + bytes([8, 0, 0, 1, 7])), "there are eight kinds"


def test_a_section_of_a_group_runs_for_one_operation_after_the_other() -> None:
    sections = load(SPEC).xdp
    assert [section.group for section in sections] == [0, 1, 2, 2, 0]
    times = [Time(1, 0), Time(2, 1), Time(2, 2), Time(3, 1), Time(4, 1), Time(3, 2), Time(4, 2), Time(5, 0)]
    for at, time in enumerate(times):
        assert [time.before(other, sections) for other in times] == [at < number for number in range(len(times))]
    numbers = [time.section + 5 * time.operation for time in times]
    assert [Time.of(sections, number) for number in numbers] == times


def test_a_family_cannot_give_the_number_of_the_operation() -> None:
    protocol, text = load(SPEC), load_text(SPEC / "conform.yaml")
    family = {"name": "x", "hook": "xdp", "given": {"env.position": 1}}
    wrong = DomainText.model_validate({"families": [family]} | {"small": text.small})
    with pytest.raises(DomainError, match="env.position is the number of the operation: leave it out"):
        Domain(wrong, protocol, Patterns(protocol), "conform.yaml")
