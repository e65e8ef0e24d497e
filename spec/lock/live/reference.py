"""Models a lock server in plain Python, and chooses the moves of the clients that fuzzing drives it with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spec.lib.live.session_reference import OPENING, OWN, SessionReference, Tables, opening
from spec.lock.live.client import LockSession, conflicts


class Reference(SessionReference):
    """The shares of each cell, by client.

    A share may be kept in the cell or in an overflow entry; the reference does not care which.
    """

    requests = frozenset({"ACQUIRE", "RELEASE", "GATHER"})

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        super().__init__(codec, capacities)
        self.shares: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self.exclusive: set[int] = set()
        self._may_be_full: set[int] = set()

    def slot(self, lock: int) -> int:
        """The cell of a lock id."""
        return self.codec.hash_slot(lock)

    def outcomes(self, message: Any) -> set[str]:
        if message.kind.name == "GATHER":
            return {"GATHERED"}
        slot = self.slot(message.lock)
        shares = self.shares[slot]
        if message.kind.name == "RELEASE":
            return {"RELEASED"} if shares[message.client] else {"REJECTED"}
        mode = message.mode.name
        if mode == "FREE":
            return {"REJECTED"}
        others = [client for client in shares if shares[client] and client != message.client]
        if others and (mode == "EXCLUSIVE" or slot in self.exclusive):
            return {"REJECTED", "GRANTED"} if all(self.is_fading(client) for client in others) else {"REJECTED"}
        # The limit counts spilled shares only. The reference does not know which are spilled, so it counts all of them.
        may_be_refused = slot in self._may_be_full or self._shares_of(message.client) >= self.codec.MAX_OWNED
        return {"GRANTED", "REJECTED"} if may_be_refused else {"GRANTED"}

    def _shares_of(self, client: int) -> int:
        return sum(shares[client] for shares in self.shares.values())

    def needs_daemon(self, message: Any) -> bool:
        return bool(message.kind.name != "GATHER")

    def wrong_answer(self, message: Any, answer: Any) -> list[str]:
        """Executes the operations of a request, one after the other."""
        if len(answer.operations) != len(message.operations):
            return [f"{len(message.operations)} operations were answered with {len(answer.operations)}"]
        return [
            wrong
            for asked, done in zip(message.operations, answer.operations)
            for wrong in self._wrong_operation(replace(message, **vars(asked), count=0, operations=[]), done)
        ]

    def _wrong_operation(self, asked: Any, done: Any) -> list[str]:
        """Executes an operation. It may be left alone where the cell has a share, which may be one too many for it.

        One of another kind than an acquire or a release is always left alone.
        """
        found = [
            f"the operation's {name} is {getattr(done, name)!r}, the request's {getattr(asked, name)!r}"
            for name in ("lock", "mode")
            if getattr(done, name) != getattr(asked, name)
        ]
        is_known = asked.kind.name in ("ACQUIRE", "RELEASE")
        if done.kind.name == asked.kind.name and (not is_known or self.shares[self.slot(asked.lock)]):
            return found
        expected = self.outcomes(asked) if is_known else {asked.kind.name}
        if done.kind.name not in expected:
            return [*found, f"an operation was answered {done.kind.name}, expected {expected}: {asked}"]
        self.apply(asked, done.kind.name)
        return found

    def wrong_memory(self, said: Any, answer: Any) -> list[str]:
        if said.operations == answer.operations:
            return []
        return [f"operations were answered {said.operations} at first, and {answer.operations} when sent again"]

    def apply(self, message: Any, outcome: str) -> None:
        if message.kind.name == "GATHER":
            return  # wrong_answer() has
        slot = self.slot(message.lock)
        if outcome == "GRANTED":
            self._forget_fading(slot, message)
            self.shares[slot][message.client] += 1
            if message.mode.name == "EXCLUSIVE":
                self.exclusive.add(slot)
        elif outcome == "RELEASED":
            self.shares[slot][message.client] -= 1
        self._tidy(slot)

    def _forget_fading(self, slot: int, message: Any) -> None:
        """Forgets the shares that exclude a grant.

        The server has taken them back, which is right only if their sessions are over.
        """
        if message.mode.name == "EXCLUSIVE" or slot in self.exclusive:
            for client in list(self.shares[slot]):
                if client != message.client:
                    del self.shares[slot][client]
            self._tidy(slot)

    def _tidy(self, slot: int) -> None:
        self.shares[slot] = +self.shares[slot]
        if not self.shares[slot]:
            self.exclusive.discard(slot)

    def revoke(self, client: int) -> None:
        for slot in list(self.shares):
            del self.shares[slot][client]
            self._tidy(slot)

    def observe(self, tables: Tables) -> bool:
        full = not any(entry["state"] == "Vacant" for entry in tables["overflow"][1:])
        most = self.codec.MAX_SPILLED
        self._may_be_full = {slot for slot, cell in enumerate(tables["lock"]) if full or cell["spilled"] >= most}
        return super().observe(tables)

    def complaints(self, tables: Tables) -> list[str]:
        """The errors in the cells. Call it when nothing is under way."""
        found = self.session_complaints(tables)
        for index, entry in enumerate(tables["overflow"]):
            if entry["state"] not in ("Vacant", "Held"):
                found.append(f"overflow entry {index} was left {entry['state']}")
        for slot, cell in enumerate(tables["lock"]):
            found += self._slot_complaints(slot, cell, tables)
        owned = Counter(entry["client"] for entry in tables["overflow"] if entry["state"] != "Vacant")
        for client, count in owned.items():
            if count > self.codec.MAX_OWNED:
                found.append(f"session {client} has {count} overflow entries, and may have {self.codec.MAX_OWNED}")
        return found

    def _slot_complaints(self, slot: int, cell: Mapping[str, Any], tables: Tables) -> list[str]:
        entries = [entry for entry in tables["overflow"] if entry["state"] == "Held" and entry["slot"] == slot]
        kept = Counter(cell["holders"]) + Counter(entry["client"] for entry in entries)
        expected = self.shares[slot]
        if any(self.is_fading(client) for client in expected):
            more = kept - expected
            return [f"cell {slot} keeps shares that no session has: {dict(more)}"] if more else []
        found = []
        if kept != expected:
            found.append(f"cell {slot} keeps the shares {dict(kept)} and should keep {dict(expected)}")
        if cell["spilled"] != len(entries):
            found.append(f"cell {slot} counts {cell['spilled']} spilled shares, there are {len(entries)}")
        mode = "EXCLUSIVE" if slot in self.exclusive else "SHARED" if expected else "FREE"
        if cell["mode"].upper() != mode:
            found.append(f"cell {slot} is {cell['mode']} and should be {mode}")
        if mode == "EXCLUSIVE" and cell["holders"] != set(expected):
            found.append(f"cell {slot} is held exclusively by {set(expected)} but names {set(cell['holders'])}")
        return found

    def broken_beliefs(self, actors: list[Actor], now_ns: int) -> list[str]:
        """The beliefs that exclude each other, and those that the server does not share."""
        beliefs = [actor.session.beliefs(now_ns) for actor in actors]
        found = conflicts(beliefs)
        for actor, believed in zip(actors, beliefs):
            client, wanted = actor.session.number, Counter()
            for lock in believed:
                wanted[self.slot(lock)] += actor.session.share_count(lock)
            for slot, count in wanted.items():
                if self.shares[slot][client] < count:
                    found.append(f"session {client} assumes {count} shares of cell {slot}, but the server has fewer")
        return found

    def forge(self, message: Any, choice: int) -> Any:
        """A message that an attacker forges from one seen on the wire. It must change nothing."""
        modulus = self.codec.SEQUENCE_MODULUS
        match choice % 4:
            case 0:
                message.secret = (choice + 1).to_bytes(8, "little")
            case 1:
                answers = [kind for kind in self.codec.Kind if kind.name not in self.requests | OWN]
                message.kind = answers[choice // 4 % len(answers)]
            case 2:
                message.sequence = (message.sequence + modulus // 2) % modulus
            case 3:
                message.client = (message.client + 1 + choice // 4) % (self.capacities["session"] + 2)
        if message.kind.name in OPENING:
            message.kind = self.codec.Kind.RENEW
        return message


class Actor:
    """A client whose next move is chosen by a number."""

    LOCKS = (1, 2, 3, 4, 2**64 - 1)
    GATHERS = 70
    """From this lock choice on, an actor asks for several locks at once."""

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        self.session = LockSession(codec)
        self._session_capacity = capacities["session"]

    def act(self, choice: int, now_ns: int) -> tuple[str, bytes]:
        """The next datagram to send, and a label for it."""
        session, (lock_choice, what) = self.session, divmod(choice, 10)
        if session.is_waiting and (session.is_open or session.is_opening or choice % 2):
            return f"{session.outstanding_kind} again", session.again()
        if not session.is_alive(now_ns):
            if not session.is_invited:
                self.session = session = LockSession(session.codec)
            return opening(session, choice, self._session_capacity, now_ns)
        believed = sorted(session.beliefs(now_ns))
        if lock_choice >= self.GATHERS and what > 1:
            return self._gather(choice, believed, now_ns)
        lock = self.LOCKS[lock_choice % len(self.LOCKS)]
        if what == 0:
            return "CLOSE", session.close(now_ns)
        if what == 1:
            return "RENEW", session.renew(now_ns)
        if what == 2 and not believed:  # ids may share a cell: this could release another id's share
            return f"Release {lock}", session.release(lock, now_ns)
        if what < 6 and believed:
            lock = believed[lock_choice % len(believed)]
            return f"Release {lock}", session.release(lock, now_ns)
        mode = "EXCLUSIVE" if what == 9 else "SHARED"
        return f"Acquire {lock} {mode}", session.acquire(lock, mode, now_ns)

    def _gather(self, choice: int, believed: list[int], now_ns: int) -> tuple[str, bytes]:
        """Gathers locks. It releases those that it holds; if it holds none, there may be nothing to release."""
        wanted: list[tuple[int, str | None]] = []
        releases_all = not believed and choice % 4 == 0
        for lock in self.LOCKS[choice % 5 :] + self.LOCKS[: choice % 3]:
            choice = choice * 7919 % 1009
            if lock in dict(wanted):
                continue
            releases = releases_all or (lock in believed and choice % 3 < 2)
            wanted.append((lock, None if releases else "EXCLUSIVE" if choice % 4 == 0 else "SHARED"))
        return f"Gather {wanted}", self.session.gather(wanted, now_ns)

    def receive(self, datagram: bytes, now_ns: int) -> None:
        self.session.receive(datagram, now_ns)

    def lapse(self, client: int) -> None:
        """Ends the lease if the session is this client's."""
        if self.session.number == client:
            self.session.lease_end_ns = 0
