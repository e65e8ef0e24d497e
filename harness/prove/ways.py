"""The ways through a function: where they part and meet, and the states on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import z3

from harness.prove import terms
from harness.prove.bytecode import CALL, EXIT, JA, JUMP32, JUMP64, Function
from harness.prove.memory import Memory, Unsupported, Value, join, merged
from harness.prove.terms import Truth


@dataclass
class State:
    """Registers and memory on a way through the function. way: the conditions under which it is taken."""

    registers: list[Value]
    memory: Memory
    way: tuple[Truth, ...] = ()


class Graph:
    """The blocks of a function, by their first instructions. order: each after all from which it can be reached.

    In a loop, that is so if the way back is left out.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._follow = _jumps(function)
        starts = {0}.union(*self._follow.values())
        self._next = {start: self._end(start, starts) for start in starts}
        self.order = self._ordered()

    def _end(self, start: int, starts: set[int]) -> list[int]:
        """The blocks that follow a block."""
        at = start
        while at not in self._follow:
            at = self._after(at)
            if at in starts:
                return [at]
        return self._follow[at]

    def _after(self, at: int) -> int:
        """The next instruction."""
        instructions = self._function.instructions
        at += 1 if at + 1 >= len(instructions) or instructions[at + 1] is not None else 2
        if at >= len(instructions):
            raise Unsupported("the function runs beyond its end")
        return at

    def inside(self, start: int) -> Iterator[int]:
        """The instructions of a block."""
        at = start
        yield at
        while at not in self._follow:
            at = self._after(at)
            if at in self.order:
                return
            yield at

    def _ordered(self) -> dict[int, int]:
        placed: list[int] = []
        begun = {0}
        stack = [(0, iter(self._next[0]))]
        while stack:
            block, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                placed.append(block)
                stack.pop()
            elif following not in begun:
                begun.add(following)
                stack.append((following, iter(self._next[following])))
        return {block: at for at, block in enumerate(reversed(placed))}

    def loops(self) -> dict[int, set[int]]:
        """The blocks of each loop, by its first block."""
        before: dict[int, set[int]] = {}
        for block in self.order:
            for following in self._next[block]:
                before.setdefault(following, set()).add(block)
        found: dict[int, set[int]] = {}
        for block in self.order:
            for head in self._next[block]:
                if self.order[head] <= self.order[block]:
                    body, todo = found.setdefault(head, {head}), [block]
                    while todo:
                        each = todo.pop()
                        if each not in body:
                            body.add(each)
                            todo += before.get(each, ())
        return found


def _jumps(function: Function) -> dict[int, list[int]]:
    """The places to which each jump may go."""
    found: dict[int, list[int]] = {}
    for at, instruction in enumerate(function.instructions):
        if instruction is not None and instruction.family in (JUMP64, JUMP32):
            found[at] = []
            if instruction.operation not in (EXIT, CALL):
                found[at].append(at + 1 + instruction.offset)
                if instruction.operation != JA:
                    found[at].append(at + 1)
    return found


def meet(states: list[State]) -> State:
    """One state for several ways. The two with the longest common beginning meet first."""
    states = list(states)
    while len(states) > 1:
        pairs = [(at, other) for at in range(len(states)) for other in range(at + 1, len(states))]
        at, other = max(pairs, key=lambda pair: _common(states[pair[0]].way, states[pair[1]].way))
        second = states.pop(other)
        states[at] = _met(states[at], second)
    return states[0]


def _common(left: tuple[Truth, ...], right: tuple[Truth, ...]) -> int:
    length = 0
    for one, other in zip(left, right):
        if not one.eq(other):
            break
        length += 1
    return length


def _met(left: State, right: State) -> State:
    common = _common(left.way, right.way)
    one, other = left.way[common:], right.way[common:]
    if one and other and terms.negated(one[0]).eq(other[0]):
        selector = one[0]
        rest = terms.all_of(
            [
                terms.implied(one[0], terms.all_of(one[1:])),
                terms.implied(other[0], terms.all_of(other[1:])),
            ]
        )
    else:
        selector = terms.all_of(one)
        rest = terms.any_of([selector, terms.all_of(other)])
    way = left.way[:common] if z3.is_true(rest) else (*left.way[:common], rest)
    registers = [merged(selector, a, b) for a, b in zip(left.registers, right.registers)]
    return State(registers, join(selector, left.memory, right.memory), way)
