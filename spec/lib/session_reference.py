"""What a server of the session module should do, in plain Python: the reference that fuzzing compares with.

It knows nothing of sections, retries of a compare-and-swap or the way a request takes: a request is
executed once, in the order of sequence numbers, for whoever knows the secret. What the requests mean
is the protocol's: a subclass says which outcomes are right and what each changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegen.c_names import upper
from spec.lib.session_client import Session

OPENING = frozenset({"ASK", "OPEN"})
"""What a client without a session sends."""

OWN = OPENING | {"RENEW", "CLOSE"}
"""What clients ask of sessions, whatever the protocol."""

Tables = Mapping[str, Sequence[Mapping[str, Any]]]
"""The cells of each table, as the kernel has them."""


@dataclass
class Account:
    """A session as it should be.

    answer: to the last request; None while that waits for the daemon. `said` is the whole of it.
    is_closing: it was closed, and what it held is being taken back.
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
    """The next datagram of a client that has no session and waits for nothing, with a word on what it is."""
    sequence = choice * 7919 + now_ns
    if session.is_invited:
        return "Open", session.open(sequence, now_ns)
    return "Ask", session.ask(choice % capacity, sequence, now_ns)


class SessionReference:
    """All sessions of a server."""

    requests: frozenset[str] = frozenset()
    """The protocol's own kinds of request."""

    reads: frozenset[str] = frozenset()
    """Those that change nothing, and have no place in the sequence."""

    def __init__(self, codec: Any, capacities: Mapping[str, int]) -> None:
        self.codec = codec
        self.capacities = capacities
        self.executes_again: bool = codec.EXECUTES_AGAIN
        self.accounts: dict[int, Account] = {}
        self.secrets: dict[int, bytes] = {}
        # all that were given away: whoever shows one is invited. All clients have one address
        self.tokens: set[bytes] = set()

    # --- What the protocol says ---------------------------------------------------------------

    def outcomes(self, message: Any) -> set[str]:
        """The right answers to a request that is executed now."""
        raise NotImplementedError

    def apply(self, message: Any, outcome: str) -> None:
        """A request was executed and had this outcome."""
        raise NotImplementedError

    def wrong_answer(self, _message: Any, _answer: Any) -> list[str]:
        """What is wrong, beside its kind, with the answer to a request or a read that is executed now."""
        return []

    def wrong_memory(self, _said: Any, _answer: Any) -> list[str]:
        """What is wrong with the answer to a request that was sent again after it had been answered."""
        return []

    def needs_daemon(self, _message: Any) -> bool:
        """Whether a request or read may wait for the daemon."""
        return True

    def revoke(self, client: int) -> None:
        """A session ended: take back what it held."""
        raise NotImplementedError

    def meets_sweep(self, _message: Any) -> bool:
        """Whether what comes of a message that waits for the daemon depends on which comes first, it or the daemon's
        sweep.
        """
        return False

    # --- Requests -----------------------------------------------------------------------------

    def expect(self, message: Any) -> set[str]:
        """The kinds of answer that may come to a message that is delivered now; none where it must be dropped."""
        kind, account = message.kind.name, self.accounts.get(message.client)
        if message.client >= self.capacities["session"]:
            return set()
        if kind == "ASK":
            return {"INVITED"} if message.secret == self.codec.TERMS else {"OTHER_TERMS"}
        if kind == "OPEN" and account is not None:
            return {"TAKEN"}
        if kind == "OPEN":
            return {"OPENED"} if message.secret in self.tokens else {"UNINVITED"}
        if message.secret != self.secrets.get(message.client, bytes(8)):
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
        """Whether a message that was not answered yet is executed now: it is the next, or it waited for the daemon."""
        if account.answer is None and message.sequence == account.sequence:
            return self.executes_again or message.kind.name in self.requests
        in_order = message.sequence == (account.sequence + 1) % self.codec.SEQUENCE_MODULUS
        return in_order and (self.executes_again or account.answer is not None)

    def has_waited(self, message: Any) -> bool:
        """Whether a request was left to the daemon before, and may be answered late: by what was to be seen then."""
        account = self.accounts.get(message.client)
        return account is not None and account.answer is None and message.sequence == account.sequence

    def answered(self, message: Any, answer: Any) -> list[str]:
        """A message got one of the answers that `expect` gave. Returns what is wrong with the rest of the answer."""
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
        """No answer came to a message that should have one. Whether that is right while the daemon is down."""
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
            if account.answer is not None and upper(cell["outcome"]) != account.answer:
                found.append(f"session {client} remembers {cell['outcome']} and should remember {account.answer}")
        return found

    def left_over(self, tables: Tables) -> list[str]:
        """What must not be there when a load is over, told by a reference that saw nothing of it."""
        return self.complaints(tables)
