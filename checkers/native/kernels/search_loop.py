"""The inner loop of a breadth-first search: expands states, looks their successors up, keeps the new ones.

Successors are collected in batches, so that the table's lines are fetched while others are looked up.
"""

from __future__ import annotations

from dataclasses import dataclass

from reassure.checkers.native.kernels.model_code import ModelCode, action_of, follow
from reassure.checkers.native.kernels.state_table import (
    BATCH,
    insert,
    skip_others,
    slot_of,
    tag_of,
    words_at,
    write_state,
)
from reassure.checkers.native.translator.language import Static, Words, kernel, load, prefetch


@dataclass
class SliceArguments:
    """What a thread expands, where it looks states up, and what it writes to."""

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
    """How many states `found` has."""
    room: int
    """The slice ends early once it has found more states than this, `BATCH` and one state's successors apart."""
    successors: Words
    """Room for `BATCH` rows and the successors of one state."""
    batch: Words
    """Room for as many slots."""
    tally: Words
    claims: Words
    """Claims over states, then over steps, that were hit."""


@kernel
def keep_new(
    words: Static, table: Words, slots: int, rows: Words, row_words: int, n: int, found: Words, end: int, batch: Words
) -> int:
    """Inserts the states of n successor rows; appends the new ones to `found` and returns its new end."""
    for k in range(n):
        batch[k] = slot_of(words_at(words, rows, k * row_words), slots)
        prefetch(table, batch[k] * words)
    for k in range(n):
        state = words_at(words, rows, k * row_words)
        tag = action_of(words, rows, k * row_words) + 1
        slot = skip_others(table, slots, batch[k], state)
        first = load(table, slot * words)
        if first == 0 or tag_of(first) > tag:  # new, or reached by a later action only, or locked
            if insert(table, slots, slot, state, tag):
                write_state(found, end * words, state)
                end += 1
    return end


@kernel
def search_slice(words: Static, a: SliceArguments) -> None:
    """Expands states a.low..a.high-1. Ends early, with a.low the next state, before a batch that might not fit."""
    model, frontier, high, tally, claims = a.model, a.frontier, a.high, a.tally, a.claims
    table, slots, found, successors, batch = a.table, a.slots, a.found, a.successors, a.batch
    row_words = model.row_words
    end, limit = a.end, a.end + a.room
    n = 0
    i = a.low
    state_claims = claims[0]
    while i < high:
        n, hit = follow(words, model, frontier, i, successors, n, tally, claims)
        state_claims |= hit
        i += 1
        if n >= BATCH or i == high:
            end = keep_new(words, table, slots, successors, row_words, n, found, end, batch)
            n = 0
            if end > limit:
                break
    claims[0] = state_claims
    a.low = i
    a.end = end


EXPORTED = (search_slice,)
__all__ = ["SliceArguments", "keep_new", "search_slice"]
