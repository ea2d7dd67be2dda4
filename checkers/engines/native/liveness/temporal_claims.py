"""The verdicts of properties about whole runs on single states, as one compiled function.

i64 @judge(ptr %row, ptr %tally, i64 %where)        two bits for each property: what it is of, and its goal; one more:
                                                    whether plain Python raises in one of them
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.region_edges import JudgeArguments, judge_rows
from reassure.checkers.engines.native.kernels.tally import ACTIONS_AT
from reassure.checkers.engines.native.model.emit_nodes import NodeEmitter
from reassure.checkers.engines.native.model.ir_text import DECLARATIONS, FunctionText
from reassure.checkers.engines.native.translator import llvm
from reassure.checkers.engines.native.translator.native_function import ModelFunction, native
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.vocabulary import LanguageError

MOST = 31
"""Properties about whole runs that one word holds."""
RAISES_AT = 2 * MOST
"""The bit for what raises."""


@dataclass(frozen=True)
class TemporalClaim:
    """Which verdicts on states concern one property, by their bits."""

    kind: str
    holds: int
    """The bit of what the property is of."""
    goal: int
    """The bit of its goal, if it has one."""

    @property
    def stay_bits(self) -> int:
        """A violating run may stay in a state whose verdict has none of these bits."""
        return {"leads_to": self.goal, "recurrence": self.holds}.get(self.kind, 0)

    @property
    def return_bits(self) -> int:
        """It has to return to states whose verdicts have none of these bits, among those that it stays in."""
        return self.goal if self.kind == "leads_to" else self.holds

    def stays(self, verdicts: Rows) -> np.ndarray:
        """By state: whether a violating run may stay in it."""
        return np.asarray(verdicts & self.stay_bits == 0)

    def returns(self, verdicts: Rows) -> np.ndarray:
        """By state: whether a violating run has to return to it, or another such state, again and again."""
        return np.asarray(verdicts & (self.stay_bits | self.return_bits) == 0)

    def starts(self, verdicts: Rows) -> np.ndarray:
        """By state: whether a violating run may stay in the region from here on."""
        return self.stays(verdicts) & (verdicts & self.holds != 0) if self.kind == "leads_to" else self.stays(verdicts)

    def concerned(self, seen: int) -> bool:
        """Whether some state is what the property is about, if the verdicts on all states have these bits."""
        return self.kind != "leads_to" or seen & self.holds != 0


class TemporalClaims:
    """The properties about whole runs of a lowered model, compiled."""

    def __init__(self, lowered: LoweredModel, layout: Layout) -> None:
        """Raises `LanguageError` if there are too many."""
        self.formulas = [f for f in lowered.state_formulas if f.claim is not None and f.claim.temporal]
        if len(self.formulas) > MOST:
            raise LanguageError(f"{len(self.formulas)} properties about whole runs: at most {MOST} are possible")
        self.words = layout.words
        text = _text(lowered, layout, self)
        address = llvm.compiled_functions(llvm.digest(text), lambda: text, ("judge",))["judge"]
        self.function = ModelFunction(address, "wwi")

    @property
    def may_raise(self) -> bool:
        """Whether a property raises in some state, perhaps an unreachable one."""
        return any(f.checks for f in self.formulas)

    def verdicts(self, rows: Rows) -> Rows:
        """What holds of states, by bit; bit `RAISES_AT`: a property raises in it, or a goal."""
        verdicts, tally = np.empty(len(rows), np.int64), np.zeros(ACTIONS_AT, np.int64)
        native(judge_rows)(self.words, JudgeArguments(self.function, rows, len(rows), verdicts, tally))
        return verdicts

    def raising(self, rows: Rows) -> Rows:
        """Those of the states in which a property raises, or a goal."""
        raising: Rows = rows[self.verdicts(rows) >> RAISES_AT & 1 != 0]
        return raising

    def truth(self, name: str, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """By state: whether it satisfies what a property is of, and its goal if it has one; none raises in them."""
        claim, verdicts = self.claim(name), self.verdicts(rows)
        return verdicts & claim.holds != 0, verdicts & claim.goal != 0

    def claim(self, name: str) -> TemporalClaim:
        """A property, by its name."""
        number, formula = next((i, f) for i, f in enumerate(self.formulas) if f.name == name)
        assert formula.claim is not None
        return TemporalClaim(formula.claim.kind, 1 << 2 * number, 1 << 2 * number + 1)


def _text(lowered: LoweredModel, layout: Layout, claims: TemporalClaims) -> str:
    f = FunctionText(
        "judge", ("ptr noalias %row", "ptr noalias %tally", "i64 %where"), internal=False, suffix="nounwind "
    )
    helpers: dict[str, str] = {}
    values = NodeEmitter(f, layout, tuple(leaf.path for leaf in lowered.leaves), helpers)
    result = "0"
    for number, formula in enumerate(claims.formulas):
        for check in formula.checks:
            raises = f.negated(values.value(check.condition))
            result = f.either(result, f.left(f.widened(raises), RAISES_AT))
        result = f.either(result, f.left(values.number(formula.condition), 2 * number))
        if formula.goal is not None:
            result = f.either(result, f.left(values.number(formula.goal), 2 * number + 1))
    f.do(f"ret i64 {result}")
    return "\n".join([DECLARATIONS, f.text(), *helpers.values()])
