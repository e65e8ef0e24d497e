"""Opens sessions without a server: the server's answers are made up."""

from __future__ import annotations

from typing import Any

from spec.lib.live.session_client import Session

SECRET = b"12345678"
TOKEN = b"invited."


def answer_to(codec: Any, datagram: bytes, kind: str, **changes: object) -> bytes:
    """Returns a server's answer to a request."""
    message = codec.Message.decode(datagram)
    message.kind = codec.Kind[kind]
    for name, value in changes.items():
        setattr(message, name, value)
    return message.encode()


def invited(session: Session, number: int, now_ns: int = 0) -> Any:
    """Returns the session."""
    request = session.ask(number, 1, now_ns)
    assert session.receive(answer_to(session.codec, request, "INVITED", secret=TOKEN), now_ns) is not None
    return session


def opened(session: Session, number: int, sequence: int, now_ns: int = 0, answered_ns: int = 0) -> Any:
    """Returns the session."""
    request = invited(session, number, now_ns).open(sequence, now_ns)
    assert (
        session.receive(answer_to(session.codec, request, "OPENED", secret=SECRET), answered_ns or now_ns) is not None
    )
    return session
