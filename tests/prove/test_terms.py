"""The prover's rules for terms: a term that was simplified must be equal to the plain one, for all values."""

from __future__ import annotations

import random

import pytest
import z3

from harness.prove import terms

WIDTH = 8
VARIABLES = {width: [z3.BitVec(f"v{width}.{at}", width) for at in range(2)] for width in (1, 3, WIDTH)}
TRIALS = 400


class Pairs:
    """Random expressions, each built once by Z3's own operators and once by the prover's."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def leaf(self):
        """A constant, a variable, or a narrow variable with zeros before it."""
        choice = self.random.random()
        if choice < 0.3:
            value = self.random.choice([0, 1, 2, 7, 8, 128, 254, 255, self.random.randrange(256)])
            return z3.BitVecVal(value, WIDTH), terms.bits(value, WIDTH)
        if choice < 0.6:
            variable = self.random.choice(VARIABLES[WIDTH])
            return variable, variable
        width = self.random.choice([1, 3])
        variable = self.random.choice(VARIABLES[width])
        return z3.ZeroExt(WIDTH - width, variable), terms.widen(variable, WIDTH)

    def term(self, depth: int):
        """A term of eight bits."""
        if not depth:
            return self.leaf()
        (a, A), (b, B) = self.term(depth - 1), self.term(depth - 1)
        p, P = self.truth(depth - 1)
        by = self.random.choice([1, 2, 3, 7, 8, 10, 128])
        high = self.random.randrange(WIDTH)
        low = self.random.randrange(high + 1)
        width = high - low + 1
        bit, BIT = z3.If(p, z3.BitVecVal(1, WIDTH), z3.BitVecVal(0, WIDTH)), terms.widen(terms.truth_bit(P), WIDTH)
        part = z3.Extract(high, low, a)
        return self.random.choice(
            [
                lambda: (a + b, terms.add(A, B)),
                lambda: (a - b, terms.subtract(A, B)),
                lambda: (a * b, terms.multiply(A, B)),
                lambda: (a & b, terms.conjoin(A, B)),
                lambda: (a | b, terms.join(A, B)),
                lambda: (a ^ b, terms.exclusive(A, B)),
                lambda: (~a, terms.invert(A)),
                lambda: (a << b, terms.shift_left(A, B)),
                lambda: (z3.LShR(a, b), terms.shift_right(A, B)),
                lambda: (a >> b, terms.shift_signed(A, B)),
                lambda: (z3.URem(a, z3.BitVecVal(by, WIDTH)), terms.remainder(A, terms.bits(by, WIDTH))),
                lambda: (z3.UDiv(a, z3.BitVecVal(by, WIDTH)), terms.divide(A, terms.bits(by, WIDTH))),
                lambda: (z3.If(p, a, b), terms.bits_if(P, A, B)),
                lambda: (b + bit * (a - b), terms.add(B, terms.multiply(BIT, terms.subtract(A, B)))),
                lambda: (
                    z3.ZeroExt(WIDTH - width, part) if width < WIDTH else a,
                    terms.widen(terms.extract(A, high, low), WIDTH),
                ),
                lambda: (
                    z3.SignExt(4, z3.Extract(3, 0, a)),
                    terms.widen_signed(terms.extract(A, 3, 0), WIDTH),
                ),
                lambda: (
                    z3.ZeroExt(7, z3.Extract(7, 7, a - b)),
                    terms.widen(terms.extract(terms.subtract(A, B), 7, 7), WIDTH),
                ),
                lambda: (
                    z3.ZeroExt(7, z3.Extract(7, 7, a | -a)),
                    terms.widen(terms.extract(terms.join(A, terms.multiply(A, terms.bits(-1, 8))), 7, 7), WIDTH),
                ),
            ]
        )()

    def truth(self, depth: int):
        """A truth value."""
        (a, A), (b, B) = self.term(depth), self.term(depth)
        simple = [
            lambda: (a == b, terms.equal(A, B)),
            lambda: (z3.ULT(a, b), terms.below(A, B)),
            lambda: (a < b, terms.below_signed(A, B)),
        ]
        if not depth:
            return self.random.choice(simple)()
        (p, P), (q, Q) = self.truth(depth - 1), self.truth(depth - 1)
        combined = [
            lambda: (z3.And(p, q), terms.all_of([P, Q])),
            lambda: (z3.Or(p, q), terms.any_of([P, Q])),
            lambda: (z3.Not(p), terms.negated(P)),
            lambda: (p == q, terms.same_truth(P, Q)),
            lambda: (z3.If(p, q, z3.Not(q)), terms.truth_if(P, Q, terms.negated(Q))),
        ]
        return self.random.choice([*simple, *combined])()


@pytest.mark.parametrize("seed", range(2))
def test_simplified_terms_are_equal_to_plain_ones(seed: int) -> None:
    terms.forget()
    pairs, decided = Pairs(seed), 0
    for _ in range(TRIALS):
        plain, simplified = pairs.term(pairs.random.choice([1, 2, 3]))
        solver = z3.SolverFor("QF_BV")
        solver.set("timeout", 2000)
        beyond = simplified & z3.BitVecVal(~terms.mask(simplified), WIDTH) != 0
        solver.add(z3.Or(plain != simplified, beyond))
        answer = solver.check()
        assert answer != z3.sat, f"{plain} is not {simplified}: {solver.model()}"
        decided += answer == z3.unsat
    assert decided > TRIALS * 0.9
