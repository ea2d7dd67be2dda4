"""The steps of a state by Z3's terms, and whether they are those of plain Python."""

from __future__ import annotations

import copy
import random
from typing import Any

import z3

from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.drawn_states import drawn
from tests.helpers.native_steps import plain_steps

STATES = 10
"""Drawn states that one comparison takes unless told otherwise."""


class Fixed:
    """Z3's terms with the variables of copies of the state replaced by values: little is left to solve."""

    def __init__(self, machine: Machine, state: Any) -> None:
        """state: of copy 0."""
        self.machine = machine
        self.given = machine.equals(0, state)
        self.values = _pairs(machine, 0, state)

    def then(self, after: Any) -> Fixed:
        """The same with a state of copy 1."""
        both = copy.copy(self)
        both.values = self.values + _pairs(self.machine, 1, after)
        return both

    def possible(self, *conditions: z3.BoolRef) -> bool:
        """Whether the conditions can all be true, by some values of what is not fixed."""
        condition = self._left(*conditions)
        if z3.is_true(condition) or z3.is_false(condition):
            return z3.is_true(condition)
        found: z3.CheckSatResult = _solver(condition).check()
        assert found != z3.unknown
        return found == z3.sat

    def successors(self, number: int) -> tuple[set[Any], bool, bool]:
        """Every outcome of an action from copy 0, and whether one is clipped or raises."""
        step, found = self.machine.steps(0)[number], set()
        solver = _solver(self._left(step.taken))
        while solver.check() == z3.sat:
            after = self.machine.decoded(1, solver.model())
            assert after not in found
            found.add(after)
            solver.add(z3.Not(self.machine.equals(1, after)))
        if not self.possible(z3.Or(step.clipped, step.error)):
            return found, False, False
        return found, self.possible(step.clipped), self.possible(step.error)

    def round_trip(self) -> Any:
        """The state of copy 0 as Z3 gives it back, which every state of the type is to survive."""
        solver = _solver(self.machine.well_formed(0), self.given)
        assert solver.check() == z3.sat, "every state of the type is well formed"
        return self.machine.decoded(0, solver.model())

    def _left(self, *conditions: z3.BoolRef) -> z3.BoolRef:
        """What the conditions say of all that is not fixed."""
        left: z3.BoolRef = z3.simplify(z3.substitute(z3.And(*conditions), *self.values))
        return left


def _pairs(machine: Machine, k: int, state: Any) -> list[tuple[z3.ExprRef, z3.ExprRef]]:
    """Variables of a copy with their values."""
    return [(v.variable, v.value) for v in machine.values(k, state)]


def _solver(*conditions: z3.BoolRef) -> z3.Solver:
    solver = z3.SolverFor("QF_FD")
    solver.add(*conditions)
    return solver


def difference(bound: BoundModel, machine: Machine, rng: random.Random, states: int = STATES) -> tuple[Any, int]:
    """The first of some drawn states on which Z3 and plain Python differ, if any; and how many steps were compared."""
    compared = 0
    for _ in range(states):
        state = drawn(bound.type, rng)
        fixed = Fixed(machine, state)
        assert fixed.round_trip() == state
        steps, clipped, raises = plain_steps(bound, state)
        found = fixed.successors(0)
        wanted = {after for _, _, after in steps}
        if found[2] != raises or (not raises and found[:2] != (wanted, clipped > 0)):
            return state, compared
        compared += len(wanted)
    return None, compared
