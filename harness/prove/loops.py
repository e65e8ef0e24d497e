"""Runs loops of many rounds by induction: see folds.py.

In a loop that is understood, each register that a round changes is one of these:

- a number or an address that grows by the same amount in each round
- a count, which grows by one in some rounds
- something that each round writes before it reads it

Whether a round leaves the loop may depend on the first kind only. All of this is shown by Z3 for one round at any
place, so it holds for all rounds. Nothing is written to memory. Any other loop is unsupported.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

import z3

from harness.prove import folds, terms
from harness.prove.bytecode import ALU32, JUMP32, JUMP64, STORE, STORE_IMMEDIATE, Function
from harness.prove.folds import NUMBER, PLACE, Fold, Folds
from harness.prove.memory import UNDEFINED, Memory, Pointer, Unsupported, Value
from harness.prove.solving import variables
from harness.prove.terms import Bits, Truth
from harness.prove.ways import Graph, State, meet

Feasible = Callable[[tuple[Truth, ...]], bool]
Block = Callable[[int, State], list[tuple[int | None, State]]]
Way = tuple[Truth, ...]


@dataclass(frozen=True)
class Around:
    """All ways through one round: those that come back, met, and those that leave."""

    back: State
    exits: tuple[tuple[int | None, State], ...]


@dataclass(frozen=True)
class Counter:
    """A register that counts rounds. start: its value before the first. variable: its value before any one."""

    start: Bits
    variable: Bits
    condition: Truth

    def before_last(self, total: Fold) -> Bits:
        """Its value before the last round."""
        last = terms.bits(total.rounds - 1, folds.NUMBER_BITS)
        one = terms.widen(terms.truth_bit(cast(Truth, folds.at(self.condition, last))), self.start.size())
        number = terms.extract(total.wide, self.start.size() - 1, 0)
        return terms.subtract(terms.add(self.start, number), one)


class Loops:
    """The loops of one function. rounds: the numbers of rounds that a loop may have.

    block: runs a block. feasible: whether conditions may hold together.
    """

    def __init__(
        self, function: Function, graph: Graph, rounds: tuple[int, ...], known: Folds, block: Block, feasible: Feasible
    ) -> None:
        self._function = function
        self._graph = graph
        self._rounds = rounds
        self._folds = known
        self._block = block
        self._feasible = feasible
        self._bodies = graph.loops()
        self._fresh = 0

    def begins(self, block: int) -> bool:
        """Whether a loop begins at a block."""
        return block in self._bodies

    def left(self, head: int, state: State) -> list[tuple[int | None, State]]:
        """The ways out of a loop, from the state before its first round."""
        changed = self._changed(head)
        strides, counted = self._kinds(head, state, changed)
        for rounds in self._rounds:
            found = self._with(head, state, changed, strides, counted, rounds)
            if found is not None:
                return found
        raise Unsupported(f"a loop that has neither {' nor '.join(map(str, self._rounds))} rounds")

    def _changed(self, head: int) -> list[int]:
        """The registers that a round may change."""
        found = set()
        for start in self._bodies[head]:
            for at in self._graph.inside(start):
                instruction = self._function.instructions[at]
                assert instruction is not None
                if instruction.family in (STORE, STORE_IMMEDIATE):
                    raise Unsupported("a loop of many rounds that writes memory")
                if instruction.family not in (JUMP32, JUMP64):
                    found.add(instruction.destination)
        return sorted(found)

    # --- One round -------------------------------------------------------------------------------------

    def _around(self, head: int, state: State) -> Around:
        """Runs one round."""
        body = self._bodies[head]
        waiting: dict[int, list[State]] = {head: [state]}
        backs: list[State] = []
        exits: list[tuple[int | None, State]] = []
        done = set()
        while waiting:
            start = min(waiting, key=self._graph.order.__getitem__)
            if start in done or (start != head and self.begins(start)):
                raise Unsupported("a loop of many rounds with a loop in it")
            done.add(start)
            for target, after in self._block(start, meet(waiting.pop(start))):
                if target == head:
                    backs.append(after)
                elif target is None or target not in body:
                    exits.append((target, after))
                else:
                    waiting.setdefault(target, []).append(after)
        if not backs:
            raise Unsupported("a loop of many rounds without a second one")
        return Around(meet(backs), tuple(exits))

    def _variable(self, like: Value, narrow: bool) -> tuple[Value, Bits]:
        """A register of which nothing is known, and the variable in it."""
        self._fresh += 1
        name = f"loop.{self._fresh}"
        if isinstance(like, Pointer):
            offset = terms.variable(name, 64)
            return Pointer(like.region, offset), offset
        variable = terms.variable(name, 32 if narrow else 64)
        return terms.widen(variable, 64), variable

    def _kinds(self, head: int, state: State, changed: list[int]) -> tuple[dict[int, int], list[int]]:
        """How much each register grows in a round, and which may be counts: a guess that _with() proves."""
        trial, symbols = list(state.registers), {}
        for register in changed:
            if isinstance(trial[register], (Pointer, z3.BitVecRef)):
                narrow = not isinstance(trial[register], Pointer) and self._is_narrow(head, register)
                trial[register], symbols[register] = self._variable(trial[register], narrow)
        anywhere = {name: replace(each, anywhere=True) for name, each in state.memory.regions.items()}
        memory = Memory(anywhere, state.memory.contents)
        back = self._around(head, State(trial, memory, state.way)).back
        strides, counted = {}, []
        for register, variable in symbols.items():
            after = _bits(back.registers[register], trial[register])
            if after is None:
                continue
            grown = z3.simplify(terms.extract(after, variable.size() - 1, 0) - variable)
            if z3.is_bv_value(grown) and variable.size() == 64:
                strides[register] = cast(z3.BitVecNumRef, grown).as_long()
            elif variable.decl().name() in variables(after) and not isinstance(trial[register], Pointer):
                with suppress(Unsupported):  # it need not be a count, if no round reads it
                    self._counter(state.registers[register], after, variable, back.way)
                    counted.append(register)
        return strides, counted

    def _is_narrow(self, head: int, register: int) -> bool:
        """Whether only arithmetic of 32 bits changes a register."""
        instructions = [
            self._function.instructions[at] for each in self._bodies[head] for at in self._graph.inside(each)
        ]
        changes = [each for each in instructions if each is not None and each.destination == register]
        return all(each.family in (ALU32, JUMP32, JUMP64) for each in changes)

    # --- All rounds ------------------------------------------------------------------------------------

    def _with(
        self, head: int, state: State, changed: list[int], strides: dict[int, int], counted: list[int], rounds: int
    ) -> list[tuple[int | None, State]] | None:
        """The ways out of a loop of so many rounds; None if it has another number of them."""
        registers, counters = list(state.registers), dict[int, Bits]()
        for register in changed:
            first = registers[register]
            if register in strides:
                registers[register] = _grown(first, strides[register], PLACE)
            elif register in counted:
                registers[register], counters[register] = self._variable(first, self._is_narrow(head, register))
            else:
                registers[register] = UNDEFINED
        prefix = (*state.way, folds.within(rounds))
        around = self._around(head, State(list(registers), state.memory, prefix))
        last = terms.equal(NUMBER, terms.bits(rounds - 1, folds.NUMBER_BITS))
        stay = terms.all_of(around.back.way[len(prefix) :])
        if self._feasible((*prefix, stay, last)):
            return None
        ends = [each for each in around.exits if not self._feasible((*_way(each), terms.negated(last)))]
        early = [each for each in around.exits if not any(each is end for end in ends)]
        if len(ends) != 1:
            return None
        for register, stride in strides.items():
            wanted = _grown(state.registers[register], stride, terms.add(PLACE, terms.bits(1, 64)))
            self._demand((*prefix, stay), around.back.registers[register], wanted)
        found = {
            register: self._counter(
                state.registers[register], around.back.registers[register], variable, (*prefix, stay)
            )
            for register, variable in counters.items()
        }
        return self._ways(state, len(prefix), rounds, ends[0], early, found)

    def _ways(
        self,
        state: State,
        prefix: int,
        rounds: int,
        end: tuple[int | None, State],
        early: list[tuple[int | None, State]],
        counters: dict[int, Counter],
    ) -> list[tuple[int | None, State]]:
        leaves = terms.any_of([terms.all_of(each.way[prefix:]) for _, each in early])
        self._independent([leaves, *(each.condition for each in counters.values())])
        never = self._never(state.way)
        out: list[tuple[int | None, State]] = []
        stays: Way = state.way
        if early:
            search = self._folds.search(leaves, rounds, never)
            stays = (*stays, terms.negated(search.found))
            for target, each in early:
                more = (
                    ()
                    if len(early) == 1
                    else tuple(cast(Truth, folds.at(one, search.number)) for one in each.way[prefix:])
                )
                pairs = [(NUMBER, search.number)]
                registers = [_replaced(value, pairs, set(counters.values())) for value in each.registers]
                out.append((target, State(registers, state.memory.copy(), (*state.way, search.found, *more))))
        pairs = [(NUMBER, terms.bits(rounds - 1, folds.NUMBER_BITS))]
        for counter in counters.values():
            pairs.append((counter.variable, counter.before_last(self._folds.count(counter.condition, rounds, never))))
        registers = [_replaced(value, pairs, set()) for value in end[1].registers]
        out.append((end[0], State(registers, state.memory.copy(), stays)))
        return [each for each in out if self._feasible(_way(each))]

    def _never(self, way: Way) -> folds.Same:
        return lambda condition, rounds: not self._feasible((*way, folds.within(rounds), condition))

    def _demand(self, way: Way, found: Value, wanted: Value) -> None:
        """Shows that a register has a value after a round."""
        one, other = _bits(found, wanted), _bits(wanted, found)
        if one is None or other is None or self._feasible((*way, terms.negated(terms.equal(one, other)))):
            raise Unsupported("a loop of many rounds that changes a register in a way that is not understood")

    def _counter(self, start: Value, after: Value, variable: Bits, way: Way) -> Counter:
        size = variable.size()
        if not isinstance(start, z3.BitVecRef) or not isinstance(after, z3.BitVecRef):
            raise Unsupported("a loop of many rounds that counts with something that is not a number")
        zero = cast(Bits, z3.substitute(after, (variable, terms.bits(0, size))))
        condition = terms.negated(terms.equal(zero, terms.bits(0, 64)))
        grown = terms.add(variable, terms.widen(terms.truth_bit(condition), size))
        self._demand(way, after, terms.widen(grown, 64))
        high = terms.extract(start, 63, size) if size < 64 else terms.bits(0, 1)
        self._demand(way, high, terms.bits(0, high.size()))
        return Counter(terms.extract(start, size - 1, 0), variable, condition)

    def _independent(self, conditions: list[Truth]) -> None:
        """Shows that conditions depend on the place, and on nothing else that changes."""
        for each in conditions:
            if any(name.startswith("loop.") for name in variables(each)):
                raise Unsupported("a loop of many rounds that depends on what it counts")


def _way(leaving: tuple[int | None, State]) -> Way:
    return leaving[1].way


def _bits(value: Value, like: Value) -> Bits | None:
    """The number, or the offset in the same region."""
    if isinstance(value, Pointer) and isinstance(like, Pointer) and value.region == like.region:
        return value.offset
    if isinstance(value, z3.BitVecRef) and isinstance(like, z3.BitVecRef):
        return value
    return None


def _grown(first: Value, stride: int, rounds: Bits) -> Value:
    by = terms.multiply(rounds, terms.bits(stride, 64))
    if isinstance(first, Pointer):
        return Pointer(first.region, terms.add(first.offset, by))
    return terms.add(cast(Bits, first), by)


def _replaced(value: Value, pairs: list[tuple[Bits, Bits]], unknown: set[Counter]) -> Value:
    """A register with variables replaced; undefined if it has some of which nothing is known."""
    term = value.offset if isinstance(value, Pointer) else value
    if not isinstance(term, z3.BitVecRef):
        return value
    if not variables(term).isdisjoint(each.variable.decl().name() for each in unknown):
        return UNDEFINED
    replaced = cast(Bits, z3.substitute(term, *pairs))
    return Pointer(value.region, replaced) if isinstance(value, Pointer) else replaced
