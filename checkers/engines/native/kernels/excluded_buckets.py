"""The kernel that finds buckets of a region without a fair loop, by what is enabled and taken there, with no edges.

Where something fair is enabled in every state of a bucket and no step within the bucket counts for it, a run that stays
there for ever is not fair, whichever loop it takes. Whether a step stays in the region is asked of the state that it
leads to, so that no state is looked up.
"""

from __future__ import annotations

from reassure.checkers.engines.native.kernels.model_code import action_of
from reassure.checkers.engines.native.kernels.region_edges import (
    FALLS,
    UNCHANGED,
    JudgeText,
    RegionArguments,
    label_of,
    rank_move,
)
from reassure.checkers.engines.native.translator.language import Static, Words, kernel, words_from
from reassure.spec.language.light_dataclasses import dataclass

MOST_BITS = 62
"""The largest label that has a bit: label n has bit n. Others exclude nothing."""


@dataclass
class SurveyArguments:
    """A region, and what is found of its buckets."""

    judge: JudgeText
    stays: int
    """A state whose verdict has none of these bits is in the region."""
    bucket_of: Words
    """By row: its bucket."""
    always: Words
    """By bucket, labels as bits: those that are enabled in each of its states. All ones at first, as of no state."""
    taken: Words
    """By bucket: labels of `always` that steps within it count for. Zeros at first."""


@kernel
def bit_of(label: int) -> int:
    """The bit of a label; 0 if it has none."""
    return 1 << label if 1 <= label <= MOST_BITS else 0


@kernel
def survey_buckets(words: Static, a: RegionArguments, s: SurveyArguments) -> None:
    """Expands states a.low..a.high-1, as far as they are in the region, and notes what is enabled and what is taken.

    Steps that leave a bound are left out: they are within no bucket, and enable more. If a step of the region leads to
    an earlier bucket, a.low is `FALLS` afterwards, and `high` its state. Labels that there is no room for have no bit.
    """
    while a.low < a.high:
        state = a.low
        a.low += 1
        if s.judge(words_from(a.rows, state * words), a.tally, state) & s.stays == 0:
            bucket = s.bucket_of[state]
            enabled, inside = 0, 0
            end = a.model.expand(words_from(a.rows, state * words), a.successors, 0, a.tally, state)
            for row in range(end):
                at = row * a.model.row_words
                move = rank_move(words, a, state, at)
                if move != UNCHANGED:
                    bit = bit_of(label_of(words, a, action_of(words, a.successors, at), at))
                    enabled |= bit
                    matters = move == 0 and bit & s.always[bucket] & ~(s.taken[bucket] | inside) != 0
                    if matters or move == FALLS:
                        if s.judge(words_from(a.successors, at), a.tally, state) & s.stays == 0:
                            if move == FALLS:
                                a.low = FALLS
                                a.high = state
                                return
                            inside |= bit
            s.always[bucket] &= enabled
            s.taken[bucket] |= inside


EXPORTED = (survey_buckets,)
