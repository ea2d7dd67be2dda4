"""A compiled model, as far as searching and walking need it: its numbers, and its two functions as machine code.

A `KernelShape` can be sent to another process, which makes the machine code of it or finds it on disk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.native.kernels.model_code import ModelCode
from reassure.checkers.engines.native.kernels.tally import ACTIONS_AT
from reassure.checkers.engines.native.translator import llvm
from reassure.checkers.engines.native.translator.native_function import ModelFunction

Rows = NDArray[np.int64]
LEVEL = 3
"""LLVM's optimisation level for models: for `kraft` it costs a tenth of a second more than level 1, and its search is a
tenth faster."""
FUNCTIONS = ("check", "expand")


@dataclass(frozen=True)
class KernelShape:
    """The LLVM IR of a model's `check` and `expand`, and the sizes of what they read and write."""

    ir: str
    words: int
    """Of a state."""
    actions: int
    clips: int
    """Bounds that steps may exceed."""
    max_successors: int
    """Of one state."""
    step_claims: int
    step_words: int
    """Words of a successor row for the action and the claims over the step."""
    parameter_words: int | None
    """Words for the parameters of a step; None: successors come without."""

    @property
    def row_words(self) -> int:
        """Words of a successor row (`native.model_code`)."""
        return self.words + self.step_words + (self.parameter_words or 0)

    @property
    def wide_words(self) -> int:
        """Words of a wide row (`native.partitioning_kernel`)."""
        origin = 0 if self.parameter_words is None else self.words + 1 + self.parameter_words
        return self.words + 1 + origin

    @property
    def claim_words(self) -> int:
        """Words for the claims that were hit: over states, then over steps."""
        return 1 + self.step_words

    @property
    def tally_words(self) -> int:
        """Words of a tally (`native.tally`)."""
        return ACTIONS_AT + self.actions + self.clips


def model_functions(ir: str) -> dict[str, int]:
    """The addresses of `check` and `expand` of a model, compiled or taken from disk."""
    return llvm.compiled_functions(llvm.digest(ir), lambda: ir, FUNCTIONS, LEVEL)


class Kernel:
    """A kernel whose machine code is loaded."""

    def __init__(self, shape: KernelShape, passing: bool = False) -> None:
        """Takes the machine code from disk, or compiles it.

        passing: the kernel is used once. It is compiled at level 0, in a tenth of the time, and not stored.
        """
        self.shape = shape
        if passing:
            self._holds_code, addresses = llvm.unkept_functions(shape.ir, FUNCTIONS, 0)
        else:
            addresses = model_functions(shape.ir)
        self.addresses = addresses
        self.code = ModelCode(
            check=ModelFunction(addresses["check"], "wwi"),
            expand=ModelFunction(addresses["expand"], "wwiwi"),
            row_words=shape.row_words,
            step_words=shape.step_words,
            step_claims=shape.step_claims,
            parameter_words=shape.parameter_words or 0,
        )

    @property
    def words(self) -> int:
        """Words of a state."""
        return self.shape.words

    def action_counts(self, tally: Rows) -> list[int]:
        """By action: its successors and clipped steps."""
        return [int(n) for n in tally[ACTIONS_AT : ACTIONS_AT + self.shape.actions]]

    def clip_counts(self, tally: Rows) -> list[int]:
        """By bound that steps may exceed: those that did."""
        return [int(n) for n in tally[ACTIONS_AT + self.shape.actions : self.shape.tally_words]]
