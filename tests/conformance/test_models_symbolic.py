"""The symbolic transition system == plain Python: each action and claim of each model, reachable state or not."""

from __future__ import annotations

import random
from typing import Any

import pytest
import z3

from reassure.checkers.base.model_loader import bind, load, settings
from reassure.checkers.symbolic.transition_system import Machine
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError
from tests.helpers.drawn_states import drawn, perturbed, walk
from tests.helpers.symbolic_steps import successors

MODELS = [
    ("die_hard", [], 30),
    ("two_phase_commit", [], 30),
    ("core", ["brokers=4"], 30),
    ("kraft", ["disturbances=2", "shutdowns=2", "in_flight=2"], 5),
    ("kraft_kafka", ["disturbances=2"], 4),
    ("intermediate_inclusive", [], 5),
]
FLOOR = {"die_hard": 20, "kraft": 50, "kraft_kafka": 25, "intermediate_inclusive": 30}
"""Enabled steps that each model must have been compared on (a toy has fewer)."""


def claims_agree(bound: BoundModel, machine: Machine, solver: z3.Solver, state: Any) -> None:
    for formula in machine.model.state_formulas:
        assert formula.claim is not None
        if formula.claim.temporal:
            continue
        try:
            want = bound.holds(formula.claim, state)
        except ModelError:
            assert solver.check(z3.Not(machine.defined(formula, 0))) == z3.sat
            continue
        assert solver.check(machine.holds(formula, 0) == z3.BoolVal(not want)) == z3.unsat, formula.name


def step_claims_agree(bound: BoundModel, machine: Machine, solver: z3.Solver, state: Any) -> None:
    """On each step, some choice of parameters that leads to its outcome has the claim's truth that Python has."""
    for step in bound.steps(state):
        if isinstance(step.after, Clipped):
            continue
        number = [a.name for a in bound.model.actions].index(step.action.name)
        for formula in machine.model.step_formulas[number]:
            assert formula.claim is not None
            try:
                want = bound.holds_on(formula.claim, state, step)
            except ModelError:
                continue
            fixed = z3.And(machine.steps(0)[number].taken, machine.equals(1, step.after))
            assert solver.check(fixed, machine.holds(formula, 0) == z3.BoolVal(want)) == z3.sat, (formula.name, step)


@pytest.mark.parametrize(("name", "pairs", "count"), MODELS, ids=[m for m, *_ in MODELS])
def test_model(name: str, pairs: list[str], count: int) -> None:
    model = load(name)
    bound, lowered = bind(model, settings(model, pairs))
    machine = Machine(lowered)
    rng = random.Random(name)
    reached = rng.sample(walk(bound, rng, 250), count)
    others = [perturbed(bound, s, rng) for s in reached] + [drawn(bound.type, rng) for _ in range(count // 2)]
    enabled = 0
    solver = z3.SolverFor("QF_FD")
    solver.add(machine.well_formed(0))
    for state in [*reached, *others]:
        solver.push()
        solver.add(machine.equals(0, state))
        assert solver.check() == z3.sat, "every state of the type is well formed"
        assert machine.decoded(0, solver.model()) == state
        steps, raises = [], False
        try:
            for step in bound.steps(state):
                steps.append(step)
        except ModelError:
            raises = True
        for number, action in enumerate(bound.model.actions):
            its = [step.after for step in steps if step.action is action]
            want, clipped = {a for a in its if not isinstance(a, Clipped)}, any(isinstance(a, Clipped) for a in its)
            got = successors(machine, solver, number)
            if raises:
                continue
            assert got == (want, clipped, False), (action.name, state)
            enabled += len(want)
        claims_agree(bound, machine, solver, state)
        if enabled % 3 == 0:
            step_claims_agree(bound, machine, solver, state)
        solver.pop()
    assert enabled >= FLOOR.get(name, 100)


@pytest.mark.parametrize(("name", "pairs", "count"), MODELS, ids=[m for m, *_ in MODELS])
def test_initial_states(name: str, pairs: list[str], count: int) -> None:
    model = load(name)
    bound, lowered = bind(model, settings(model, pairs))
    machine = Machine(lowered)
    solver = z3.SolverFor("QF_FD")
    solver.add(machine.initial())
    found = set()
    while solver.check() == z3.sat:
        found.add(machine.decoded(0, solver.model()))
        solver.add(z3.Not(machine.equals(0, machine.decoded(0, solver.model()))))
    assert found == {s for _, _, s in bound.initial_states() if not isinstance(s, Clipped)}
