"""A compiled model, as far as searching and walking need it: its numbers, and its two functions as machine code.

A `KernelShape` can be sent to another process, which makes the machine code of it or finds it on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

from reassure.checkers.engines.native.kernels.model_code import ACTIONS_AT, ModelCode
from reassure.checkers.engines.native.translator import llvm
from reassure.checkers.engines.native.translator.native_function import ModelFunction, native
from reassure.checkers.machine.own_files import KeptFiles
from reassure.spec.language.light_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")
Rows: TypeAlias = "NDArray[np.int64]"
LEVEL = 3
"""LLVM's optimisation level for models that work for long: for one of 40,000 states it costs a tenth of a second more
than level 1, and its search is a tenth faster."""
QUICK = 0
"""The level that a kernel begins with: it is compiled in a tenth of the time, and works at most twice as long."""
SECONDS_BY_CHARACTER = 5e-6
"""Of the IR: about how long LLVM optimises it, as measured for the models that come with the project."""
OPTIMISED_AFTER = 1.0
"""Work of a kernel after which it is optimised, as a share of the time that this takes; 0: before it works."""
WORKED = KeptFiles(llvm.KEPT.folder, b"reassure work 1\n", ".worked", 600)
"""Seconds of work of kernels that are not optimised, in all runs, by the digest of their IR."""
KEPT_AT = 0.1
"""Work after which that is kept on disk, as a share of the work after which a kernel is optimised."""
FUNCTIONS = ("check", "expand")
STEPS = "steps"
"""A third function, of a kernel with representatives: as `expand`, with the successors themselves."""


EXPAND = "wwiwi"
"""The arguments of `expand`, as `ModelFunction` has them."""


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
    def functions(self) -> tuple[str, ...]:
        """The functions of the IR."""
        return (*FUNCTIONS, STEPS) if f"define i64 @{STEPS}(" in self.ir else FUNCTIONS

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


class Kernel:
    """A kernel whose machine code is loaded: optimised if that is on disk, or once it has worked for long, in this run
    and earlier ones."""

    def __init__(self, shape: KernelShape, passing: bool = False) -> None:
        """Takes the machine code from disk, or compiles it.

        passing: the kernel is used once. It is not optimised, and not stored.
        """
        self.shape = shape
        self._until_optimised = self._until_kept = float("inf")
        """Seconds of work."""
        self._enough = 0.0
        """Seconds of work after which it is optimised."""
        self._lock = Lock()
        if passing:
            self._holds_code, addresses = llvm.unkept_functions(shape.ir, shape.functions, QUICK)
        else:
            self._key = llvm.code_key(shape.ir)
            addresses = self._compiled(LEVEL) if OPTIMISED_AFTER == 0 else self._stored_or_quick()
        self.addresses = addresses
        self.code = self._code(**_functions(addresses))

    def _code(self, check: ModelFunction, expand: ModelFunction) -> ModelCode:
        shape = self.shape
        return ModelCode(
            check, expand, shape.row_words, shape.step_words, shape.step_claims, shape.parameter_words or 0
        )

    def with_steps(self) -> ModelCode | None:
        """The code whose successors are no representatives; None if it has none that are."""
        if STEPS not in self.addresses:
            return None
        return self._code(self.code.check, ModelFunction(self.addresses[STEPS], EXPAND))  # type: ignore[arg-type]

    def _compiled(self, level: int) -> dict[str, int]:
        return llvm.compiled_functions(self._key, lambda: self.shape.ir, self.shape.functions, level)

    def _stored_or_quick(self) -> dict[str, int]:
        stored = llvm.stored_functions(self._key, self.shape.functions, LEVEL)
        if stored is None and LEVEL > QUICK:
            self._enough = OPTIMISED_AFTER * SECONDS_BY_CHARACTER * len(self.shape.ir)
            self._until_optimised = self._enough - float(WORKED.read(self._key) or 0)
            self._until_kept = KEPT_AT * self._enough
        return stored or self._compiled(QUICK)

    def run(self, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Calls a kernel that calls this model's code, on any thread; optimises the code when that pays.

        The thread that notices waits for LLVM. Calls that begin afterwards take the optimised code.
        """
        began = time.perf_counter()
        result = native(function)(*arguments, **named)
        self._note(time.perf_counter() - began)
        return result

    def _note(self, seconds: float) -> None:
        with self._lock:
            self._until_optimised -= seconds
            self._until_kept -= seconds
            if self._until_optimised > 0:
                if self._until_kept <= 0:
                    self._until_kept = KEPT_AT * self._enough
                    WORKED.write(self._key, f"{self._enough - self._until_optimised:.6f}".encode())
                return
            self._until_optimised = self._until_kept = float("inf")
        self.addresses = self._compiled(LEVEL)
        for name, function in _functions(self.addresses).items():
            setattr(self.code, name, function)

    @property
    def words(self) -> int:
        """Words of a state."""
        return self.shape.words

    def action_counts(self, tally: Sequence[int]) -> list[int]:
        """By action: its successors and clipped steps."""
        return [int(n) for n in tally[ACTIONS_AT : ACTIONS_AT + self.shape.actions]]

    def clip_counts(self, tally: Sequence[int]) -> list[int]:
        """By bound that steps may exceed: those that did."""
        return [int(n) for n in tally[ACTIONS_AT + self.shape.actions : self.shape.tally_words]]


def _functions(addresses: dict[str, int]) -> dict[str, ModelFunction]:
    """The functions of a model, as `ModelCode` has them."""
    return {"check": ModelFunction(addresses["check"], "wwi"), "expand": ModelFunction(addresses["expand"], EXPAND)}
