"""The checker agrees with a search through all orders, on random executions of a small store, some of them wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import HealthCheck, event, given, settings

from harness.histories.transactions import check

BUCKETS = {1: 0, 2: 0, 3: 1}
"""The bucket of each key."""
COMMON = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


class Line(NamedTuple):
    """A line of a history, without its times. A version of None is unknown."""

    key: int
    operation: str
    digest: int | None
    answer: str
    version: int | None


@dataclass
class Transaction:
    """As it was recorded."""

    name: int
    call: int
    lines: list[Line] = field(default_factory=list)
    outcome: str = "-"
    returned: int | None = None

    def text(self) -> str:
        times = f"{self.call} {'-' if self.returned is None else self.returned}"
        written = [
            f"{self.name} {line.key} {line.operation} {'-' if line.digest is None else line.digest} {line.answer}"
            f"{f':{line.version}' if line.version else ''} {self.call} {'-' if line.answer == '-' else self.call}\n"
            for line in self.lines
        ]
        return "".join([*written, f"{self.name} 0 end - {self.outcome} {times}\n"])


# --- The store --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """A client's plan: keys to read, keys to write with a digest (None: to delete), and how it ends."""

    reads: tuple[int, ...]
    writes: tuple[tuple[int, int | None], ...]
    ends: str
    """`told`; `quits` before it commits; `dies` after its first commit; `unheard`: all is done, and no answer comes."""


class Store:
    """Locks and versions as in spec/occ/OccSteps.tla; `flaws` are what it leaves out."""

    def __init__(self, flaws: frozenset[str]):
        self.flaws = flaws
        self.entries: dict[int, tuple[int, int]] = {}
        self.before: dict[int, tuple[int, int] | None] = {}
        self.floors = dict.fromkeys(BUCKETS.values(), 0)
        self.locked: set[int] = set()
        self.time = 0

    def read(self, key: int, stale: bool = False) -> Line:
        entry = self.before.get(key) if stale and "stale reads" in self.flaws else self.entries.get(key)
        if entry is None:
            return Line(key, "read", None, "Missing", self.floors[BUCKETS[key]])
        return Line(key, "read", entry[1], "Value", entry[0])

    def version(self, key: int) -> int:
        return self.entries.get(key, (0, 0))[0]

    def write(self, key: int, digest: int | None) -> Line:
        bucket, version = BUCKETS[key], self.version(key)
        self.before[key] = self.entries.get(key)
        if digest is None:
            self.floors[bucket] = max(self.floors[bucket], version)
            self.entries.pop(key, None)
            return Line(key, "delete", None, "Committed", version or None)
        written = version + 1 if version else self.floors[bucket] + 1
        self.entries[key] = written, digest
        return Line(key, "write", digest, "Committed", written)


def client(store: Store, plan: Plan, record: Transaction):
    """Runs a plan, and yields where others may go on."""
    first = {key: store.read(key, stale=True) for key in plan.reads}
    record.lines += first.values()
    yield
    held = []
    for key, _ in plan.writes:
        expected = (first[key].version if first[key].answer == "Value" else 0) if key in first else store.version(key)
        free = key not in store.locked and store.version(key) == expected
        if not free and "locks are granted" not in store.flaws:
            record.outcome = "Aborted"
            break
        store.locked.add(key)
        held.append(key)
        record.lines.append(Line(key, "lock", None, "Granted", expected))
        yield
    if "no validation" not in store.flaws and any(
        store.read(key)[:5] != line or (key in store.locked and key not in held) for key, line in first.items()
    ):
        record.outcome = "Aborted"
    wanted = [(key, digest) for key, digest in plan.writes if key in held]
    if record.outcome == "Aborted" or plan.ends == "quits":
        answers = [Line(key, "delete" if digest is None else "write", digest, "-", None) for key, digest in wanted]
    else:
        answers = yield from commit(store, plan, wanted)
        record.outcome = "Committed" if plan.ends == "told" else "-"
    record.lines += answers
    store.locked.difference_update(held)


def commit(store: Store, plan: Plan, wanted: list[tuple[int, int | None]]):
    """Yields between the keys, and returns the answer for each."""
    answers = []
    for number, (key, digest) in enumerate(wanted):
        if number and "half of it" in store.flaws:
            break
        written = store.write(key, digest)
        if "not all at once" in store.flaws:
            yield
        told = plan.ends == "told" or (plan.ends == "dies" and number == 0)
        answers.append(written if told else written._replace(answer="-", version=None))
    answers += [
        Line(key, "delete" if digest is None else "write", digest, "-", None) for key, digest in wanted[len(answers) :]
    ]
    return answers


def execute(plans: list[Plan], turns: list[int], flaws: frozenset[str]) -> list[Transaction]:
    """Turn by turn; a transaction's key is locked from the lock to the end, as others see it."""
    store, running, recorded = Store(flaws), [], []
    waiting = list(enumerate(plans, 1))
    for turn in [*turns, *[0] * 100]:
        store.time += 1
        if waiting and (turn % 4 == 3 or not running):
            name, plan = waiting.pop(0)
            record = Transaction(name, store.time)
            recorded.append(record)
            running.append((record, client(store, plan, record)))
        elif running:
            record, steps = running[turn % len(running)]
            try:
                next(steps)
            except StopIteration:
                running.remove((record, steps))
                if record.outcome == "-":
                    record.returned = None
                else:
                    store.time += 1
                    record.returned = store.time
    assert not running and not waiting
    return recorded


# --- All orders -------------------------------------------------------------------------------------


class Key(NamedTuple):
    """A key, as it can be said: a version that is not exact is this or a later one; `low` has no version up to it any
    more.
    """

    digest: int | None = None
    version: int = 0
    exact: bool = True
    low: int = 0
    deleted: int = 0


def has_order(transactions: list[Transaction]) -> bool:
    """Whether there is an order of those that were committed, and some of unknown outcome, in which each sees those
    before it.
    """
    taking_part = [each for each in transactions if each.outcome != "Aborted"]
    committed = frozenset(
        each.name
        for each in taking_part
        if each.outcome == "Committed"
        or any(line.operation in ("write", "delete") and line.answer == "Committed" for line in each.lines)
    )
    seen = set()

    def search(done: frozenset[int], keys: tuple[tuple[int, Key], ...]) -> bool:
        if committed <= done:
            return True
        if (done, keys) in seen:
            return False
        seen.add((done, keys))
        for each in taking_part:
            early = any(
                other.name not in done
                and other.name in committed
                and other.returned is not None
                and other.returned < each.call
                for other in taking_part
            )
            if each.name in done or early:
                continue
            after = apply(dict(keys), each)
            if after is not None and search(done | {each.name}, tuple(sorted(after.items()))):
                return True
        return False

    return search(frozenset(), ())


def apply(keys: dict[int, Key], transaction: Transaction) -> dict[int, Key] | None:
    """Returns the keys after it; None if it cannot come here."""
    before = dict(keys)
    for line in transaction.lines:
        key = before.get(line.key, Key())
        if line.operation in ("read", "lock"):
            before[line.key] = observed(key, line)
        if before.get(line.key, key) is None:
            return None
    for line in transaction.lines:
        key = before.get(line.key, Key())
        if line.operation == "write":
            before[line.key] = written(key, line)
        elif line.operation == "delete":
            before[line.key] = deleted(key, line)
        if before.get(line.key, key) is None:
            return None
    return before


def observed(key: Key, line: Line) -> Key | None:
    if line.answer == "Missing":
        floor = line.version or 0
        return None if key.digest is not None or floor < key.deleted else key._replace(low=max(key.low, floor))
    if line.operation == "lock" and not line.version:
        return key if key.digest is None else None
    fits = key.digest is not None and (line.version == key.version or (not key.exact and line.version > key.version))
    if not fits or (line.digest is not None and line.digest != key.digest):
        return None
    return key._replace(version=line.version, exact=True)


def written(key: Key, line: Line) -> Key | None:
    there = key.digest is not None
    least = key.version + 1 if there else key.low + 1
    exact = key.exact and there
    if line.version is not None:
        if line.version < least or (exact and line.version != least):
            return None
        return key._replace(
            digest=line.digest, version=line.version, exact=True, low=line.version - 1 if not there else key.low
        )
    return key._replace(digest=line.digest, version=least, exact=exact)


def deleted(key: Key, line: Line) -> Key | None:
    if key.digest is None:
        return key if line.version is None else None
    if line.version is not None:
        key = observed(key, line)
        if key is None:
            return None
    return Key(low=max(key.low, key.version), deleted=key.version)


# --- Comparison -------------------------------------------------------------------------------------


@st.composite
def plans(draw, digests) -> Plan:
    keys = st.lists(st.sampled_from(sorted(BUCKETS)), unique=True, max_size=2)
    reads, writes = draw(keys), draw(keys)
    chosen = tuple((key, draw(st.one_of(digests, digests, st.none()))) for key in writes)
    # A deletion of what is not there tells nothing of its own.
    reads += [key for key, digest in chosen if digest is None and key not in reads]
    ends = draw(st.sampled_from(["told", "told", "told", "quits", "dies", "unheard"]))
    return Plan(tuple(reads), chosen, ends if writes else "told")


FLAWS = ["stale reads", "locks are granted", "no validation", "not all at once"]
UNIQUE = st.integers(1, 10**9)
EQUAL = st.integers(1, 2)
TURNS = st.lists(st.integers(0, 11), max_size=40)


def accepted(recorded: list[Transaction], directory) -> bool:
    path = directory / "history.txt"
    path.write_text("".join(each.text() for each in recorded))
    return check([path]).serializable


@settings(COMMON, max_examples=300)
@given(st.lists(plans(UNIQUE), min_size=1, max_size=8), TURNS)
def test_a_store_without_flaws_is_accepted(tmp_path_factory, wanted, turns):
    assert accepted(execute(wanted, turns, frozenset()), tmp_path_factory.getbasetemp())


@settings(COMMON, max_examples=1000)
@given(st.lists(plans(UNIQUE), min_size=2, max_size=6), TURNS, st.frozensets(st.sampled_from(FLAWS), min_size=1))
def test_agrees_with_all_orders(tmp_path_factory, wanted, turns, flaws):
    told = [Plan(plan.reads, plan.writes, "told") for plan in wanted]
    recorded = execute(told, turns, flaws)
    expected = has_order(recorded)
    event(f"has an order: {expected}")
    assert accepted(recorded, tmp_path_factory.getbasetemp()) == expected


@settings(COMMON, max_examples=1000)
@given(
    st.lists(plans(UNIQUE | EQUAL), min_size=2, max_size=6),
    TURNS,
    st.frozensets(st.sampled_from([*FLAWS, "half of it"])),
)
def test_what_has_an_order_is_accepted(tmp_path_factory, wanted, turns, flaws):
    recorded = execute(wanted, turns, flaws)
    if has_order(recorded):
        event("has an order")
        assert accepted(recorded, tmp_path_factory.getbasetemp())
