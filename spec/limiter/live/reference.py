"""Models a token bucket server in plain Python, and chooses the moves of the clients that fuzzing drives it with.

Time passes while a packet is under way, so the reference knows a bucket's level only within bounds. The cell then shows
where in these bounds the level was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

Tables = Mapping[str, Sequence[Mapping[str, Any]]]

CLOCK_LATE_NS = 20_000_000  # the kernel's coarse clock may be a timer tick behind


class Reference:
    """The buckets as they were when they were last observed."""

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        self.codec = codec
        self._buckets = [{"tokens": 0, "filled": 0} for _ in range(capacities["bucket"])]
        self._taken: dict[int, tuple[int, int]] = {}  # bucket: amount, earliest tick
        self._asked_tick = 0

    def _tick(self, late_ns: int = 0) -> int:
        return (time.monotonic_ns() - late_ns) // self.codec.TICK_NS % self.codec.TIME_MODULUS

    def _level(self, slot: int, tick: int) -> int:
        """A bucket's level at a tick. If the clock is behind the last fill, the level at that fill."""
        bucket, modulus = self._buckets[slot], self.codec.TIME_MODULUS
        elapsed = (tick - bucket["filled"]) % modulus
        if elapsed > modulus // 2:  # the clock is behind
            elapsed = 0
        return min(self.codec.BURST, bucket["tokens"] + self.codec.RATE * elapsed)

    def expect(self, message: Any) -> set[str]:
        """The kinds of answer that may come to a message that is delivered now."""
        if message.kind.name != "TAKE":
            return set()
        self._asked_tick = self._tick(CLOCK_LATE_NS)
        surely = message.amount <= self._level(self.codec.hash_slot(message.key), self._asked_tick)
        return {"ALLOWED"} if surely else {"ALLOWED", "DENIED"}

    def answered(self, message: Any, answer: Any) -> list[str]:
        """The errors in an answer."""
        slot, found = self.codec.hash_slot(message.key), []
        if (answer.amount, answer.key) != (message.amount, message.key):
            found.append(f"{answer} does not answer {message}")
        if answer.kind.name == "ALLOWED":
            most = self._level(slot, self._tick())
            if message.amount > most:
                found.append(f"bucket {slot} allowed {message.amount} but had at most {most}")
            self._taken[slot] = message.amount, self._asked_tick
        return found

    def unanswered(self, _message: Any) -> bool:
        """Whether silence may be right. It never is, since no request needs the daemon."""
        return False

    def observe(self, _tables: Tables) -> bool:
        """Reports that the sweep is done, because there is none."""
        return True

    def complaints(self, tables: Tables) -> list[str]:
        """The errors in the cells. From then on the reference takes the cells as they are."""
        found = []
        for slot, cell in enumerate(tables["bucket"]):
            found += self._bucket_complaints(slot, cell)
            self._buckets[slot] = dict(cell)
        self._taken.clear()
        return found

    def _bucket_complaints(self, slot: int, cell: Mapping[str, int]) -> list[str]:
        if slot not in self._taken:
            return (
                [] if cell == self._buckets[slot] else [f"bucket {slot} changed, but no request took from it: {cell}"]
            )
        amount, earliest = self._taken[slot]
        least, most = (self._level(slot, tick) - amount for tick in (earliest, self._tick()))
        if not max(least, 0) <= cell["tokens"] <= most:
            return [f"bucket {slot} has {cell['tokens']} tokens and should have {max(least, 0)} to {most}"]
        if (cell["filled"] - earliest) % self.codec.TIME_MODULUS > (self._tick() - earliest) % self.codec.TIME_MODULUS:
            return [
                f"bucket {slot} says that it was filled at {cell['filled']}, and it was {earliest} to {self._tick()}"
            ]
        return []

    def elapse(
        self, choice: int, _actors: Sequence[Any], tables: Tables
    ) -> tuple[str, list[tuple[str, int, dict[str, Any]]]]:
        """Make a bucket's last fill some ticks older. Returns a label for that, and the cells to write."""
        slot = choice % len(self._buckets)
        cell = dict(tables["bucket"][slot])
        if cell["filled"] < 10 * choice:
            return "", []
        cell["filled"] -= 10 * choice
        self._buckets[slot] = cell
        return f"bucket {slot} was filled {10 * choice} ticks earlier", [("bucket", slot, cell)]

    def broken_beliefs(self, _actors: Sequence[Any], _now_ns: int) -> list[str]:
        """A client has no beliefs."""
        return []

    def forge(self, message: Any, choice: int) -> Any:
        """An answer that an attacker sends back to the server. It must change nothing."""
        message.kind = self.codec.Kind.DENIED if choice % 2 else self.codec.Kind.ALLOWED
        return message


class Actor:
    """A client whose next move is chosen by a number."""

    KEYS = (0, 1, 2, 2**64 - 1)

    def __init__(self, codec: Any, _capacities: Mapping[str, int]) -> None:
        self._codec = codec

    def act(self, choice: int, _now_ns: int) -> tuple[str, bytes]:
        """The next datagram to send, and a label for it."""
        key, amount = self.KEYS[choice % len(self.KEYS)], choice * choice % (self._codec.BURST + 100)
        message = self._codec.Message(kind=self._codec.Kind.TAKE, amount=amount, key=key)
        return f"Take {amount} of {key}", message.encode()

    def receive(self, datagram: bytes, now_ns: int) -> None:
        """Ignores the answer: the client keeps no state."""
