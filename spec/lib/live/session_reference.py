"""Models a server of the session module in plain Python: the reference that fuzzing compares with.

It knows nothing of sections, of retries of a compare-and-swap or of how a request travels. A request is executed once,
in the order of sequence numbers, for anyone who knows the secret. The protocol gives requests their meaning: a subclass
says which outcomes are right and what each changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegen.c.names import upper
from spec.lib.live.session_client import Session

OPENING = frozenset({"ASK", "OPEN"})
"""The kinds that a client without a session sends."""

OWN = OPENING | {"RENEW", "CLOSE"}
"""The kinds of request about sessions themselves, which every protocol has."""

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
"""The cells of each table, as the kernel has them."""


@dataclass
class Account:
    """A session as it should be.

    answer: to the last request; None while that request waits for the daemon. `said` is the whole message.
    is_closing: it was closed, and the daemon is taking back what it held.
    is_overdue: its lease has ended.
    """

    sequence: int
    answer: str | None = "OPENED"
    said: Any = None
    is_closing: bool = False
    is_overdue: bool = False

    @property
    def is_doomed(self) -> bool:
        """The daemon's next sweep ends it."""
        return self.is_closing or self.is_overdue


def opening(session: Session, choice: int, capacity: int, now_ns: int) -> tuple[str, bytes]:
    """Return the next datagram of a client without a session that waits for nothing, and a label for it."""
    sequence = choice * 7919 + now_ns
    if session.is_invited:
        return "Open", session.open(sequence, now_ns)
    return "Ask", session.ask(choice % capacity, sequence, now_ns)


class SessionReference:
    """All sessions of a server."""

    requests: frozenset[str] = frozenset()
    """The protocol's own kinds of request."""

    reads: frozenset[str] = frozenset()
    """The protocol's own kinds that change nothing and have no place in the sequence."""

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        self.codec = codec
        self.capacities = capacities
        self.executes_again: bool = codec.EXECUTES_AGAIN
        self.accounts: dict[int, Account] = {}
        self.secrets: dict[int, bytes] = {}
        # every token given away: a client that shows one is invited. All clients share one address
        self.tokens: set[bytes] = set()

    # --- The protocol's part ------------------------------------------------------------------

    def outcomes(self, message: Any) -> set[str]:
        """The right answers to a request that is executed now."""
        raise NotImplementedError

    def apply(self, message: Any, outcome: str) -> None:
        """Records that a request was executed with this outcome."""
        raise NotImplementedError

    def wrong_answer(self, _message: Any, _answer: Any) -> list[str]:
        """The errors, apart from a wrong kind, in the answer to a request or a read that is executed now."""
        return []

    def wrong_memory(self, _said: Any, _answer: Any) -> list[str]:
        """The errors in the answer to a request that was sent again after it had been answered."""
        return []

    def needs_daemon(self, _message: Any) -> bool:
        """Whether a request or read may wait for the daemon."""
        return True

    def revoke(self, client: int) -> None:
        """Takes back everything that an ended session held."""
        raise NotImplementedError

    def meets_sweep(self, _message: Any) -> bool:
        """Whether a waiting message's outcome depends on which comes first, its execution or the daemon's sweep."""
        return False

    # --- Requests -----------------------------------------------------------------------------

    def expect(self, message: Any) -> set[str]:
        """The kinds of answer that may come to a message that is delivered now; empty if it must be dropped."""
        kind, account = message.kind.name, self.accounts.get(message.client)
        if message.client >= self.capacities["session"]:
            return set()
        if kind == "ASK":
            return {"INVITED"} if message.secret == self.codec.TERMS else {"OTHER_TERMS"}
        if kind == "OPEN" and account is not None:
            return {"TAKEN"}
        if kind == "OPEN":
            return {"OPENED"} if message.secret in self.tokens else {"UNINVITED"}
        if message.secret != self.secrets.get(message.client):
            return set()
        if kind not in self.requests | self.reads | {"RENEW", "CLOSE"}:
            return set()
        if account is None or account.is_closing:
            return {"CLOSED"} if kind == "CLOSE" else set()
        if kind in self.reads:
            return self.outcomes(message)
        if message.sequence == account.sequence and account.answer is not None:
            return {account.answer}
        if not self._is_next(account, message):
            return set()
        return {"RENEW": {"RENEWED"}, "CLOSE": {"CLOSED"}}.get(kind) or self.outcomes(message)

    def _is_next(self, account: Account, message: Any) -> bool:
        """Whether an unanswered message is executed now, because it is the next one or it waited for the daemon."""
        if account.answer is None and message.sequence == account.sequence:
            return self.executes_again or message.kind.name in self.requests
        in_order = message.sequence == (account.sequence + 1) % self.codec.SEQUENCE_MODULUS
        return in_order and (self.executes_again or account.answer is not None)

    def has_waited(self, message: Any) -> bool:
        """Whether a request was left to the daemon before.

        It may be answered late, from what could be seen then.
        """
        account = self.accounts.get(message.client)
        return account is not None and account.answer is None and message.sequence == account.sequence

    def answered(self, message: Any, answer: Any) -> list[str]:
        """Records that a message got an answer that `expect` allows; returns the errors in the rest of the answer."""
        kind, outcome = message.kind.name, answer.kind.name
        wrong = self._wrong_fields(message, answer)
        if outcome in ("INVITED", "OPENED"):
            self.tokens.add(answer.secret)
        if outcome == "OPENED" and kind == "OPEN":
            self.accounts[message.client] = Account(message.sequence)
            self.secrets[message.client] = answer.secret
            return wrong
        account = self.accounts.get(message.client)
        if kind in self.reads:
            return wrong + self.wrong_answer(message, answer)
        if account is None or account.is_closing or kind in OPENING:
            return wrong
        is_new = message.sequence != account.sequence
        if not is_new and account.answer is not None:
            return wrong + (self.wrong_memory(account.said, answer) if account.said is not None else [])
        if kind in self.requests:
            wrong += self.wrong_answer(message, answer)
        account.sequence, account.answer, account.said = message.sequence, outcome, answer
        if kind == "CLOSE":
            account.is_closing = True
        elif is_new or self.executes_again:
            account.is_overdue = False
        if kind in self.requests:
            self.apply(message, outcome)
        return wrong

    def unanswered(self, message: Any) -> bool:
        """Records that no answer came to a message; returns whether that is right while the daemon is down."""
        kind, account = message.kind.name, self.accounts.get(message.client)
        if kind == "ASK":
            return message.secret == self.codec.TERMS
        if kind == "OPEN":
            return account is None
        if kind in self.reads:
            return self.needs_daemon(message)
        if kind not in self.requests:
            return False
        if message.sequence == account.sequence and not self.executes_again:
            return account.answer is None
        if message.sequence == account.sequence and account.answer is not None:
            return False
        account.sequence, account.answer, account.is_overdue = message.sequence, None, False
        return self.needs_daemon(message)

    def _wrong_fields(self, message: Any, answer: Any) -> list[str]:
        names = ["client", "sequence"] if message.kind.name in OPENING else ["client", "sequence", "secret"]
        return [
            f"the answer's {name} is {getattr(answer, name)!r}, the request's {getattr(message, name)!r}"
            for name in names
            if getattr(answer, name) != getattr(message, name)
        ]

    # --- Leases -------------------------------------------------------------------------------

    def elapse(
        self, choice: int, actors: Sequence[Any], tables: Tables
    ) -> tuple[str, list[tuple[str, int, dict[str, Any]]]]:
        """Make the lease of a session end, first for its client.

        Returns a label for that, and the cells to write: (table, index, cell).
        """
        client = choice % self.capacities["session"]
        for actor in actors:
            actor.lapse(client)
        account = self.accounts.get(client)
        if account is None or account.is_doomed:
            return "", []
        account.is_overdue = True
        cell = dict(tables["session"][client])
        # A quarter of the circle ago: overdue, and far from the half circle at which overdue turns into early.
        cell["deadline"] = (cell["deadline"] - self._lease_ticks() - self._modulus() // 4) % self._modulus()
        return f"the lease of session {client} ended", [("session", client, cell)]

    def _modulus(self) -> int:
        return self.codec.TIME_MODULUS

    def _lease_ticks(self) -> int:
        return self.codec.LEASE

    def observe(self, tables: Tables) -> bool:
        """Follow what the daemon's sweep has done; return whether every session that is over has been ended."""
        for client, account in list(self.accounts.items()):
            state = tables["session"][client]["state"]
            if account.is_doomed and (state == "Vacant" or not tables["credential"][client]["secret"]):
                self.secrets.pop(client, None)  # the sweep takes it away first, and then all else
            if account.is_doomed and state == "Vacant":
                del self.accounts[client]
                self.revoke(client)
            elif account.is_overdue and state == "Closing":  # a daemon died while it ended the session
                account.is_closing = True
        return not any(account.is_doomed for account in self.accounts.values())

    def is_fading(self, client: int) -> bool:
        """Whether a sweep may have taken back only part of what a session held."""
        account = self.accounts.get(client)
        return account is not None and account.is_doomed

    def session_complaints(self, tables: Tables) -> list[str]:
        """The errors in the sessions' cells."""
        found = []
        for client, cell in enumerate(tables["session"]):
            if tables["credential"][client]["secret"] != int.from_bytes(self.secrets.get(client, b""), "little"):
                should = "another secret than its client" if client in self.secrets else "a secret and should have none"
                found.append(f"session {client} has {should}")
            account = self.accounts.get(client)
            if account is None:
                if cell["state"] != "Vacant":
                    found.append(f"session {client} is {cell['state']} and should be Vacant")
                continue
            states = {"Closing"} if account.is_closing else {"Idle" if account.answer else "Forwarded"}
            if account.is_overdue:
                states.add("Closing")
            if cell["state"] not in states:
                found.append(f"session {client} is {cell['state']} and should be {' or '.join(sorted(states))}")
            if cell["sequence"] != account.sequence:
                found.append(f"session {client} is at request {cell['sequence']} and should be at {account.sequence}")
            if account.answer is not None and upper(cell["outcome"]) != account.answer:
                found.append(f"session {client} remembers {cell['outcome']} and should remember {account.answer}")
        return found

    def left_over(self, tables: Tables) -> list[str]:
        """The errors in the cells when a load is over, found by a reference that saw none of the load."""
        return self.complaints(tables)
