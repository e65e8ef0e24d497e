"""Shows a counterexample as a sequence of messages: who sent what to whom, and what changed.

The module knows the variables of the frame (spec/lib/Frame.tla), but no protocol. The model records its last event in
`event`. The difference of two states shows the effect on the cells and on the rest of the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.tla.notation import Mapping, parse, show
from harness.tla.tlc import Outcome, State

# Variables of the frame itself: the reader sees them as messages and steps.
_FRAME_VARIABLES = {"event", "runs", "sweep", "requests", "forwarded", "completions", "answers"}


@dataclass
class Step:
    """One step of a counterexample.

    source, target: lifelines; equal if nothing is sent. title: what happened. sent: the message from source to target.
    changes: for example `lock[0].mode: Free -> Shared`.
    """

    number: int
    source: str
    target: str
    title: str
    sent: str = ""
    changes: list[str] = field(default_factory=list)


def _name(place: Any) -> str:
    """Names a place of the model, such as "sweep" or <<"client", 0>>."""
    if isinstance(place, tuple):
        return " ".join(str(part) for part in place)
    return str(place)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else show(value)


def message_text(message: Mapping, blank: Mapping) -> str:
    """Shows a message on one line: its kind, then every other field that is not blank."""
    parts = [_plain(message["kind"])] if "kind" in message else []
    parts += [f"{name}={_plain(value)}" for name, value in message.items() if name != "kind" and value != blank[name]]
    return " ".join(parts)


def differences(before: Any, after: Any, path: str) -> Iterator[str]:
    """Yields the differences between two values, leaf by leaf."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            label = f".{key}" if isinstance(key, str) else f"[{_plain(key)}]"
            yield from differences(before[key], after[key], path + label)
        return
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True), start=1):
            yield from differences(old, new, f"{path}[{index}]")
        return
    yield f"{path}: {_plain(before)} -> {_plain(after)}"


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    found = []
    for name, value in after.items():
        if name not in _FRAME_VARIABLES:
            for text in differences(before[name], value, name):
                found.append(text.removeprefix("cells."))
    return found


def _step(number: int, event: Mapping, blank: Mapping, changes: list[str]) -> list[Step]:
    """Returns the arrows of one event. A section that ends its run also sends."""
    source, target, what = event["from"], event["to"], event["step"]
    given, message, verdict = event["given"], event["message"], event["verdict"]
    text = message_text(message, blank)
    if verdict == "":
        if source == target or not text or message == blank:
            return [Step(number, _name(source), _name(source), what, changes=changes)]
        return [Step(number, _name(source), _name(target), what, text, changes)]
    if what == "UserStep":
        return [Step(number, "daemon", "TC", f"decides: {verdict}", text, changes)]
    hook = source[0] if isinstance(source, tuple) else source
    cell = f"{target[0]}[{_plain(target[1])}]"
    title = f"{what} on {cell}: {verdict}"
    if isinstance(source, tuple):
        title = f"for client {_plain(source[1])}: {title}"
    if given.get("kind") != message.get("kind"):
        title += f", {given['kind']} -> {message['kind']}"
    steps = [Step(number, hook, hook, title, changes=changes)]
    if verdict == "Reply":
        steps.append(Step(number, hook, f"client {_plain(source[1])}", "answers", text))
    elif verdict == "Forward" and hook == "XDP":
        steps.append(Step(number, hook, "daemon", "passes", message_text(given, blank)))
    return steps


def steps_of(outcome: Outcome) -> list[Step]:
    """Turns a trace into steps. If a model keeps no `event`, a step shows the action's name instead."""
    steps: list[Step] = []
    states = [_values(state) for state in outcome.trace]
    for state, before, after in zip(outcome.trace[1:], states, states[1:], strict=False):
        changes = _changes(before, after)
        event = after.get("event")
        if not isinstance(event, Mapping):
            steps.append(Step(state.number - 1, "model", "model", state.action, changes=changes))
        else:
            steps += _step(state.number - 1, event, states[0]["event"]["message"], changes)
    if outcome.loop is not None and outcome.trace:
        if outcome.loop == outcome.trace[-1].number:
            text = "from here on, the event that this property waits for never happens"
        else:
            text = f"and this repeats for ever, from step {outcome.loop}"
        steps.append(Step(len(outcome.trace), "model", "model", text))
    return steps


def _values(state: State) -> dict[str, Any]:
    return {name: parse(text) for name, text in state.variables.items()}


def as_text(steps: list[Step]) -> str:
    """Formats steps for a terminal: one line a step, its changes below it."""
    lines = []
    previous = None
    for step in steps:
        number = f"{step.number:3}" if step.number != previous else "   "
        previous = step.number
        if step.source == step.target:
            lines.append(f"{number}  {step.source:<10} {step.title}")
        else:
            lines.append(f"{number}  {step.source} -> {step.target}: {step.sent}")
        lines += [f"{'':16} {change}" for change in step.changes]
    return "\n".join(lines)
