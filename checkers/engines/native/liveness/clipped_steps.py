"""The steps that leave a bound, with their parameters: a kernel that takes these and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.compiled_kernel import compiled
from reassure.checkers.engines.native.kernels.edge_list import edge_list
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK
from reassure.spec.frontend.lowered_model import Check, LoweredModel


def beyond_bounds_alone(lowered: LoweredModel, numbers: Sequence[int]) -> LoweredModel:
    """Some actions of a model, each taken only where its step leaves a bound; it changes nothing then."""
    g = lowered.graph
    same = tuple(g.var(leaf.path, leaf.type) for leaf in lowered.leaves)
    actions = []
    for action in (lowered.actions[number] for number in numbers):
        leaves = Check("require", g.or_(*(clip.condition for clip in action.clips)), "", "", 0)
        actions.append(replace(action, checks=(*action.checks, leaves), clips=(), next_leaves=same))
    no_claims = tuple(() for _ in actions)
    return replace(
        lowered, actions=tuple(actions), state_formulas=(), step_formulas=no_claims, terminal_formulas=()
    )  # fmt: skip


class ClippedSteps:
    """Lists the steps of some actions that leave a bound."""

    def __init__(self, lowered: LoweredModel, layout: Layout, numbers: Sequence[int]) -> None:
        self.numbers = np.array(numbers, np.int64)
        self.kernel = compiled(beyond_bounds_alone(lowered, numbers), layout, parameters=True)

    def of(self, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Such steps from states: for each the place of its state among the rows, its action, and its parameters."""
        steps, counts = edge_list(self.kernel, np.ascontiguousarray(rows))
        words, shape = self.kernel.words, self.kernel.shape
        places = np.repeat(np.arange(len(rows)), counts)
        return places, self.numbers[steps[:, words] & ACTION_MASK], steps[:, words + shape.step_words :]
