"""What a search has to have of a model's translation, kept on disk: a model that was translated before is not again.

The key is of all that a translation is made from: the text of the model and the values that it reaches, its
configuration, the claims that are asked for, the text of this program, and the version of Python. What is kept stands
beside the machine code, and is refused as that is: where it is damaged, or others can have written it.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reassure.checkers.encoding.state_layout import Layout, placed
from reassure.checkers.engines.native.model.kernel_numbers import (
    JudgeText,
    KernelParameter,
    ModelKernel,
    parameter_codes,
)
from reassure.checkers.engines.native.translator import llvm
from reassure.checkers.request.digest import program_digest
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.vacuity import constantly_true
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.semantics.interpreter import BoundModel

if TYPE_CHECKING:
    from reassure.spec.frontend.lowered_model import LoweredModel

MADE_BY = ("spec", "checkers/encoding", "checkers/request", "checkers/engines/native")
"""Folders of the program whose text makes a translation, with all that is below them."""


@dataclass(frozen=True)
class Kept:
    """The place of a model's translation on disk. facts: what is there; None if nothing is."""

    key: str
    facts: Mapping[str, Any] | None

    @property
    def constant(self) -> frozenset[str]:
        """As of `Translation`."""
        return frozenset(self.facts["constant"]) if self.facts is not None else frozenset()


def look_up(prepared: Prepared, options: SearchOptions) -> Kept | None:
    """What is kept of a model, for the claims that options want; None where the text of the program is not known."""
    program, bound = program_digest(MADE_BY), prepared.bound
    if program is None:
        return None
    claims = [p.name for p in (*bound.properties, *bound.covers) if options.wants(p.name)]
    deadlock = bound.model.deadlock and options.wants("deadlock")
    config = sorted(prepared.config.items())
    of_model = (bound.model.name, prepared.sha256, prepared.values_sha256, config, claims, deadlock)
    key = "t" + hashlib.sha256(repr((program, sys.version, of_model)).encode()).hexdigest()[:39]
    stored = llvm.KEPT.read(key)
    return Kept(key, None if stored is None else json.loads(zlib.decompress(stored)))


class Translation:
    """What a search has to have of a model's translation. The model is lowered when it has to have what is not kept."""

    def __init__(
        self, lower: Callable[[], LoweredModel], layout: Layout, bound: BoundModel, kept: Kept | None = None
    ) -> None:
        """lower: gives the lowered model. kept: of this model, with these claims."""
        self._lower, self.layout, self.bound, self._kept = lower, layout, bound, kept
        self.facts = kept.facts if kept is not None else None

    @classmethod
    def of(cls, lowered: LoweredModel, layout: Layout) -> Translation:
        """That of a lowered model."""
        return cls(lambda: lowered, layout, lowered.bound)

    @cached_property
    def lowered(self) -> LoweredModel:
        """The model in the form that engines translate."""
        return self._lower()

    @cached_property
    def clipping(self) -> frozenset[str]:
        """The actions of which a step may leave a bound, as far as the text of the model tells."""
        if self.facts is not None:
            return frozenset(self.facts["clipping"])
        return frozenset(action.name for action in self.lowered.actions if action.clips)

    @cached_property
    def constant(self) -> frozenset[str]:
        """The claims whose translations are the constant true."""
        return frozenset(constantly_true(self.lowered))

    @cached_property
    def judge(self) -> JudgeText:
        """The properties about whole runs. Raises `LanguageError` if there are too many."""
        if self.facts is not None:
            text, claims, may_raise = self.facts["judge"]
            return JudgeText(text, tuple((name, kind) for name, kind in claims), may_raise)
        from reassure.checkers.engines.native.model.model_kernel import judge_of

        return judge_of(self.lowered, self.layout)

    @cached_property
    def parameters(self) -> tuple[tuple[KernelParameter, ...], ...]:
        """By action: its parameters."""
        if self.facts is not None:
            return self._typed(self.facts["packed"])
        from reassure.checkers.engines.native.model.build_loops import kernel_parameters

        return tuple(kernel_parameters(action.parameters) for action in self.lowered.actions)

    def _typed(self, packed: list[list[bool]]) -> tuple[tuple[KernelParameter, ...], ...]:
        """The parameters of the model's actions. packed: as of `KernelParameter`, by action and parameter."""
        return tuple(
            tuple(KernelParameter(name, kind, one) for (name, kind), one in zip(free, flags, strict=True))
            for free, flags in zip(self.bound.parameter_types, packed, strict=True)
        )

    def kept_kernel(self, parameters: bool) -> ModelKernel | None:
        """The kernel's own part, if it is kept. parameters: as of `model_kernel`."""
        facts = self.facts
        if facts is None:
            return None
        fields = [placed(parameter_codes(of_action)) for of_action in self.parameters] if parameters else []
        return ModelKernel(
            facts["ir"],
            self.layout,
            tuple(facts["step_flags"]),
            tuple((path, declared) for path, declared in facts["clips"]),
            tuple(facts["actions"]),
            facts["max_successors"],
            max((words for _, words in fields), default=0) if parameters else None,
            tuple(of_action for of_action, _ in fields),
            tuple(facts["state_flags"]),
        )

    def keep(self, kernel: ModelKernel) -> None:
        """Keeps all of it on disk, for the next process."""
        if self._kept is None or self.facts is not None:
            return
        packed = [[p.packed for p in of_action] for of_action in self.parameters]
        if self._typed(packed) != self.parameters:
            return  # a type that the front end has otherwise than plain Python has it
        facts = {
            "ir": kernel.ir,
            "step_flags": kernel.step_flags,
            "clips": kernel.clips,
            "actions": kernel.actions,
            "max_successors": kernel.max_successors,
            "state_flags": kernel.state_flags,
            "clipping": sorted(self.clipping),
            "constant": sorted(self.constant),
            "judge": self.judge,
            "packed": packed,
        }
        llvm.KEPT.write(self._kept.key, zlib.compress(json.dumps(facts).encode(), 1))
