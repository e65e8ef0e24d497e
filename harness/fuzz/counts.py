"""What a protocol's counters say, by the verdicts of the leaves that they are named after."""

from __future__ import annotations

from collections import Counter

from codegen import ir


def leaf_verdicts(body: ir.Body) -> dict[str, str]:
    """The verdict of every leaf of a step, by the leaf's name."""
    match body:
        case ir.Leaf():
            return {body.name: body.verdict}
        case ir.Decide():
            return leaf_verdicts(body.then) | leaf_verdicts(body.otherwise)
        case ir.Bind():
            return leaf_verdicts(body.body)
    raise TypeError(f"no step's body: {body}")


def hook_verdicts(sections: tuple[ir.Section, ...]) -> dict[str, str]:
    """The verdict that each counter of a hook counts."""
    return {
        counter_name(section.step.name, leaf): verdict
        for section in sections
        for leaf, verdict in leaf_verdicts(section.step.body).items()
    }


def counter_name(step: str, leaf: str) -> str:
    """The counter of a leaf."""
    return leaf if leaf.startswith(f"{step}.") else f"{step}.{leaf}"


def rare_share(protocol: ir.Protocol, counters: Counter[str]) -> float:
    """The share of our packets that went from XDP to the daemon."""
    verdicts = hook_verdicts(protocol.xdp)
    counted = {name: value for name, value in counters.items() if name in verdicts}
    rare = sum(value for name, value in counted.items() if verdicts[name] == "Forward")
    return rare / max(sum(counted.values()), 1)
