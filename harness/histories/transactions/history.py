"""Reads histories of transactions into columns. docs/reference/transactions.md describes the format completely."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np

from harness.histories import NEVER, NONE

WORDS = 7
VERSION_LIMIT = 2**32
DIGEST_LIMIT = 2**64
"""The limit of digests, and of the numbers of transactions and keys."""


class TransactionsError(Exception):
    """A history cannot be read; the message says where and why."""


class Kind(IntEnum):
    """The meaning of a row."""

    VALUE = 0
    MISSING = 1
    LOCK = 2
    WRITE = 3
    DELETE = 4
    END = 5
    NOTHING = 6


class Outcome(IntEnum):
    """The outcome of a whole transaction, as far as its client learned it."""

    UNKNOWN = 0
    COMMITTED = 1
    ABORTED = 2


@dataclass(frozen=True)
class Columns:
    """Rows of operations, without the ends of transactions: arrays of one length."""

    transaction: np.ndarray
    """int64, from 0."""
    key: np.ndarray
    """int64, from 0."""
    kind: np.ndarray
    """int8, of Kind."""
    digest: np.ndarray
    """uint64; 0 if there is none."""
    version: np.ndarray
    """int64; 0 if there is none."""
    known: np.ndarray
    """bool: whether a write or a deletion was answered."""

    def where(self, chosen: np.ndarray) -> Columns:
        """The rows that a mask, or indices, choose."""
        return Columns(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True)
class History:
    """A history file. Transactions and keys are numbered from 0; `names` and `keys` have their numbers in the file."""

    path: Path
    rows: Columns
    names: np.ndarray
    """uint64, by transaction."""
    keys: np.ndarray
    """uint64, by key."""
    outcome: np.ndarray
    """int8 of Outcome, by transaction."""
    call: np.ndarray
    """int64, by transaction: nanoseconds."""
    returned: np.ndarray
    """int64, by transaction: nanoseconds; NEVER if no client learned the outcome."""

    def name(self, transaction: int) -> str:
        """A transaction in words. Numbers beyond those of the history are unknown writers."""
        return f"transaction {self.names[transaction]}" if transaction < len(self.names) else "an unknown transaction"


# By operation and the first part of the outcome: the kind, whether there is a digest, and whether a version is required
# ("must"), allowed ("may") or an error ("no").
FORMS = {
    ("read", "Value"): (Kind.VALUE, True, "must"),
    ("read", "Missing"): (Kind.MISSING, False, "may"),
    ("read", NONE): (Kind.NOTHING, False, "no"),
    ("lock", "Granted"): (Kind.LOCK, False, "may"),
    ("lock", NONE): (Kind.NOTHING, False, "no"),
    ("write", "Committed"): (Kind.WRITE, True, "must"),
    ("write", NONE): (Kind.WRITE, True, "no"),
    ("delete", "Committed"): (Kind.DELETE, False, "may"),
    ("delete", NONE): (Kind.DELETE, False, "no"),
    ("end", "Committed"): (Kind.END, False, "no"),
    ("end", "Aborted"): (Kind.END, False, "no"),
    ("end", NONE): (Kind.END, False, "no"),
}
OUTCOMES = {"Committed": Outcome.COMMITTED, "Aborted": Outcome.ABORTED, NONE: Outcome.UNKNOWN}


def read(path: Path) -> History:
    """Read a history file. Raises TransactionsError, with file and line, if it is not a valid history."""
    try:
        with path.open(encoding="ascii") as file:
            rows, ends = _parse(path, file)
    except OSError as error:
        raise TransactionsError(f"cannot read the history {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TransactionsError(
            f"{path}: a history must be UTF-8 text, but this has the byte {error.object[error.start]:#04x}"
        ) from error
    if not ends[0]:
        raise TransactionsError(f"{path}: no transaction was recorded")
    return _numbered(path, rows, ends)


def _parse(path: Path, file: Iterable[str]) -> tuple[tuple[array[int], ...], tuple[array[int], ...]]:
    """The columns of the operations and those of the ends.

    Operations have transaction, key, kind, digest, version, known and line. Ends have transaction, outcome, call,
    return and line.
    """
    rows: tuple[array[int], ...] = tuple(map(array, "QQbQqbI"))
    ends: tuple[array[int], ...] = tuple(map(array, "QbqqI"))
    row_appends = [column.append for column in rows]
    transactions, keys, kinds, digests, versions, knowns, numbers = row_appends
    forms, end, nothing = FORMS, Kind.END, Kind.NOTHING
    for number, line in enumerate(file, 1):
        words = line.split()
        if not words or words[0][0] == "#":
            continue
        try:
            client, key, operation, argument, outcome, call, returned = words
            answer, _, version = outcome.partition(":")
            kind, has_digest, has_version = forms[operation, answer]
            transaction_number, key_number, call_ns = int(client), int(key), int(call)
            digest_number = int(argument) if has_digest else 0
            version_number = int(version) if version else 0
            return_ns = NEVER if returned == NONE else int(returned)
            if (
                call_ns > return_ns
                or not 0 <= version_number < VERSION_LIMIT
                or (not has_digest and argument != NONE)
                or (has_version == "must" and version_number == 0)
                or (has_version == "no" and ":" in outcome)
                or (returned == NONE and answer != NONE)
            ):
                raise ValueError
            if kind == end:
                if key_number != 0:
                    raise ValueError
                entry = (transaction_number, OUTCOMES[answer], call_ns, NEVER if answer == NONE else return_ns, number)
                for column, value in zip(ends, entry, strict=True):
                    column.append(value)
            elif kind != nothing:
                transactions(transaction_number)
                keys(key_number)
                kinds(kind)
                digests(digest_number)
                versions(version_number)
                knowns(answer != NONE)
                numbers(number)
        except (ValueError, KeyError, OverflowError):
            raise TransactionsError(f"{path}:{number}: {_complaint(words)}") from None
    return rows, ends


def _complaint(words: list[str]) -> str:
    """The first fault of a line, in words."""
    text = f"in {' '.join(words)!r}"
    if len(words) != WORDS:
        return f"{len(words)} words, but an operation has {WORDS}, {text}"
    client, key, operation, argument, outcome, call, returned = words
    answer, colon, version = outcome.partition(":")
    for name, word, limit in (("transaction", client, DIGEST_LIMIT), ("key", key, DIGEST_LIMIT), ("call", call, NEVER)):
        if not _is_number(word, limit):
            return f"the {name} must be a number below {limit}, not {word!r}, {text}"
    if (operation, answer) not in FORMS:
        allowed = [f"{name} {other}" for name, other in FORMS]
        return f"{operation!r} with the outcome {answer!r}, which must be one of {', '.join(allowed)}, {text}"
    kind, has_digest, has_version = FORMS[operation, answer]
    if has_digest and not _is_number(argument, DIGEST_LIMIT):
        return f"the digest of a value must be a number below {DIGEST_LIMIT}, not {argument!r}, {text}"
    if not has_digest and argument != NONE:
        return f"{operation} {answer} must have the argument {NONE!r}, not {argument!r}, {text}"
    if colon and has_version == "no":
        return f"{operation} {answer} cannot have a version, {text}"
    if (version and not _is_number(version, VERSION_LIMIT)) or (has_version == "must" and version.strip("0") == ""):
        first = 1 if has_version == "must" else 0
        return (
            f"the version after {answer} must be a number from {first} to {VERSION_LIMIT - 1}, not {version!r}, {text}"
        )
    if returned == NONE:
        return f"it has the outcome {outcome}, but no return, {text}"
    if not _is_number(returned, NEVER):
        return f"the return must be a number of nanoseconds or {NONE!r}, not {returned!r}, {text}"
    if kind == Kind.END and int(key) != 0:
        return f"the key of an end must be 0, not {key}, {text}"
    return f"returned at {returned}, before its call at {call}, {text}"


def _is_number(word: str, limit: int) -> bool:
    return word.isdigit() and int(word) < limit


def _numbered(path: Path, rows: tuple[array[int], ...], ends: tuple[array[int], ...]) -> History:
    transaction, key, kind, digest, version, known, lines = (np.asarray(column) for column in rows)
    ended, outcome, call, returned, end_lines = (np.asarray(column) for column in ends)
    order = np.argsort(ended, kind="stable")
    names = ended[order]
    again = np.flatnonzero(names[1:] == names[:-1])
    if len(again):
        line = int(end_lines[order[again + 1]].min())
        name = int(ended[np.searchsorted(end_lines, line)])
        raise TransactionsError(f"{path}:{line}: the transaction {name} already ended; each ends once")
    index = np.minimum(np.searchsorted(names, transaction), len(names) - 1)
    endless = np.flatnonzero(names[index] != transaction)
    if len(endless):
        first = int(endless[0])
        raise TransactionsError(
            f"{path}:{lines[first]}: the transaction {transaction[first]} has no end; each ends once"
        )
    keys, key_index = np.unique(key, return_inverse=True)
    columns = Columns(index, key_index, kind, digest, version, known.astype(bool))
    return History(path, columns, names, keys, outcome[order], call[order], returned[order])
