"""Proves that a step in TLA+ and its function in BPF are equal for all inputs of the layout's types.

A step of TLA+ is a tree of decisions that ends in leaves. For each leaf, the function runs on terms under the leaf's
condition, and Z3 is asked for an input for which verdict, cell or message differ. If there is none, the leaf is proved.
So is the leaf that no input reaches, but it does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import cast

import z3

from codegen import ir
from harness.data.packing import Struct
from harness.prove import solving, terms, values
from harness.prove.bytecode import Function, ObjectFile
from harness.prove.evaluator import Evaluator
from harness.prove.folds import Folds
from harness.prove.inputs import Comparison, Difference, Input, Maker, from_word
from harness.prove.machine import STACK, STACK_SIZE, Machine, Outcome, constant_regions
from harness.prove.memory import Memory, Pointer, Region, Unsupported
from harness.prove.memory import Value as Content
from harness.prove.programs import StepFunction, verdicts
from harness.prove.scopes import Leaf
from harness.prove.solving import Branches, Limit, OutOfTime, Questions, cases_of, variables
from harness.prove.terms import Bits, Truth
from harness.prove.values import Opaque, Table, Value

CHANGED = 4
"""The bit of a step's outcome that says that the cell changed; see runtime/bpf/stepwise_steps.h."""
LEAF = 8
"""The first bit of an outcome that is of the leaf's number. The bits between say that no step ran, and are zero."""
LARGE_SET = 8
SPLITS_MAX = 2
"""How often a question is split into cases, one in the other."""
SPLITS_BY_ITEM = 1
"""How often, if each number of elements of a large set is a case already."""
NO_LEAF = "no input reaches any leaf, so what is assumed of its inputs cannot be"
CELL, MESSAGE, ENVIRONMENT = "cell", "message", "environment"


@dataclass(frozen=True)
class Counterexample:
    """An input for which TLA+ and bytecode differ. differs: the parts that do.

    inputs: the values of its variables, by name. before, after: the bytes of cell, message and environment, as
    hexadecimal. outcome: what the function returns. replayed: where the step was run on it, and what that gave.
    """

    differs: tuple[str, ...]
    inputs: dict[str, int]
    before: dict[str, str]
    after: dict[str, str]
    outcome: int
    replayed: str = ""

    def lines(self) -> list[str]:
        """The input for people: the values that are not zero, one a line for each record."""
        found = []
        for record in (CELL, MESSAGE, ENVIRONMENT):
            names = [name for name in self.inputs if name.startswith(f"{record}.") and ".padding." not in name]
            told = [f"{name.partition('.')[2]} = {self.inputs[name]}" for name in sorted(names) if self.inputs[name]]
            found.append(f"{record}: {', '.join(told) or 'all zero'}")
        return found


@dataclass(frozen=True)
class LeafResult:
    """The result of one leaf. reason: why it is neither proved nor refuted."""

    name: str
    verdict: str
    proved: bool
    seconds: float
    path: tuple[int, ...] = ()
    jumps: int = 0
    reason: str = ""
    counterexample: Counterexample | None = None

    @property
    def arms(self) -> str:
        """The arms of the decisions that lead to the leaf, which prove.yaml names it by."""
        return ".".join(map(str, self.path)) or "0"


@dataclass
class StepResult:
    """The result of a step. reason: why it was not looked at, if it was not."""

    step: str
    seconds: float = 0.0
    leaves: list[LeafResult] = field(default_factory=list)
    reason: str = ""

    @property
    def proved(self) -> bool:
        """Whether every leaf is proved."""
        return not self.reason and bool(self.leaves) and all(leaf.proved for leaf in self.leaves)


@dataclass(frozen=True)
class Setting:
    """The parts that all steps of a protocol share.

    shape: finds the C struct of a tag. objects: the compiled steps, of the programs and of the daemon.
    terms_value: the value of env.terms.
    """

    protocol: ir.Protocol
    shape: Callable[[str, bool], Struct]
    objects: dict[bool, ObjectFile]
    evaluator: Callable[[], Evaluator]
    terms_value: int


class LargeSet(Exception):
    """A leaf depends on a set that is better proved for each number of elements."""

    def __init__(self, name: str, most: int) -> None:
        super().__init__(f"depends on {name}")
        self.name = name
        self.most = most


class StepProof:
    """The proof of one step. counts: the number of elements of some sets; see inputs.Maker.

    kinds: the kinds of the messages that reach the step; all if there are none.
    """

    def __init__(
        self, setting: Setting, step: StepFunction, limit: Limit, counts: Mapping[str, int], kinds: tuple[str, ...] = ()
    ) -> None:
        terms.forget()
        self._folds = Folds()
        self._counts = counts
        self._kinds = kinds
        self._setting = setting
        self._step = step
        self._limit = limit
        self._object = setting.objects[step.daemon]
        self._function: Function = self._object.function(step.function, step.section)
        protocol = setting.protocol
        self._message = self._made(MESSAGE, protocol.message, self._tail())
        self._environment = self._made(ENVIRONMENT, protocol.env, self._terms())
        self._cell: Input | None = None if step.whole else self._made(CELL, step.cell, {})
        self._memory = self._regions()
        self.assumed = [each for one in self._inputs() for each in one.assumed]
        if kinds:
            kind = cast(values.Text, self._message.value.fields["kind"])
            self.assumed.append(terms.any_of([values.is_text(kind, each) for each in kinds]))
        if "index" in dict(protocol.env.fields) and not step.whole:
            index = cast(values.Integer, self._environment.value.fields["index"])
            self.assumed.append(values.less(index, values.integer(step.table.capacity)))
        if protocol.operations is not None:
            position = cast(values.Integer, self._environment.value.fields[ir.POSITION])
            self.assumed.append(values.less(position, values.integer(protocol.operations.max)))

    # --- Inputs ------------------------------------------------------------------------------------------

    def _inputs(self) -> list[Input]:
        return [each for each in (self._cell, self._message, self._environment) if each is not None]

    def _made(self, name: str, kind: ir.Record, given: dict[str, Value]) -> Input:
        tag = {MESSAGE: "message", ENVIRONMENT: "env"}.get(name) or self._step.struct_tag(self._setting.protocol.name)
        return Maker(name, self._counts).made(kind, self._setting.shape(tag, self._step.daemon), given)

    def _tail(self) -> dict[str, Value]:
        tail = self._setting.protocol.tail
        return {tail.field: Opaque(terms.variable("message.tail", 8 * tail.max))} if tail else {}

    def _terms(self) -> dict[str, Value]:
        return {ir.TERMS: Opaque(terms.bits(self._setting.terms_value, 64))}

    def _regions(self) -> Memory:
        regions = {STACK: Region(STACK, STACK_SIZE, -STACK_SIZE)}
        contents = {STACK: {}, **constant_regions(self._object.data)}
        for name, content in self._object.data.items():
            regions[name] = Region(name, len(content), writable=False)
        for name, each in ((CELL, self._cell), (MESSAGE, self._message), (ENVIRONMENT, self._environment)):
            if each is not None:
                regions[name] = Region(name, each.shape.size, writable=name != ENVIRONMENT)
                contents[name] = each.chunks
        if self._step.whole:
            word = z3.Function("table", z3.BitVecSort(64), z3.BitVecSort(64))
            regions[CELL] = Region(CELL, 8 * self._step.table.capacity, writable=False, table=word)
        return Memory(regions, contents)

    def _arguments(self) -> list[Content]:
        return [Pointer(role, terms.bits(0, 64)) for role in self._step.parameters]

    def _values(self, count: int) -> list[Value]:
        """The step's arguments in TLA+."""
        cell: Value
        if self._cell is None:
            word = self._memory.regions[CELL].table
            assert word is not None
            read = word
            cell = Table(lambda index: from_word(self._step.cell, cast(Bits, read(index))), self._step.table.capacity)
        else:
            cell = self._cell.value
        every: list[Value] = [cell, self._message.value, self._environment.value]
        return every[:count]

    # --- The proof -----------------------------------------------------------------------------------------

    def _ends(self) -> list[Leaf]:
        """The ends of the step in TLA+, on the inputs."""
        evaluator = self._setting.evaluator()
        evaluator.folds = self._folds
        return evaluator.leaves(self._step.name, self._values(evaluator.parameters(self._step.name)))

    def _known(self, leaf: Leaf) -> list[Truth]:
        """All that holds for an input which reaches a leaf. A run finds more folds, so more is known after it."""
        return [*self.assumed, *self._folds.facts, *leaf.guard]

    def leaves(self, wanted: set[tuple[int, ...]] | None = None) -> Iterator[LeafResult]:
        """Proves the leaves that some input reaches, or those of some paths."""
        for leaf in self._ends():
            if wanted is None or leaf.path in wanted:
                found = self._leaf(leaf)
                if found is not None:
                    yield found

    def kinds_left(self, verdict: str) -> Iterator[tuple[list[Truth], values.Text]]:
        """The kind that a message has after each leaf with a verdict, under the conditions of the leaf.

        Raises Unsupported if a leaf cannot be evaluated.
        """
        for leaf in self._ends():
            if leaf.reason:
                raise Unsupported(leaf.reason)
            given, message = cast(values.Text, leaf.result.fields["verdict"]), leaf.result.fields["msg"]
            kind = message.fields.get("kind") if isinstance(message, values.Record) else None
            if not isinstance(kind, values.Text):
                raise Unsupported("a message without a kind")
            yield [*self.assumed, *leaf.guard, values.is_text(given, verdict)], kind

    def _leaf(self, leaf: Leaf) -> LeafResult | None:
        """Proves a leaf; None if no input reaches it."""
        began = time.process_time()
        verdict = cast(values.Text, leaf.result.fields["verdict"]).members[0]
        reason, jumps = "", 0
        found: Counterexample | None = None
        if leaf.reason:
            return LeafResult(leaf.name, verdict, False, 0.0, leaf.path, 0, leaf.reason)
        try:
            if Questions(self._known(leaf), self._limit).model([]) is None:
                return None
            jumps, differences = self._run(leaf)
            found = self._refutation(Questions(self._known(leaf), self._limit), differences)
            if found is not None and self._step.whole:
                reason = f"{' and '.join(found.differs)} may differ, for a loop over the whole table"
                found = None
        except Unsupported as error:
            reason = str(error)
        except OutOfTime:
            reason = "timeout"
        except LargeSet as error:
            return self._by_count(leaf, error, began)
        seconds = time.process_time() - began
        return LeafResult(leaf.name, verdict, not reason and found is None, seconds, leaf.path, jumps, reason, found)

    def _by_count(self, leaf: Leaf, of: LargeSet, began: float) -> LeafResult:
        """Proves a leaf for each number of elements of a set."""
        verdict = cast(values.Text, leaf.result.fields["verdict"]).members[0]
        jumps, reason, refuted = 0, "", None
        for count in range(of.most + 1):
            self._limit.begin()
            case = StepProof(self._setting, self._step, self._limit, {**self._counts, of.name: count}, self._kinds)
            for found in case.leaves({leaf.path}):
                jumps = max(jumps, found.jumps)
                if found.reason:
                    reason = f"{found.reason} with {count} elements in {of.name}"
                if found.counterexample:
                    inputs = {**found.counterexample.inputs, f"{of.name}.count": count}
                    refuted = replace(found.counterexample, inputs=inputs)
            if reason or refuted:
                break
        seconds = time.process_time() - began
        return LeafResult(
            leaf.name, verdict, not reason and refuted is None, seconds, leaf.path, jumps, reason, refuted
        )

    def _run(self, leaf: Leaf) -> tuple[int, list[Difference]]:
        """Runs the function under the leaf's condition; returns how often ways parted, and the differences."""
        due = terms.negated(terms.all_of(leaf.duties))
        differences = [Difference("what TLC refuses to evaluate", due)]
        branches = Branches(self._known(leaf), self._limit)
        table = self._step.table.capacity if self._step.whole else None
        machine = Machine(self._function, branches.feasible, table, self._folds)
        outcome = machine.run(self._memory, self._arguments())
        self._outcome = outcome
        differences += self._differences(leaf, outcome)
        names = set().union(*(variables(each) for each in (*leaf.guard, *(one.condition for one in differences))))
        for name, most in self._large_sets():
            if name not in self._counts and f"{name}.count" in names:
                raise LargeSet(name, most)
        return outcome.jumps, differences

    def _large_sets(self) -> Iterator[tuple[str, int]]:
        """The sets with so many places that each number of elements is a case of its own."""
        for prefix, each in ((CELL, self._cell), (MESSAGE, self._message)):
            if each is not None:
                for name, kind in each.kind.fields:
                    if isinstance(kind, ir.Set) and kind.max >= LARGE_SET:
                        yield f"{prefix}.{name}", kind.max

    def _differences(self, leaf: Leaf, outcome: Outcome) -> list[Difference]:
        numbers = verdicts()
        verdict = cast(values.Text, leaf.result.fields["verdict"])
        found: list[Difference] = []
        low = terms.extract(outcome.result, 1, 0)
        for member in verdict.members:
            wrong = terms.negated(terms.equal(low, terms.bits(numbers[member], 2)))
            found.append(Difference("verdict", terms.all_of([values.is_text(verdict, member), wrong])))
        rest = terms.extract(outcome.result, LEAF - 1, 3)
        found.append(Difference("the outcome", terms.negated(terms.equal(rest, terms.bits(0, rest.size())))))
        found += self._compared(MESSAGE, self._message, leaf.result.fields["msg"], outcome)
        if self._cell is not None:
            cell = leaf.result.fields["cell"]
            changes = self._compared(CELL, self._cell, cell, outcome)
            found += changes
            if not (cell is self._cell.value and not changes):
                unmarked = terms.equal(terms.extract(outcome.result, 2, 2), terms.bits(0, 1))
                changed = terms.negated(values.equal(cell, self._cell.value))
                found.append(Difference("the mark of a changed cell", terms.all_of([unmarked, changed])))
            found += self._untouched(outcome)
        elif not isinstance(leaf.result.fields["cell"], Table):
            raise Unsupported("a step that changes a whole table")
        return [each for each in found if not z3.is_false(each.condition)]

    def _compared(self, name: str, given: Input, value: Value, outcome: Outcome) -> list[Difference]:
        def load(at: int, size: int) -> Bits:
            content = outcome.memory.load(Pointer(name, terms.bits(at, 64)), size, lambda _: True)
            if not isinstance(content, z3.BitVecRef):
                raise Unsupported(f"the function leaves no number in its {name}, at {at}")
            return content

        def before(at: int, size: int) -> Bits:
            return cast(Bits, self._memory.load(Pointer(name, terms.bits(at, 64)), size, lambda _: True))

        return Comparison(load, before).record(given.kind, given.shape, value, given.value, name)

    def _untouched(self, outcome: Outcome) -> list[Difference]:
        """The lock of a cell is not the step's to change."""
        assert self._cell is not None
        found = []
        for name, member in self._cell.shape.members.items():
            span = range(member.offset, member.offset + member.size)
            if self._cell.places.isdisjoint(span):
                pointer = Pointer(CELL, terms.bits(member.offset, 64))
                after = outcome.memory.load(pointer, member.size, lambda _: True)
                first = self._memory.load(pointer, member.size, lambda _: True)
                if not isinstance(after, z3.BitVecRef):
                    raise Unsupported(f"the function leaves no number in cell.{name}")
                if not after.eq(cast(Bits, first)):
                    found.append(Difference(f"cell.{name}", terms.negated(terms.equal(after, cast(Bits, first)))))
        return found

    def _refutation(self, questions: Questions, differences: list[Difference]) -> Counterexample | None:
        """An input for which something differs: asked for at once, then by cases, then one by one."""
        together = questions.settled(terms.any_of([each.condition for each in differences]))
        model = self._search(questions, [], together, [each.condition for each in differences])
        return None if model is None else self._shown(model, differences)

    def _search(
        self, questions: Questions, assumed: list[Truth], together: Truth, each: list[Truth]
    ) -> z3.ModelRef | None:
        """A model of a condition, under more assumptions. each: the conditions of which it is the disjunction."""
        cases = cases_of(together, self._items())
        if not (cases and self._counts) or assumed:
            with suppress(OutOfTime):
                return questions.model([*assumed, together], quick=True)
        if not cases or len(assumed) >= (SPLITS_BY_ITEM if self._counts else SPLITS_MAX):
            models = (questions.model([*assumed, one]) for one in each)
            return next((model for model in models if model is not None), None)
        for case in cases:
            condition = questions.settled(case.simplified(together))
            model = self._search(questions, [*assumed, case.assumed], condition, [condition])
            if model is not None:
                return model
        return None

    def _items(self) -> frozenset[str]:
        """The variables of the items of large sets whose number of elements is known."""
        sizes = dict(self._large_sets())
        return frozenset(f"{name}.{at + 1}" for name in self._counts for at in range(sizes[name]))

    def _shown(self, model: z3.ModelRef, differences: list[Difference]) -> Counterexample:
        differs = [each.field for each in differences if z3.is_true(model.eval(each.condition, model_completion=True))]
        inputs = {}
        for declared in model.decls():
            if declared.arity() == 0:
                value = model[declared]
                if z3.is_bv_value(value):
                    inputs[declared.name()] = value.as_long()
        after = self._outcome.memory
        result = model.eval(terms.extract(self._outcome.result, 31, 0), model_completion=True).as_long()
        return Counterexample(
            tuple(dict.fromkeys(differs)),
            inputs,
            self._bytes(model, self._memory, (CELL, MESSAGE, ENVIRONMENT)),
            self._bytes(model, after, (CELL, MESSAGE)),
            result,
        )

    def _bytes(self, model: z3.ModelRef, memory: Memory, names: tuple[str, ...]) -> dict[str, str]:
        """The contents of regions in a model."""
        found = {}
        for name in names:
            region = memory.regions.get(name)
            if region is not None and region.table is None:
                content = memory.load(Pointer(name, terms.bits(0, 64)), region.size, lambda _: True)
                assert isinstance(content, z3.BitVecRef)
                number = model.eval(content, model_completion=True).as_long()
                found[name] = number.to_bytes(region.size, "little").hex()
        return found


def proved(
    setting: Setting, step: StepFunction, seconds: float, kinds: tuple[str, ...] = (), until_refuted: bool = False
) -> StepResult:
    """Proves a step. seconds: of CPU time, for each leaf. until_refuted: whether to stop at the first refuted leaf."""
    began = time.process_time()
    result = StepResult(step.name)
    limit = Limit(seconds)
    solving.forget()
    try:
        for leaf in StepProof(setting, step, limit, {}, kinds).leaves():
            result.leaves.append(leaf)
            if until_refuted and leaf.counterexample:
                break
            limit.begin()
    except Unsupported as error:  # of the whole step: a leaf has its own reason
        result.reason = str(error)
    if not result.leaves and not result.reason:
        result.reason = NO_LEAF
    result.seconds = time.process_time() - began
    return result
