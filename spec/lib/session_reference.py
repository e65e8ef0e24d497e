"""What a server of the session module should do, in plain Python: the reference that fuzzing compares with.

It knows nothing of sections, retries of a compare-and-swap or the way a request takes: a request is
executed once, in the order of sequence numbers, for whoever knows the secret. What the requests mean
is the protocol's: a subclass says which outcomes are right and what each changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
"""The cells of each table, as the kernel has them."""


@dataclass
class Account:
    """A session as it should be.

    answer: to the last request; None while that waits for the daemon.
    is_closing: it was closed, and what it held is being taken back.
    is_overdue: its lease has ended.
    """

    sequence: int
    answer: str | None = "OPENED"
    is_closing: bool = False
    is_overdue: bool = False

    @property
    def is_doomed(self) -> bool:
        """The daemon's next sweep ends it."""
        return self.is_closing or self.is_overdue


class SessionReference:
    """All sessions of a server."""

    requests: frozenset[str] = frozenset()
    """The protocol's own kinds of request."""

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        self.codec = codec
        self.capacities = capacities
        self.accounts: dict[int, Account] = {}
        self.secrets: dict[int, bytes] = {}

    # --- What the protocol says ---------------------------------------------------------------

    def outcomes(self, message: Any) -> set[str]:
        """The right answers to a request that is executed now."""
        raise NotImplementedError

    def apply(self, message: Any, outcome: str) -> None:
        """A request was executed and had this outcome."""
        raise NotImplementedError

    def revoke(self, client: int) -> None:
        """A session ended: take back what it held."""
        raise NotImplementedError

    # --- Requests -----------------------------------------------------------------------------

    def expect(self, message: Any) -> set[str]:
        """The kinds of answer that may come to a message that is delivered now; none where it must be dropped."""
        kind, account = message.kind.name, self.accounts.get(message.client)
        if message.client >= self.capacities["session"]:
            return set()
        if kind == "OPEN":
            return {"OPENED"} if account is None else {"TAKEN"}
        if message.secret != self.secrets.get(message.client, bytes(8)):
            return set()
        if kind not in self.requests | {"RENEW", "CLOSE"}:
            return set()
        if account is None or account.is_closing:
            return {"CLOSED"} if kind == "CLOSE" else set()
        if message.sequence == account.sequence:
            if account.answer is not None:
                return {account.answer}
            return self.outcomes(message) if kind in self.requests else set()
        if account.answer is None or message.sequence != self._next(account.sequence):
            return set()
        return {"RENEW": {"RENEWED"}, "CLOSE": {"CLOSED"}}.get(kind) or self.outcomes(message)

    def answered(self, message: Any, answer: Any) -> list[str]:
        """A message got one of the answers that `expect` gave. Returns what is wrong with the rest of the answer."""
        kind, outcome = message.kind.name, answer.kind.name
        wrong = self._wrong_fields(message, answer)
        if outcome == "OPENED" and kind == "OPEN":
            self.accounts[message.client] = Account(message.sequence)
            self.secrets[message.client] = answer.secret
            return wrong
        account = self.accounts.get(message.client)
        if account is None or account.is_closing:
            return wrong
        is_new = message.sequence != account.sequence
        if kind == "OPEN" or not is_new and account.answer is not None:
            return wrong
        account.sequence, account.answer = message.sequence, outcome
        if kind == "CLOSE":
            account.is_closing = True
        elif is_new:
            account.is_overdue = False
        if kind in self.requests:
            self.apply(message, outcome)
        return wrong

    def unanswered(self, message: Any) -> bool:
        """No answer came to a message that should have one. Whether that is right while the daemon is down."""
        kind, account = message.kind.name, self.accounts.get(message.client)
        if kind == "OPEN":
            return account is None
        if kind not in self.requests:
            return False
        if message.sequence == account.sequence:
            return account.answer is None
        account.sequence, account.answer, account.is_overdue = message.sequence, None, False
        return True

    def _next(self, sequence: int) -> int:
        return (sequence + 1) % self.codec.SEQUENCE_MODULUS

    def _wrong_fields(self, message: Any, answer: Any) -> list[str]:
        names = ["client", "sequence"] if message.kind.name == "OPEN" else ["client", "sequence", "secret"]
        return [
            f"the answer's {name} is {getattr(answer, name)!r}, the request's {getattr(message, name)!r}"
            for name in names
            if getattr(answer, name) != getattr(message, name)
        ]

    # --- Leases -------------------------------------------------------------------------------

    def elapse(
        self, choice: int, actors: Sequence[Any], tables: Tables
    ) -> tuple[str, list[tuple[str, int, dict[str, Any]]]]:
        """Let the lease of a session end, for its client first.

        Returns words on it, and the cells to write: (table, index, cell).
        """
        client = choice % self.capacities["session"]
        for actor in actors:
            actor.lapse(client)
        account = self.accounts.get(client)
        if account is None or account.is_doomed:
            return "", []
        account.is_overdue = True
        cell = dict(tables["session"][client])
        # A quarter of the circle ago: late, and far from where late begins to mean early.
        cell["deadline"] = (cell["deadline"] - self._lease_ticks() - self._modulus() // 4) % self._modulus()
        return f"the lease of session {client} ended", [("session", client, cell)]

    def _modulus(self) -> int:
        return self.codec.TIME_MODULUS

    def _lease_ticks(self) -> int:
        return self.codec.LEASE

    def observe(self, tables: Tables) -> bool:
        """Follow what the daemon's sweep has done. Whether it has ended every session that is over."""
        for client, account in list(self.accounts.items()):
            state = tables["session"][client]["state"]
            if account.is_doomed and state == "Vacant":
                del self.accounts[client]
                self.revoke(client)
            elif account.is_overdue and state == "Closing":  # a daemon died over it
                account.is_closing = True
        return not any(account.is_doomed for account in self.accounts.values())

    def is_fading(self, client: int) -> bool:
        """Whether a sweep may have taken back some of what a session held, and not yet all."""
        account = self.accounts.get(client)
        return account is not None and account.is_doomed

    def session_complaints(self, tables: Tables) -> list[str]:
        """Where the sessions' cells are not as they should be."""
        found = []
        for client, cell in enumerate(tables["session"]):
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
            if account.answer is not None and cell["outcome"].upper() != account.answer:
                found.append(f"session {client} remembers {cell['outcome']} and should remember {account.answer}")
        return found
