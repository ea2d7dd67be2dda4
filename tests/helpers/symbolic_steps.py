"""The steps of a state by Z3's terms, and whether they are those of plain Python."""

from __future__ import annotations

import random
from typing import Any

import z3

from reassure.checkers.symbolic.transition_system import Machine
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.drawn_states import drawn
from tests.helpers.native_steps import plain_steps

STATES = 10
"""Drawn states that one comparison takes unless told otherwise."""


def successors(machine: Machine, solver: z3.Solver, number: int) -> tuple[set[Any], bool, bool]:
    """Every outcome of an action from the state that the solver holds, and whether one is clipped or raises."""
    step = machine.steps(0)[number]
    found = set()
    solver.push()
    solver.add(step.taken)
    while solver.check() == z3.sat:
        after = machine.decoded(1, solver.model())
        assert after not in found
        found.add(after)
        solver.add(z3.Not(machine.equals(1, after)))
    solver.pop()
    return found, solver.check(step.clipped) == z3.sat, solver.check(step.error) == z3.sat


def difference(bound: BoundModel, machine: Machine, rng: random.Random, states: int = STATES) -> tuple[Any, int]:
    """The first of some drawn states on which Z3 and plain Python differ, if any; and how many steps were compared."""
    solver, compared = z3.SolverFor("QF_FD"), 0
    solver.add(machine.well_formed(0))
    for _ in range(states):
        state = drawn(bound.type, rng)
        solver.push()
        solver.add(machine.equals(0, state))
        assert solver.check() == z3.sat, "every state of the type is well formed"
        assert machine.decoded(0, solver.model()) == state
        steps, clipped, raises = plain_steps(bound, state)
        found = successors(machine, solver, 0)
        solver.pop()
        wanted = {after for _, _, after in steps}
        if found[2] != raises or (not raises and found[:2] != (wanted, clipped > 0)):
            return state, compared
        compared += len(wanted)
    return None, compared
