"""Random walks. A walk depends on its number and the seed alone, so that any number of threads takes the same walks."""

from __future__ import annotations

from dataclasses import dataclass

from reassure.checkers.engines.native.kernels.model_code import (
    ACTION_BITS,
    ERROR,
    ModelCode,
    action_of,
    append_successors,
    note_steps,
)
from reassure.checkers.engines.native.kernels.state_table import hash_of, words_at, write_state
from reassure.checkers.engines.native.translator.language import (
    State,
    Static,
    Words,
    highest,
    kernel,
    lowest,
    scaled,
    wrap,
)

SKETCH_BITS = 14
"""Bits of a hash that choose a register of the sketch that estimates how many distinct states were visited."""
HIT_WORDS = 128
"""Words of `WalkArguments.first_hits` for one word of claims: 64 pairs."""

_GOLDEN = -7046029254386353131
_RANK_BITS = 64 - SKETCH_BITS


@dataclass
class WalkArguments:
    """The walks to take, and the arrays that they write to."""

    model: ModelCode
    first: int
    """The number of the first walk."""
    last: int
    seed: int
    steps: int
    """Of a walk, at the most."""
    initial_states: Words
    initial_count: int
    weights: Words
    """By action."""
    successors: Words
    """Room for the successors of one state, and one row more."""
    state: Words
    """The current state of the current walk."""
    tally: Words
    taken: Words
    """By action: steps that walks took."""
    lengths: Words
    """By number of steps: walks."""
    first_hits: Words
    """By word of claims and bit: the fewest steps to a hit, and the first walk with so few."""
    hits: Words
    """By word of claims and bit: walks with a hit."""
    expanded: Words
    """Claims over steps that `append_successors` saw; not read."""
    seen: Words
    """By word of claims: those that the current walk hit."""
    sketch: Words
    path: Words
    """Gets the first `path_states` states of each walk."""
    path_states: int
    idle: int
    """1: steps that change nothing are drawn too. 0: only where one hits a claim for the first time in its walk."""
    states: int
    """The number of states that the last walk visited."""


@kernel
def shuffled(x: int) -> int:
    """The number that SplitMix64 makes of a counter."""
    z = wrap((x ^ ((x >> 30) & 0x3FFFFFFFF)) * -4658895280553007687)
    z = wrap((z ^ ((z >> 27) & 0x1FFFFFFFFF)) * -7723592293110705685)
    return z ^ ((z >> 31) & 0x1FFFFFFFF)


@kernel
def sketch_state(state: State, sketch: Words) -> None:
    """HyperLogLog: keeps the longest run of leading zeros among the hashes that fall to a register."""
    h = shuffled(hash_of(state))
    register = h & ((1 << SKETCH_BITS) - 1)
    rank = _RANK_BITS - highest(((h >> SKETCH_BITS) & ((1 << _RANK_BITS) - 1)) | 1)
    sketch[register] = max(sketch[register], rank)


@kernel
def pick(words: Static, rows: Words, row_words: int, n: int, weights: Words, x: int) -> int:
    """One of n successors: an action by weight among the enabled ones, then one of its steps. -1: none has weight."""
    total = 0
    last = -1
    for k in range(n):
        action = action_of(words, rows, k * row_words)
        if action != last:
            total += weights[action]
            last = action
    if total == 0:
        return -1
    left = scaled(x, total)
    begin = 0
    while begin < n:
        action = action_of(words, rows, begin * row_words)
        end = begin + 1
        while end < n and action_of(words, rows, end * row_words) == action:
            end += 1
        if left < weights[action]:
            return begin + scaled(shuffled(wrap(x + _GOLDEN)), end - begin)
        left -= weights[action]
        begin = end
    return -1


@kernel
def leave_out_idle(words: Static, a: WalkArguments, n: int) -> int:
    """Keeps, in their order, the steps that change the state or hit a claim that the walk did not; returns how many."""
    row_words = a.model.row_words
    kept = 0
    for k in range(n):
        at = k * row_words
        differs = 0
        for j in range(words):
            differs |= a.successors[at + j] ^ a.state[j]
        for j in range(a.model.step_words):
            differs |= (a.successors[at + words + j] >> ACTION_BITS) & ~a.seen[1 + j]
        if differs != 0:
            for j in range(row_words):
                a.successors[kept * row_words + j] = a.successors[at + j]
            kept += 1
    return kept


@kernel
def note_hits(claims: int, word: int, steps: int, number: int, first_hits: Words) -> None:
    """Keeps, for each claim, the walk that hit it after the fewest steps; of equals, the first walk."""
    while claims != 0:
        at = word * HIT_WORDS + 2 * lowest(claims)
        claims &= claims - 1
        if steps < first_hits[at] or (steps == first_hits[at] and number < first_hits[at + 1]):
            first_hits[at] = steps
            first_hits[at + 1] = number


@kernel
def count_hits(seen: Words, claim_words: int, hits: Words) -> None:
    """Counts a walk for each claim that it hit."""
    for word in range(claim_words):
        claims = seen[word]
        while claims != 0:
            hits[word * 64 + lowest(claims)] += 1
            claims &= claims - 1


@kernel
def take_walk(words: Static, a: WalkArguments, number: int) -> int:
    """One walk; returns its steps. It ends in a state in which Python raises, with `a.tally[ERROR]` set."""
    x = shuffled(wrap(a.seed + _GOLDEN * (number + 1)))
    start = scaled(shuffled(x ^ _GOLDEN), a.initial_count)
    write_state(a.state, 0, words_at(words, a.initial_states, start * words))
    for word in range(a.model.step_words + 1):
        a.seen[word] = 0
    row_words = a.model.row_words
    steps = 0
    while True:
        state = words_at(words, a.state, 0)
        if steps < a.path_states:
            write_state(a.path, steps * words, state)
        sketch_state(state, a.sketch)
        n, claims = append_successors(words, a.model, a.state, 0, a.successors, 0, a.tally)
        note_steps(words, a.model, a.successors, n, a.expanded)
        note_hits(claims & ~a.seen[0], 0, steps, number, a.first_hits)
        a.seen[0] |= claims
        if steps == a.steps or n == 0 or a.tally[ERROR] != 0:
            return steps
        if a.idle == 0:
            n = leave_out_idle(words, a, n)
        x = wrap(x + _GOLDEN)
        k = pick(words, a.successors, row_words, n, a.weights, shuffled(x))
        if k < 0:
            return steps
        for j in range(a.model.step_words):
            claims = a.successors[k * row_words + words + j] >> ACTION_BITS
            note_hits(claims & ~a.seen[1 + j], 1 + j, steps + 1, number, a.first_hits)
            a.seen[1 + j] |= claims
        a.taken[action_of(words, a.successors, k * row_words)] += 1
        write_state(a.state, 0, words_at(words, a.successors, k * row_words))
        steps += 1


@kernel
def take_walks(words: Static, a: WalkArguments) -> None:
    """Walks a.first..a.last-1; ends early, with a.first that walk, after one that ended where Python raises."""
    for number in range(a.first, a.last):
        steps = take_walk(words, a, number)
        a.states = steps + 1
        a.lengths[steps] += 1
        count_hits(a.seen, a.model.step_words + 1, a.hits)
        if a.tally[ERROR] != 0:
            a.first = number
            return


EXPORTED = (take_walks,)
