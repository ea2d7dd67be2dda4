"""The symbolic transition system == plain Python: each action and claim of each model, reachable state or not."""

from __future__ import annotations

import random
from typing import Any

import pytest
import z3

from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.request.model_loader import load_model, names, settings
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, make_config
from tests.helpers.configurations import VARIANTS, WIDEST, every_model, mutants, small, varied
from tests.helpers.drawn_states import drawn, perturbed, reachable
from tests.helpers.flaws import flawed_part
from tests.helpers.native_steps import plain_steps
from tests.helpers.runs import bind
from tests.helpers.symbolic_steps import Fixed

MANY, FEW = 20, 4
"""Reachable states compared of a model of few actions, and of one of many, where one state takes tenths of seconds."""
OF_AN_ACTION = 8
"""The same of a mutant's own action."""


def count(model: Model) -> int:
    return OF_AN_ACTION if len(model.actions) == 1 else MANY if len(model.actions) <= 8 else FEW


def steps_agree(bound: BoundModel, fixed: Fixed, state: Any) -> None:
    """The outcomes of each action, and whether one is clipped, from a state of which no step raises."""
    steps = list(bound.steps(state))
    for number, action in enumerate(bound.model.actions):
        its = [step.after for step in steps if step.action is action]
        want, clipped = {a for a in its if not isinstance(a, Clipped)}, any(isinstance(a, Clipped) for a in its)
        assert fixed.successors(number) == (want, clipped, False), (action.name, state)


def claims_agree(bound: BoundModel, fixed: Fixed, state: Any) -> None:
    machine = fixed.machine
    wrong: dict[str, z3.BoolRef] = {}
    for formula in machine.model.state_formulas:
        assert formula.claim is not None
        if formula.claim.temporal:
            continue
        try:
            want = bound.holds(formula.claim, state)
        except ModelError:
            assert fixed.possible(z3.Not(machine.defined(formula, 0)))
            continue
        wrong[formula.name] = machine.holds(formula, 0) == z3.BoolVal(not want)
    # asked together, and by name where one is
    assert not fixed.possible(z3.Or(*wrong.values())), [name for name, it in wrong.items() if fixed.possible(it)]


def step_claims_agree(bound: BoundModel, before: Fixed, state: Any) -> None:
    """On each step, some choice of parameters that leads to its outcome has the claim's truth that Python has."""
    machine, names = before.machine, [a.name for a in bound.model.actions]
    for step in bound.steps(state):
        if isinstance(step.after, Clipped):
            continue
        number = names.index(step.action.name)
        fixed, taken = before.then(step.after), machine.steps(0)[number].taken
        same: dict[str, z3.BoolRef] = {}
        for formula in machine.model.step_formulas[number]:
            assert formula.claim is not None
            try:
                want = bound.holds_on(formula.claim, state, step)
            except ModelError:
                continue
            same[formula.name] = machine.holds(formula, 0) == z3.BoolVal(want)
        # most often one choice of parameters has all truths: then nothing is asked again
        if not fixed.possible(taken, *same.values()):
            for name, condition in same.items():
                assert fixed.possible(taken, condition), (name, step)


@pytest.mark.parametrize("name", every_model(slow=[*mutants(), *VARIANTS, WIDEST]))
def test_model(name: str) -> None:
    """A mutant by the action that is its own."""
    whole = load_model(name)
    config = make_config(whole, settings(whole, varied(name)))
    bound = BoundModel(flawed_part(name) if name in mutants() else whole, config)
    machine = Machine(lower_model(bound))
    rng = random.Random(name)
    reached = reachable(BoundModel(whole, config), rng, count(bound.model), {a.name for a in bound.model.actions})
    others = [perturbed(bound, s, rng) for s in reached] + [drawn(bound.type, rng) for _ in range(len(reached) // 2)]
    enabled = 0
    for state in [*reached, *others]:
        fixed = Fixed(machine, state)
        assert fixed.round_trip() == state
        steps, _, raises = plain_steps(bound, state)
        if not raises:
            enabled += len(steps)
            steps_agree(bound, fixed, state)
            step_claims_agree(bound, fixed, state)
        claims_agree(bound, fixed, state)
    assert enabled >= (2 * len(reached) if bound.model is whole else OF_AN_ACTION // 2)


@pytest.mark.parametrize("name", sorted(set(names()) - set(mutants())))
def test_initial_states(name: str) -> None:
    """Those of a mutant are the ones of another model, since an action is all that it changes."""
    model = load_model(name)
    bound, lowered = bind(model, settings(model, small(name)))
    machine = Machine(lowered)
    solver = z3.SolverFor("QF_FD")
    solver.add(machine.initial())
    found = set()
    while solver.check() == z3.sat:
        found.add(machine.decoded(0, solver.model()))
        solver.add(z3.Not(machine.equals(0, machine.decoded(0, solver.model()))))
    assert found == {s for _, _, s in bound.initial_states() if not isinstance(s, Clipped)}
