"""Kinds of messages that never come to the daemon, or to tc: there, every section must let them be.

The daemon gets what xdp forwards, and tc what the user hook replies. Should a message reach one of them by
another way, its fields are whatever its sender wrote. So of each field on the wire that is an enum, the user
hook must end with Drop, and no section of it change its cell, for the members that xdp cannot forward; likewise
tc, for those that the user hook cannot reply with.
"""

from __future__ import annotations

from codegen import ir
from codegen.arriving import Members, Turn, anything, turns
from codegen.errors import Errors, StepSignature
from codegen.resolve import Resolved
from codegen.sections import SectionPlan

Steps = dict[str, ir.Step]


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Refuses a user hook or tc that does more than Drop with a message which none before it lets through."""
    if not resolved.user:
        return
    forwarded = _forwarded(resolved, steps)
    _check_hook(resolved, steps, resolved.user, forwarded, "which no section of xdp forwards", errors)
    _check_hook(
        resolved,
        steps,
        resolved.tc,
        _replied(resolved, steps, forwarded),
        "with which no section of user replies",
        errors,
    )


def _on_the_wire(resolved: Resolved) -> Members:
    """What any packet may be: of the fields that it has, those that are enums."""
    fields = (*resolved.layout.wire.order, *resolved.layout.handover)
    return {name: members for name, members in anything(resolved).items() if name in fields}


def _forwarded(resolved: Resolved, steps: Steps) -> Members:
    """What the daemon may see of a message that xdp forwards.

    It sees the packet as it came, whatever sections have made of the message; but for what xdp writes into it.
    """
    layout = resolved.layout
    written = (*layout.handover, *layout.forwards)
    # zero
    arrives = {
        name: frozenset(list(_members(resolved, name))[:1]) for name in anything(resolved) if name in layout.handover
    }
    found: Members = {name: frozenset() for name in _on_the_wire(resolved)}
    for name in found:
        for member in sorted(arrives.get(name, _on_the_wire(resolved)[name])):
            message = {**anything(resolved), **arrives, name: frozenset({member})}
            for turn in turns(resolved, steps, resolved.xdp, message):
                for end in (end for end in turn.ends if end.leaf.verdict == "Forward"):
                    found[name] |= end.message[name] if name in written else {member}
    return found


def _replied(resolved: Resolved, steps: Steps, forwarded: Members) -> Members:
    """What the user hook may reply with to what is forwarded."""
    found: Members = {name: frozenset() for name in forwarded}
    for turn in turns(resolved, steps, resolved.user, {**anything(resolved), **forwarded}):
        for end in (end for end in turn.ends if end.leaf.verdict == "Reply"):
            found = {name: members | end.message[name] for name, members in found.items()}
    return found


def _check_hook(
    resolved: Resolved, steps: Steps, hook: list[SectionPlan], let_through: Members, why: str, errors: Errors
) -> None:
    """hook: the user hook or tc. let_through: what comes to it the way that it should. why: of all others, the
    end of the message.
    """
    for name, members in let_through.items():
        found: dict[tuple[ir.Span, str], list[str]] = {}
        for member in (member for member in _members(resolved, name) if member not in members):
            acts = (
                _acts(turn) for turn in turns(resolved, steps, hook, {**anything(resolved), name: frozenset({member})})
            )
            for act in next(filter(None, acts), []):  # the first section that does: a Drop there, or before, is enough
                found.setdefault(act, []).append(member)
        for (span, does), acted_on in found.items():
            errors.add(
                StepSignature(
                    span,
                    f"{does} messages whose {name} is {_either(acted_on)}, {why}",
                    "end with Drop for them, here or in a section before",
                )
            )


def _acts(turn: Turn) -> list[tuple[ir.Span, str]]:
    """What a section does beside Drop and Continue, and where. (Forward is a Drop in tc, and no verdict of a
    user hook.)
    """
    replies = [(end.leaf.span, f"{turn.plan.step} replies to") for end in turn.ends if end.leaf.verdict == "Reply"]
    changes = [(end.leaf.cell[0].span, f"{turn.plan.step} changes its cell for") for end in turn.ends if end.leaf.cell]
    return list(dict.fromkeys([*replies, *changes]))


def _members(resolved: Resolved, name: str) -> tuple[str, ...]:
    """Of a field that is an enum, in the order of the layout."""
    return resolved.message.field(name).members


def _either(members: list[str]) -> str:
    *others, last = members
    return f"{', '.join(others)} or {last}" if others else last
