"""The inner loop that looks through a level for the smallest states from which something is reached, or hit.

Several things are looked for at once. Each has a *best* so far: a word that says whether there is one, then its words.
"""

from __future__ import annotations

from reassure.checkers.engines.native.kernels.model_code import (
    ACTION_BITS,
    DEADLOCK,
    ERROR,
    ModelCode,
    append_successors,
)
from reassure.checkers.engines.native.kernels.state_table import find_slot, home_of, tag_of, words_at, write_state
from reassure.checkers.engines.native.translator.language import Static, Words, kernel, words_from
from reassure.spec.language.light_dataclasses import dataclass

RAISES = -1
"""In the place of a word of claims: Python raises in the state."""
_SIGN = -(1 << 63)


@dataclass
class LookArguments:
    """The states to look at, and what is looked for."""

    model: ModelCode
    level: Words
    low: int
    high: int
    targets: Words
    """A table of states, each with the tag 1 + the number of what it stands for: that a state has it as a successor."""
    slots: int
    target_count: int
    """Numbers that are of targets; those behind them are of claims."""
    claims: Words
    """Of each claim its word (0: over states; `RAISES`), and its bit."""
    claim_count: int
    best: Words
    """By number."""
    successors: Words
    """Room for the successors of one state."""
    tally: Words


@kernel
def is_smaller(words: Static, level: Words, i: int, best: Words, number: int) -> bool:
    """Whether a state comes before the best in canonical order: as unsigned words, the first weighing most."""
    at = number * (words + 1)
    if best[at] == 0:
        return True
    order = 0
    for k in range(words):
        a, b = level[i * words + k] ^ _SIGN, best[at + 1 + k] ^ _SIGN
        if order == 0 and a != b:
            order = -1 if a < b else 1
    return order < 0


@kernel
def note_best(words: Static, level: Words, i: int, best: Words, number: int) -> None:
    """Takes a state as the best, if it is."""
    if is_smaller(words, level, i, best, number):
        at = number * (words + 1)
        best[at] = 1
        write_state(best, at + 1, words_at(words, level, i * words))


@kernel
def is_in_steps(words: Static, rows: Words, row_words: int, n: int, word: int, bit: int) -> bool:
    """Whether one of n steps hits a claim over steps."""
    hits = 0
    for k in range(n):
        hits |= rows[k * row_words + words + word]
    return (hits >> (ACTION_BITS + bit)) & 1 != 0


@kernel
def takes_steps(a: LookArguments, number: int) -> bool:
    """Whether the successors of a state say whether it is looked for."""
    at = 2 * (number - a.target_count)
    return number < a.target_count or a.claims[at] != 0 or a.claims[at + 1] == DEADLOCK


@kernel
def look_back(words: Static, a: LookArguments) -> None:
    """Looks at states a.low..a.high-1; of each thing that is looked for, the smallest state comes to be the best."""
    model, level, best, tally = a.model, a.level, a.best, a.tally
    row_words = model.row_words
    for i in range(a.low, a.high):
        smaller, expands = False, False
        for number in range(a.target_count + a.claim_count):
            if is_smaller(words, level, i, best, number):
                smaller = True
                if takes_steps(a, number):
                    expands = True
        if smaller:
            tally[ERROR] = 0
            n, hits = 0, 0
            if expands:
                n, hits = append_successors(words, model, level, i, a.successors, 0, tally)
            else:
                hits = model.check(words_from(level, i * words), tally, i)
            if a.target_count > 0:
                for k in range(n):
                    state = words_at(words, a.successors, k * row_words)
                    slot = find_slot(a.targets, a.slots, home_of(state, a.slots), state)
                    if a.targets[slot * words] != 0:
                        note_best(words, level, i, best, tag_of(a.targets[slot * words]) - 1)
            for number in range(a.claim_count):
                word, bit = a.claims[2 * number], a.claims[2 * number + 1]
                hit = False
                if word == RAISES:
                    hit = tally[ERROR] != 0
                elif word == 0:
                    hit = (hits >> bit) & 1 != 0
                else:
                    hit = is_in_steps(words, a.successors, row_words, n, word - 1, bit)
                if hit:
                    note_best(words, level, i, best, a.target_count + number)


@dataclass
class BackArguments:
    """Levels that lie one after the other, and a state that one of the last of them has among its successors."""

    model: ModelCode
    level: Words
    ends: Words
    """Where the levels begin, then where the last one ends."""
    levels: int
    path: Words
    """The state, and room for one of each level: those found are written behind it, that of the last level first."""
    best: Words
    """Room for one best."""
    successors: Words
    """Room for the successors of one state."""
    tally: Words


@kernel
def is_among(words: Static, rows: Words, row_words: int, n: int, path: Words, at: int) -> bool:
    """Whether one of n successor rows begins with the state at an index of `path`."""
    among = False
    for k in range(n):
        differs = 0
        for word in range(words):
            differs |= rows[k * row_words + word] ^ path[at + word]
        if differs == 0:
            among = True
    return among


@kernel
def path_back(words: Static, a: BackArguments) -> int:
    """Finds the smallest state before `path`'s first, the smallest one before that, and so on; how many were found."""
    model, level, best = a.model, a.level, a.best
    found = 0
    while found < a.levels:
        best[0] = 0
        number = a.levels - 1 - found
        for i in range(a.ends[number], a.ends[number + 1]):
            if is_smaller(words, level, i, best, 0):
                n, _ = append_successors(words, model, level, i, a.successors, 0, a.tally)
                if is_among(words, a.successors, model.row_words, n, a.path, found * words):
                    note_best(words, level, i, best, 0)
        if best[0] == 0:
            break
        found += 1
        write_state(a.path, found * words, words_at(words, best, 1))
    return found


EXPORTED = (look_back, path_back)
