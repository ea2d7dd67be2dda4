"""The steps of a state by a compiled kernel, and by plain Python."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from reassure.checkers.encoding.state_layout import layout_of, rebuild, unpack_record
from reassure.checkers.engines.native.exploration import shape_of
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel
from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK, ACTIONS_AT, ERROR
from reassure.checkers.engines.native.model.model_kernel import model_kernel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Params


class Native:
    """The compiled part of a model, called for one state at a time."""

    def __init__(self, bound: BoundModel) -> None:
        self.layout = layout_of(bound.type)
        self.lowered = lower_model(bound)
        self.kernel = model_kernel(self.lowered, self.layout, parameters=True)
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int64, *([ctypes.c_void_p] * 2), ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
        )
        shape = shape_of(self.kernel)
        self.expand = kind(Kernel(shape).addresses["expand"])
        # More room than is needed, so that a kernel with a fault does not write over other memory.
        self.out = np.zeros((64 + 64 * self.kernel.max_successors, shape.row_words), np.int64)

    def steps(self, state: Any) -> tuple[list[tuple[str, Params, Any]], int, bool]:
        """Steps (action, parameters, state after) in order, how many were clipped, and whether something raised."""
        tally = np.zeros(shape_of(self.kernel).tally_words, np.int64)
        row = np.array(self.layout.encode(state), np.uint64)
        n = self.expand(row.ctypes.data, self.out.ctypes.data, 0, tally.ctypes.data, 0)
        assert n <= self.kernel.max_successors, "more steps than the kernel says there may be"
        words = self.layout.words
        found = []
        for row in self.out[:n].tolist():
            number = int(row[words]) & ACTION_MASK
            params = self.params(number, row[words + self.kernel.step_words :])
            found.append((self.kernel.actions[number], params, self.layout.decode(row[:words])))
        return found, int(tally[ACTIONS_AT + len(self.kernel.actions) :].sum()), bool(tally[ERROR])

    def code(self, step: int) -> tuple[int, ...]:
        """The words of the state after a step of the last call."""
        return tuple(int(w) % (1 << 64) for w in self.out[step, : self.layout.words])

    def params(self, action: int, words: list[int]) -> Params:
        """The parameters of a step."""
        stored = (
            words[f.word] % (1 << 64) >> f.shift & ((1 << f.code.bits) - 1) for f in self.kernel.parameters[action]
        )
        found = {}
        for p in self.lowered.actions[action].parameters:
            member = isinstance(p.drawn, tuple)
            found[p.name] = unpack_record(next(stored), p.type) if member else rebuild(p.type, stored)
        return found


def plain_steps(bound: BoundModel, state: Any) -> tuple[list[tuple[str, Params, Any]], int, bool]:
    """As `Native.steps`, by plain Python; nothing but the last where something raises."""
    found, clipped = [], 0
    try:
        for step in bound.steps(state):
            if isinstance(step.after, Clipped):
                clipped += 1
            else:
                found.append((step.action.name, dict(step.params), step.after))
    except ModelError:
        return [], 0, True
    return found, clipped, False
