"""Joins conditions with `&&` and `||`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from codegen.emit.c_text import AND, EQUALITY, OR, Text
from codegen.emit.step_context import StepContext


def joined(context: StepContext, op: str, operands: Sequence[Callable[[], Text]]) -> Text:
    """Joins operands in order. The statements of an operand go inside an `if`."""
    symbol, precedence = ("&&", AND) if op == "and" else ("||", OR)
    # Compilers warn about && within || even though the precedence is clear.
    # Readers would have to know the precedence of the bit operators.
    within = EQUALITY
    first = operands[0]()
    if len(operands) == 1:
        return first
    parts = [first.at(within)]
    for operand in operands[1:]:
        value, statements = context.captured(operand)
        if statements:
            local = context.fresh("holds")
            context.lines.define(f"bool {local}", f" {symbol} ".join(parts))
            with context.lines.block(f"if ({local if op == 'and' else '!' + local})"):
                context.lines.extend(statements)
                context.lines.add(f"{local} = {value};")
            parts = [local]
        else:
            parts.append(value.at(within))
    if len(parts) == 1:
        return Text(parts[0])
    return Text(f" {symbol} ".join(parts), precedence)
