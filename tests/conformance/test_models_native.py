"""Every model, every action and claim: generated native code == plain Python, on reachable states and on drawn ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reassure.checkers.engines.native.exploration import shape_of
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel
from reassure.checkers.engines.native.kernels.model_code import ACTION_BITS, ERROR, STEP_BITS, TERMINAL
from reassure.checkers.request.model_loader import load_model, names, settings
from reassure.spec.semantics.interpreter import BoundModel, ModelError, Step, make_config
from tests.helpers.configurations import SMALL, VARIANTS, VARIED, WIDEST, every_model, mutants, varied
from tests.helpers.drawn_states import drawn, perturbed, reachable
from tests.helpers.flaws import flawed_part
from tests.helpers.native_steps import Native, plain_steps

FLOOR = 200
"""Enabled steps that each model must have been compared on, at the least."""
FLOOR_OF_AN_ACTION = 40
"""The same for a mutant's own action."""
REACHED, DRAWN = 100, 60
"""States of each model: so many reachable ones, the same perturbed, and so many drawn."""


def flags(bound: BoundModel, native: Native, kernel: Kernel, state: Any) -> bool:
    """Whether the claims over this state come out the same; claims that raise are flagged by the kernel too."""
    tally = np.zeros(kernel.shape.tally_words, np.int64)
    row = np.array(native.layout.encode(state), np.uint64).view(np.int64)
    word = kernel.code.check(row, tally, 0)
    claims = {p.name: p for p in [*bound.properties, *bound.covers]}
    for bit, name in enumerate(native.kernel.state_flags):
        try:
            if name == "terminal":
                want = bound.is_terminal(state)
            else:
                want = bound.holds(claims[name], state) == (claims[name].kind == "cover")
        except ModelError:
            assert tally[ERROR]
            return True
        at = TERMINAL if name == "terminal" else bit
        assert bool(word >> at & 1) == want, (name, state)
    return not tally[ERROR]


def step_flags(bound: BoundModel, native: Native, state: Any, steps: list[Step]) -> None:
    claims = {p.name: p for p in [*bound.properties, *bound.covers]}
    for step, row in zip(steps, native.out[: len(steps)].tolist(), strict=True):
        for bit, name in enumerate(native.kernel.step_flags):
            claim = claims[name]
            want = bound.concerns(claim, step.action) and bound.holds_on(claim, state, step) == (claim.kind == "cover")
            word, at = divmod(bit, STEP_BITS)
            assert bool(row[native.layout.words + word] >> (ACTION_BITS + at) & 1) == want, (name, step)


@pytest.mark.parametrize("name", every_model(slow=[*mutants(), *VARIANTS]))
def test_model(name: str, optimise_no_more: Callable[[], None]) -> None:
    """A mutant by the action that is its own, in a kernel that is not optimised, as of the largest model."""
    if name in mutants() or name == WIDEST:
        optimise_no_more()
    whole = load_model(name)
    config = make_config(whole, settings(whole, varied(name)))
    model = flawed_part(name) if name in mutants() else whole
    bound = BoundModel(model, config)
    native = Native(bound)
    kernel, actions = Kernel(shape_of(native.kernel)), {a.name: a for a in model.actions}
    rng = random.Random(name)
    reached = reachable(BoundModel(whole, config), rng, REACHED, actions)
    others = [*(perturbed(bound, s, rng) for s in reached), *(drawn(bound.type, rng) for _ in range(DRAWN))]
    enabled: Counter[str] = Counter()
    for state in [*reached, *others]:
        assert native.layout.decode(native.layout.encode(state)) == state
        want, got = plain_steps(bound, state), native.steps(state)
        if want[2]:
            assert got[2], state
            continue
        assert got == want, state
        assert flags(bound, native, kernel, state)
        try:
            step_flags(bound, native, state, [Step(actions[name], params, after) for name, params, after in want[0]])
        except ModelError:
            continue
        enabled.update(action for action, *_ in want[0])
    assert enabled.total() >= (FLOOR if model is whole else FLOOR_OF_AN_ACTION)
    never = actions.keys() - enabled.keys()
    assert not never, f"give {name} settings with which {', '.join(never)} can be taken in tests/helpers/configurations"


def test_settings_are_of_models() -> None:
    assert {*SMALL, *VARIED} <= set(names())
