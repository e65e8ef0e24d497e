"""Lists what the generator itself defines, so that no name of a specification becomes the same in C or in TLA+.

tests/codegen/test_names.py compares these lists with the generated files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from codegen.c.names import snake

FUNCTIONS = frozenset(
    [
        *(
            "after",
            "ahead",
            "bpf",
            "clock",
            "complete_row",
            "rows",
            "count",
            "counters",
            "cpu",
            "drain",
            "entries",
            "fates",
            "is_whole",
            "now",
        ),
        *("object", "passes", "read_ahead", "recovery", "restore", "restore_visit", "sweep_run", "tables", "tc", "xdp"),
        *("drain_begins", "drain_marks", "drain_message", "drain_synced", "drain_take", "drain_written"),
        *("entry_decode", "entry_encode", "entry_fields", "entry_place", "env_set", "on_forwarded_message"),
        *("message_decode", "message_decode_handed_over", "message_encode", "message_encode_answer"),
        *("message_encode_forwarded", "message_encode_handover", "message_encode_tail", "message_tail_size"),
        *("gathered", "gathering", "message_operations", "operation", "operation_decode", "operation_encode"),
        *("operations", "operations_look", "operations_look_at_all", "operations_of", "operations_run"),
        *("are_operations_valid", "has_operation", "operation_find", "operation_look", "operation_place"),
        *("operations_touch",),
        *("recovery_begin", "recovery_key", "recovery_row", "recovery_step", "run_tc", "run_user", "run_xdp"),
        *("store_handover", "store_tc", "store_xdp", "tc_message", "tc_reply", "tc_run"),
        *("xdp_end", "xdp_forward", "xdp_leave", "xdp_message", "xdp_refuse", "xdp_reply", "xdp_run"),
    ]
)
"""Functions and variables of the generated C, without the protocol's prefix. Steps become functions as well."""

MORE_FUNCTIONS = re.compile(
    r"sweep_\d+(_visit)?|group_\d+(_on|_store)?|hash_\w+|message_\w+|u\d+_(set|array|sequence)_\d+_\w+|(bits|bytes)_\d+\w*|bpf_\w+"
)
"""Functions that the generator makes of the layout's names and numbers."""

OF_TABLES = ("at", "cell_pack", "cell_unpack", "element", "fields", "in_drain", "entry")
"""Ends of the functions of each table, behind its name."""

OF_RECORDS = re.compile(r"equal|fields|(array|sequence|set)_\d+_\w+")
"""Ends of the functions of each type that is a record, behind its name."""


def is_own(name: str, tables: Iterable[str], records: Iterable[str]) -> str | None:
    """Returns what else has a function's name in C, without the protocol's prefix; None if nothing has.

    tables, records: the names of the tables, and of the types that are records.
    """
    if name in FUNCTIONS or MORE_FUNCTIONS.fullmatch(name):
        return "the generator's own"
    for table in tables:
        if name in (f"{snake(table)}_{end}" for end in OF_TABLES):
            return f"a function of the table {table}"
    for record in records:
        start = f"{snake(record)}_"
        if name.startswith(start) and OF_RECORDS.fullmatch(name.removeprefix(start)):
            return f"a function of the type {record}"
    return None


OPERATORS = frozenset(
    [
        *("Section", "XdpSections", "XdpStep", "TcSections", "TcStep", "SweepPasses", "RestorePass", "SweepStep"),
        *("TableIndex", "HandedOver", "PassedOn", "UserSection", "UserSections", "UserStep", "SectionsOf", "StepOf"),
        *("GroupOf", "GroupIsFor", "OperationsOf", "OperationAt", "OwnOf", "OperationDone"),
        *("DrainStep", "DrainSynced", "DrainTakes", "DrainWritten", "DrainBegins"),
        *("InitialCell", "TablesOf", "BlankMessage", "Wide", "CellTypes", "MessageType", "CellOK", "MessageOK"),
    ]
)
"""Operators of `<P>Hooks.tla`, which extends the module of the steps."""

MACROS = frozenset(
    [
        *(
            "PORT",
            "WIRE_SIZE",
            "TICK_NS",
            "TAIL_OVER",
            "TAIL_MAX",
            "OPERATIONS_MAX",
            "BRANCHES",
            "LEAVES",
            "TERMS",
            "H",
            "STEPS_H",
        ),
        *("COUNTERS", "COUNTER_NAMES", "COUNTERS_XDP", "COUNTERS_TC", "CODEC_H", "DRAIN_H", "HOOKS_H"),
    ]
)
"""Macros of the generated headers, without the protocol's prefix. The layout's constants become macros as well."""

MORE_MACROS = re.compile(r"(WIRE|OPERATION|LEAF|CHOICE|CAPACITY|ROW|ENTRY|COUNTER|TABLE)_\w+")
"""Macros that the generator makes of fields, leaves, choices and tables."""
