"""Checks that the daemon and tc drop the kinds of messages that cannot properly reach them.

The daemon gets the messages that xdp forwards, and tc gets the replies of the user hook. A message that reaches
one of them in another way has whatever fields its sender wrote. So both hooks are checked, for each enum field on
the wire. The user hook must drop messages with a member that xdp cannot forward, and must not change a cell for
them. The same holds for tc and the members that the user hook cannot reply with.
"""

from __future__ import annotations

from codegen import ir
from codegen.analysis.message_kinds import Members, Turn, anything, turns
from codegen.analysis.step_facts import Steps
from codegen.errors import Errors, StepSignature
from codegen.layout.resolve import Resolved
from codegen.layout.sections import SectionPlan


def check(resolved: Resolved, steps: Steps, errors: Errors) -> None:
    """Refuses a user hook or a tc hook that does more than Drop a message that the hook before it never passes on."""
    if not resolved.user:
        return
    forwarded = _forwarded(resolved, steps)
    _check_hook(resolved, steps, resolved.user, forwarded, "but no section of xdp forwards these", errors)
    _check_hook(
        resolved,
        steps,
        resolved.tc,
        _replied(resolved, steps, forwarded),
        "but no section of user replies with these",
        errors,
    )


def _on_the_wire(resolved: Resolved) -> Members:
    """Returns the enum fields on the wire, each with all of its members."""
    fields = (*resolved.layout.wire.order, *resolved.layout.handover)
    return {name: members for name, members in anything(resolved).items() if name in fields}


def _forwarded(resolved: Resolved, steps: Steps) -> Members:
    """Returns the members that the daemon may see in a message that xdp forwards.

    The daemon sees the packet as it arrived, except for the fields that xdp writes into it. Other changes that
    sections make to the message do not reach the packet.
    """
    layout = resolved.layout
    written = (*layout.handover, *layout.forwards)
    # A field of the handover is zero on arrival: the first member.
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
    """Returns the members that the user hook may reply with to forwarded messages."""
    found: Members = {name: frozenset() for name in forwarded}
    for turn in turns(resolved, steps, resolved.user, {**anything(resolved), **forwarded}):
        for end in (end for end in turn.ends if end.leaf.verdict == "Reply"):
            found = {name: members | end.message[name] for name, members in found.items()}
    return found


def _check_hook(
    resolved: Resolved, steps: Steps, hook: list[SectionPlan], let_through: Members, why: str, errors: Errors
) -> None:
    """Reports each section of a hook that acts on messages that cannot properly reach the hook.

    hook: the user hook or tc.
    let_through: the members that properly reach the hook.
    why: the end of the error's text, about all other members.
    """
    for name, members in let_through.items():
        found: dict[tuple[ir.Span, str], list[str]] = {}
        for member in (member for member in _members(resolved, name) if member not in members):
            acts = (
                _acts(turn) for turn in turns(resolved, steps, hook, {**anything(resolved), name: frozenset({member})})
            )
            # Report only the first section that acts: a Drop there, or before, is enough.
            for act in next(filter(None, acts), []):
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
    """Returns what a section does beside Drop and Continue, and where.

    Forward needs no check: tc treats it as Drop, and a user hook cannot say it.
    """
    replies = [(end.leaf.span, f"{turn.plan.step} replies to") for end in turn.ends if end.leaf.verdict == "Reply"]
    changes = [(end.leaf.cell[0].span, f"{turn.plan.step} changes its cell for") for end in turn.ends if end.leaf.cell]
    return list(dict.fromkeys([*replies, *changes]))


def _members(resolved: Resolved, name: str) -> tuple[str, ...]:
    """Returns the members of an enum field, in the layout's order."""
    return ir.expect(resolved.message.field(name), ir.Enum).members


def _either(members: list[str]) -> str:
    *others, last = members
    return f"{', '.join(others)} or {last}" if others else last
