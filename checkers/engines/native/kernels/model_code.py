"""A model's two compiled functions, as kernels call them, and the form of the rows that they write.

A *successor row* is a state, `step_words` words about the step (word 0: the action's number in bits 0-15; claims over
steps from bit 16 of each word on), then the parameters of the step if the model is compiled with them.

Also here: the fixed places of a tally, in which a kernel counts: an array of words that each thread has for itself.

`ACTIONS_AT` is followed by one place for each action (its successors and clipped steps), then one for each bound that
steps may exceed.
"""

from __future__ import annotations

from collections.abc import Callable

from reassure.checkers.engines.native.translator.language import Static, Words, kernel, words_from
from reassure.spec.language.light_dataclasses import dataclass

ERROR = 0
"""1 + the row of a state in which Python raises; 0: none."""
CLIPS_TOTAL = 1
"""Steps that exceed a bound."""
GENERATED = 2
"""Steps within the bounds."""
SWITCH = 3
"""1 + the number of the guard that is left out; 0: none is."""
ACTIONS_AT = 4


Check = Callable[[Words, Words, int], int]
"""(state, tally, row number) -> the claims that hold of a state, by bit."""
Expand = Callable[[Words, Words, int, Words, int], int]
"""(state, rows, n, tally, row number) -> the new n: appends the successors of a state as rows n, n+1, ..."""

ACTION_BITS = 16
ACTION_MASK = (1 << ACTION_BITS) - 1
STEP_BITS = 47
"""Claims over steps in one word, above the action's bits; the sign stays free."""
STATE_CLAIMS = 60
"""Claims over states, at the most: bits 0-59 of what `check` returns."""
TERMINAL_RAISES = 60
"""Bit: Python raises when it asks whether the state is terminal."""
TERMINAL = 61
"""Bit: the state is terminal."""
DEADLOCK = 62
"""Bit that is set here: the state has no successor and is not terminal."""
STATE_CLAIM_BITS = (1 << STATE_CLAIMS) - 1


@dataclass
class ModelCode:
    """The part of a model that kernels need."""

    check: Check
    expand: Expand
    row_words: int
    step_words: int
    step_claims: int
    """Number of claims over steps."""
    parameter_words: int
    """Words for the parameters of a step, 0 if rows come without."""


@kernel
def action_of(words: Static, rows: Words, at: int) -> int:
    """The action of the successor row that begins at an index."""
    return rows[at + words] & ACTION_MASK


@kernel
def append_successors(
    words: Static, model: ModelCode, frontier: Words, i: int, rows: Words, n: int, tally: Words
) -> tuple[int, int]:
    """Appends the successors of state i; returns the new end and the claims over the state, `DEADLOCK` among them.

    A state in which something raises is not a deadlock.
    """
    state = words_from(frontier, i * words)
    claims = model.check(state, tally, i)
    clips = tally[CLIPS_TOTAL]
    end = model.expand(state, rows, n, tally, i)
    if end == n and tally[CLIPS_TOTAL] == clips and tally[ERROR] != i + 1:
        if (claims >> TERMINAL_RAISES) & 1 != 0:
            tally[ERROR] = i + 1
        elif (claims >> TERMINAL) & 1 == 0:
            claims |= 1 << DEADLOCK
    tally[GENERATED] += end - n
    return end, claims & (STATE_CLAIM_BITS | 1 << DEADLOCK)


@kernel
def note_steps(words: Static, model: ModelCode, rows: Words, n: int, claims: Words) -> None:
    """Adds the claims over the steps of n successor rows to claims[1], claims[2], ..."""
    if model.step_claims > 0:
        for j in range(model.step_words):
            hit = 0
            for k in range(n):
                hit |= rows[k * model.row_words + words + j]
            claims[1 + j] |= hit >> ACTION_BITS
