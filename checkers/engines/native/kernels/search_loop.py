"""The inner loop of a breadth-first search: expands states, looks their successors up, keeps the new ones.

Successors are collected in batches, so that the table's lines are fetched while others are looked up.
"""

from __future__ import annotations

from reassure.checkers.engines.native.kernels.model_code import (
    ERROR,
    ModelCode,
    action_of,
    append_successors,
    note_steps,
)
from reassure.checkers.engines.native.kernels.state_table import (
    BATCH,
    holds,
    home_of,
    insert_state,
    is_in_first_line,
    settle,
    skip_others,
    tag_of,
    words_at,
    write_state,
)
from reassure.checkers.engines.native.translator.language import Static, Words, kernel, load_acquire, prefetch
from reassure.spec.language.light_dataclasses import dataclass


@dataclass
class SliceArguments:
    """The states that a thread expands, the table that it looks states up in, and the arrays that it writes to."""

    model: ModelCode
    frontier: Words
    low: int
    """The next state to expand."""
    high: int
    table: Words
    slots: int
    found: Words
    """New states are appended here."""
    end: int
    """The number of states that `found` has."""
    room: int
    """The slice ends early once it has found more states than this, `BATCH` and one state's successors apart."""
    successors: Words
    """Room for `BATCH` rows and the successors of one state."""
    batch: Words
    """Room for two words for each of these rows."""
    tally: Words
    claims: Words
    """Claims over states, then over steps, that were hit."""


@kernel
def not_known(words: Static, table: Words, rows: Words, row_words: int, n: int, batch: Words) -> int:
    """Leaves those of n rows, of states of one word, that are to be inserted; returns how many.

    No branch depends on what the table holds: it could not be predicted.
    """
    left = 0
    for k in range(n):
        slot, at = batch[2 * k], batch[2 * k + 1]
        known = is_in_first_line(table, slot, rows[at], action_of(words, rows, at) + 1)
        batch[2 * left] = slot
        batch[2 * left + 1] = at
        left = left if known else left + 1
    return left


@kernel
def keep_new(
    words: Static, table: Words, slots: int, rows: Words, row_words: int, n: int, found: Words, end: int, batch: Words
) -> int:
    """Inserts the states of n successor rows; appends the new ones to `found` and returns its new end."""
    for k in range(n):
        batch[2 * k] = home_of(words_at(words, rows, k * row_words), slots)
        batch[2 * k + 1] = k * row_words
        prefetch(table, batch[2 * k] * words)
    if words == 1:
        n = not_known(words, table, rows, row_words, n, batch)
    for k in range(n):
        slot, at = batch[2 * k], batch[2 * k + 1]
        state = words_at(words, rows, at)
        tag = action_of(words, rows, at) + 1
        if words > 1:
            slot = skip_others(table, slots, slot, state)
            first = load_acquire(table, slot * words)
            # A slot that was free may hold another state by now. One that is locked has the largest tag.
            if first != 0 and tag_of(first) <= tag and holds(table, slot, first, state):
                continue
        if insert_state(table, slots, slot, state, tag):
            write_state(found, end * words, state)
            end += 1
    return end


@dataclass
class LevelsArguments:
    """Small levels that lie in `found`, one after the other, and that one thread expands in one call."""

    model: ModelCode
    table: Words
    slots: int
    found: Words
    low: int
    """The first state of the level to expand."""
    end: int
    """The number of states that `found` has: where that level ends."""
    room: int
    """States that `found` and the table have room for."""
    successors: Words
    """Room for `BATCH` rows and the successors of one state."""
    batch: Words
    """Room for two words for each of these rows."""
    tally: Words
    claims: Words
    """Claims over states, then over steps, that were hit."""
    known: Words
    """Claims of which no hit is news."""
    by_tag: Words
    """New states, by the tag that they had."""
    ends: Words
    """The end of each level that was found."""
    levels: int
    """Levels that may be expanded."""
    small: int
    """States that a level has at most."""
    states: int
    """States after which the call returns."""
    max_successors: int


@kernel
def expand_rows(
    words: Static,
    model: ModelCode,
    frontier: Words,
    low: int,
    high: int,
    table: Words,
    slots: int,
    found: Words,
    end: int,
    limit: int,
    successors: Words,
    batch: Words,
    tally: Words,
    claims: Words,
) -> tuple[int, int]:
    """Expands states low..high-1, or fewer: until `found` has more than `limit`, before a batch that might not fit.

    The next state to expand, and the number of states that `found` has then.
    """
    row_words = model.row_words
    n = 0
    i = low
    state_claims = claims[0]
    while i < high:
        n, hit = append_successors(words, model, frontier, i, successors, n, tally)
        state_claims |= hit
        i += 1
        if n >= BATCH or i == high:
            note_steps(words, model, successors, n, claims)
            end = keep_new(words, table, slots, successors, row_words, n, found, end, batch)
            n = 0
            if end > limit:
                break
    claims[0] = state_claims
    return i, end


@kernel
def search_slice(words: Static, a: SliceArguments) -> None:
    """Expands states a.low..a.high-1. Ends early, with a.low the next state, before a batch that might not fit."""
    low, end = expand_rows(
        words,
        a.model,
        a.frontier,
        a.low,
        a.high,
        a.table,
        a.slots,
        a.found,
        a.end,
        a.end + a.room,
        a.successors,
        a.batch,
        a.tally,
        a.claims,
    )
    a.low = low
    a.end = end


@kernel
def is_news(claims: Words, known: Words, count: int) -> bool:
    """Whether a claim is hit that was not hit before."""
    news = 0
    for k in range(count):
        news |= (claims[k] | known[k]) ^ known[k]
    return news != 0


@kernel
def search_levels(words: Static, a: LevelsArguments) -> int:
    """Expands whole levels until one is large or might not fit, or hits something new; how many were expanded.

    The last one found, from a.low to a.end, is not expanded; it is empty when every reachable state was visited.
    """
    table, slots, found, claims = a.table, a.slots, a.found, a.claims
    low, high = a.low, a.end
    fits, enough = high + a.room, low + a.states
    expanded = 0
    while expanded < a.levels and low < high and low < enough and high - low <= a.small:
        if (high - low) * a.max_successors > fits - high:
            break
        _, end = expand_rows(
            words, a.model, found, low, high, table, slots, found, high, fits, a.successors, a.batch, a.tally, claims
        )
        settle(words, table, slots, found, high, end, a.batch, a.by_tag)
        a.ends[expanded] = end
        expanded += 1
        low, high = high, end
        if a.tally[ERROR] != 0 or is_news(claims, a.known, 1 + a.model.step_words):
            break
    a.low = low
    a.end = high
    return expanded


EXPORTED = (search_slice, search_levels)
