"""The verdicts of properties about whole runs on single states, as one compiled function.

Also here: the states that runs which violate properties may stay in, among all that are reachable: one pass over the
levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

import numpy as np

from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTIONS_AT
from reassure.checkers.engines.native.kernels.region_edges import JudgeArguments, judge_rows, keep_staying
from reassure.checkers.engines.native.model.kernel_numbers import RAISES_AT, JudgeText
from reassure.checkers.engines.native.probe import rows_in_order
from reassure.checkers.engines.native.search import RaisedAt
from reassure.checkers.engines.native.translator import llvm
from reassure.checkers.engines.native.translator.native_function import ModelFunction, native
from reassure.spec.language.light_dataclasses import dataclass


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
    """The properties about whole runs of a model, compiled."""

    def __init__(self, judge: JudgeText, words: int) -> None:
        """words: of a state."""
        self.words, self.may_raise = words, judge.may_raise
        address = llvm.compiled_functions(llvm.code_key(judge.text), lambda: judge.text, ("judge",))["judge"]
        self.function = ModelFunction(address, "wwi")
        self.claims = {
            name: TemporalClaim(kind, 1 << 2 * number, 1 << 2 * number + 1)
            for number, (name, kind) in enumerate(judge.claims)
        }

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
        claim, verdicts = self.claims[name], self.verdicts(rows)
        return verdicts & claim.holds != 0, verdicts & claim.goal != 0


@dataclass(frozen=True)
class FirstStart:
    """The first state from which on a run may stay in a region: the smallest one of the earliest level that has any."""

    level: int
    row: Rows
    verdict: int
    """What holds of it: `TemporalClaims.verdicts`."""


@dataclass
class Candidates:
    """What one pass over all levels tells of some claims."""

    open: list[TemporalClaim]
    """Those that have a first start which does not decide them."""
    parts: list[Rows] = field(default_factory=list)
    """States, in parts: all that a run may stay in that violates an open claim, if it gets there."""
    first: dict[TemporalClaim, FirstStart] = field(default_factory=dict)
    """By claim, where there is any."""
    seen: int = 0
    """What some reachable state's verdict has, bit by bit."""
    depth: int = 0
    """How many levels there are."""

    def join(self) -> Rows:
        """Puts the parts into one array."""
        if len(self.parts) != 1:
            self.parts = [np.concatenate(self.parts)]
        return self.parts[0]

    def keep(self, claims: list[TemporalClaim], judge: Callable[[Rows], Rows]) -> None:
        """Gives up the states that only other claims need. judge: as of `candidates_of`."""
        self.open = claims
        self.parts = [_staying(rows, judge(rows), claims) for rows in self.parts]

    @property
    def count(self) -> int:
        """Of states."""
        return sum(map(len, self.parts))

    @property
    def nbytes(self) -> int:
        """Bytes of the states."""
        return sum(rows.nbytes for rows in self.parts)

    def sample(self, size: int) -> Rows:
        """About so many of the states, taken at regular distances."""
        step = self.count // size + 1
        rows = np.concatenate([rows[::step] for rows in self.parts])
        return np.ascontiguousarray(rows[:: len(rows) // size + 1])


def candidates_of(
    level_rows: Iterable[Iterable[Rows]],
    claims: Sequence[TemporalClaim],
    words: int,
    judge: Callable[[Rows], Rows],
    stops: Callable[[TemporalClaim, FirstStart], bool],
    allow: Callable[[int], None],
    look: Callable[[], None],
) -> Candidates:
    """Judges every state. words: of a state.

    judge: `TemporalClaims.verdicts`. stops: whether a run that violates a claim may stop in its first start, which
    decides it. allow: called with the bytes that are held; raises where the memory limit would be passed. Raises
    `RaisedAt` if a claim raises in a state: for the first, in canonical order.
    """
    found, held = Candidates(list(claims), [np.zeros((0, words), np.int64)]), 0
    for level, parts in enumerate(level_rows, 1):
        look()
        found.depth = level
        starting: dict[TemporalClaim, list[Rows]] = {c: [] for c in found.open if c not in found.first}
        raising = []
        for part in parts:
            verdicts = judge(part)
            seen = int(np.bitwise_or.reduce(verdicts))
            found.seen |= seen
            if seen >> RAISES_AT & 1:
                raising.append(_smallest(part[verdicts >> RAISES_AT & 1 != 0]))
            for claim in starting:
                if claim.concerned(seen) and (begins := claim.starts(verdicts)).any():
                    starting[claim].append(_smallest(part[begins]))
            if found.open:
                found.parts.append(kept := _staying(part, verdicts, found.open))
                held += min(2 * len(kept), len(part)) * 8 * words
                allow(held)
        if raising:
            raise RaisedAt(_smallest(np.concatenate(raising))[0])
        for claim, rows in starting.items():
            if rows:
                row = _smallest(np.concatenate(rows))
                found.first[claim] = FirstStart(level, row[0], int(judge(row)[0]))
                if stops(claim, found.first[claim]):
                    found.open.remove(claim)
    found.open = [claim for claim in found.open if claim in found.first]
    return found


def _smallest(rows: Rows) -> Rows:
    """The first of some rows in canonical order, as an array of one row."""
    return rows_in_order(rows)[:1].copy()


def _staying(rows: Rows, verdicts: Rows, claims: Sequence[TemporalClaim]) -> Rows:
    """A copy of the states that a run may stay in that violates one of some claims."""
    stays, kept = np.array([claim.stay_bits for claim in claims], np.int64), np.empty_like(rows)
    count = native(keep_staying)(rows.shape[1], rows, verdicts, len(rows), stays, len(stays), kept)
    return kept[:count] if 2 * count > len(rows) else kept[:count].copy()
