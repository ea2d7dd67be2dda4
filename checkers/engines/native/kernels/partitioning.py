"""Kernels of a search over many processes: states go to the owner of their partition, and are taken in there.

A state belongs to one of `parts` partitions by its hash. On the way it carries its tag in the upper byte of word 0, as
in a table. Where its origin is kept as well, it travels in a *wide row*:

    the state | its tag | its origin: the state before, the action, the parameters of the step

Also here: all steps from some states, as arrays.
"""

from __future__ import annotations

import numpy as np

from reassure.checkers.engines.native.kernels.kernel_shape import Kernel, Rows
from reassure.checkers.engines.native.kernels.model_code import ModelCode, action_of, append_successors, note_steps
from reassure.checkers.engines.native.kernels.search_loop import keep_new
from reassure.checkers.engines.native.kernels.state_table import (
    BATCH,
    STATE_BITS,
    TAG_AT,
    TAG_MASK,
    find_slot,
    hash_of,
    home_of,
    next_slot,
    slot_of,
    tag_of,
    words_at,
    write_state,
)
from reassure.checkers.engines.native.translator.language import (
    State,
    Static,
    Words,
    kernel,
    prefetch,
    scaled,
    words_from,
    wrap,
)
from reassure.spec.language.light_dataclasses import dataclass

_SIGN = -(1 << 63)


@kernel
def owner_of(state: State, parts: int) -> int:
    """The partition of a state, by other bits of the hash than those that choose its slot there."""
    return scaled(wrap(hash_of(state) * -4417276706812531889), parts)


@kernel
def owners(words: Static, rows: Words, count: int, row_words: int, parts: int, out: Words) -> None:
    """Writes the partition of the state that each row begins with."""
    for i in range(count):
        out[i] = owner_of(words_at(words, rows, i * row_words), parts)


@kernel
def by_owner(
    words: Static,
    table: Words,
    slots: int,
    rows: Words,
    count: int,
    parts: int,
    batch: Words,
    counts: Words,
    out: Words,
) -> None:
    """Writes the states found, with their tags from the table, in the order of their partitions: counts[p] are p's."""
    for p in range(parts):
        counts[p] = 0
    for i in range(count):
        counts[owner_of(words_at(words, rows, i * words), parts)] += 1
    begin = 0
    for p in range(parts):
        number = counts[p]
        counts[p] = begin
        begin += number
    for first in range(0, count, BATCH):
        last = min(first + BATCH, count)
        for i in range(first, last):
            batch[i - first] = home_of(words_at(words, rows, i * words), slots)
            prefetch(table, batch[i - first] * words)
        for i in range(first, last):
            state = words_at(words, rows, i * words)
            slot = find_slot(table, slots, batch[i - first], state)
            p = owner_of(state, parts)
            at = counts[p]
            counts[p] = at + 1
            write_state(out, at * words, state)
            out[at * words] |= table[slot * words] & (TAG_MASK << TAG_AT)
    for p in range(parts - 1, 0, -1):
        counts[p] -= counts[p - 1]


@dataclass
class AbsorbArguments:
    """Tagged states that arrived at their owner, and where they go."""

    rows: Words
    count: int
    table: Words
    slots: int
    successors: Words
    """Room for `BATCH` rows of `words` + 1 words."""
    found: Words
    """New states are appended here."""
    end: int
    batch: Words


@kernel
def absorb(words: Static, a: AbsorbArguments) -> None:
    """Inserts tagged states; appends the new ones to a.found."""
    for low in range(0, a.count, BATCH):
        n = min(BATCH, a.count - low)
        for k in range(n):
            at, to = (low + k) * words, k * (words + 1)
            write_state(a.successors, to, words_at(words, a.rows, at))
            a.successors[to] &= STATE_BITS
            a.successors[to + words] = tag_of(a.rows[at]) - 1
        a.end = keep_new(words, a.table, a.slots, a.successors, words + 1, n, a.found, a.end, a.batch)


@dataclass
class EdgeArguments:
    """States whose steps are listed."""

    model: ModelCode
    rows: Words
    count: int
    successors: Words
    counts: Words
    """Gets the number of successors of each state."""
    tally: Words
    end: int
    """Gets the number of successors in all."""


@kernel
def edges(words: Static, a: EdgeArguments) -> None:
    """Lists every step from these states, in order."""
    n = 0
    for i in range(a.count):
        end = a.model.expand(words_from(a.rows, i * words), a.successors, n, a.tally, i)
        a.counts[i] = end - n
        n = end
    a.end = n


@kernel
def earlier_origin(words: Static, rows: Words, a: int, b: int, found: Words) -> bool:
    """Whether the state before in the wide row at a is smaller, in canonical order, than that of found at b."""
    for c in range(words + 1, 2 * words + 1):
        if rows[a + c] != found[b + c]:
            return (rows[a + c] ^ _SIGN) < (found[b + c] ^ _SIGN)
    return False


@kernel
def same_state(words: Static, rows: Words, at: int, state: State) -> bool:
    """Whether the row that begins at an index begins with this state."""
    return all(rows[at + k] == state[k] for k in range(words))


@kernel
def gather(words: Static, rows: Words, count: int, wide: int, index: Words, slots: int, found: Words, end: int) -> int:
    """Collects wide rows: of a state that is there already, the least tag and the least origin stay.

    wide: words of a row. index: by slot, 1 + the row of `found` that holds a state. Returns the new end of `found`.
    """
    for i in range(count):
        at = i * wide
        state = words_at(words, rows, at)
        slot = slot_of(state, slots)
        while index[slot] != 0 and not same_state(words, found, (index[slot] - 1) * wide, state):
            slot = next_slot(slot, slots)
        if index[slot] == 0:
            for c in range(wide):
                found[end * wide + c] = rows[at + c]
            end += 1
            index[slot] = end
        else:
            old = (index[slot] - 1) * wide
            found[old + words] = min(found[old + words], rows[at + words])
            if wide > words + 1 and earlier_origin(words, rows, at, old, found):
                for c in range(words + 1, wide):
                    found[old + c] = rows[at + c]
    return end


@dataclass
class GatherArguments:
    """As `SliceArguments`, with wide rows."""

    model: ModelCode
    frontier: Words
    low: int
    high: int
    wide: int
    """Words of a wide row."""
    index: Words
    slots: int
    found: Words
    end: int
    room: int
    successors: Words
    rows: Words
    """Room for as many wide rows as `successors` has rows."""
    tally: Words
    claims: Words


@kernel
def widen(words: Static, a: GatherArguments, k: int, i: int) -> None:
    """Writes wide row k: successor row k of state i."""
    at, to = k * a.model.row_words, k * a.wide
    action = action_of(words, a.successors, at)
    write_state(a.rows, to, words_at(words, a.successors, at))
    a.rows[to + words] = action + 1
    if a.wide > words + 1:
        write_state(a.rows, to + words + 1, words_at(words, a.frontier, i * words))
        a.rows[to + 2 * words + 1] = action
        for c in range(a.model.parameter_words):
            a.rows[to + 2 * words + 2 + c] = a.successors[at + words + a.model.step_words + c]


@kernel
def gather_slice(words: Static, a: GatherArguments) -> None:
    """As `search_slice`, with wide rows."""
    limit = a.end + a.room
    n = 0
    while a.low < a.high:
        end, claims = append_successors(words, a.model, a.frontier, a.low, a.successors, n, a.tally)
        a.claims[0] |= claims
        for k in range(n, end):
            widen(words, a, k, a.low)
        n = end
        a.low += 1
        if n >= BATCH or a.low == a.high:
            note_steps(words, a.model, a.successors, n, a.claims)
            a.end = gather(words, a.rows, n, a.wide, a.index, a.slots, a.found, a.end)
            n = 0
            if a.end > limit:
                return


EXPORTED = (owners, by_owner, absorb, edges, gather, gather_slice)


def edge_list(kernel: Kernel, rows: Rows, total: Rows | None = None) -> tuple[Rows, Rows]:
    """The successor rows of the states that contiguous rows hold, in order; and how many each state has.

    total: a tally that is added to.
    """
    shape = kernel.shape
    successors = np.empty((len(rows) * max(1, shape.max_successors), shape.row_words), np.int64)
    counts = np.zeros(len(rows), np.int64)
    tally = np.zeros(shape.tally_words, np.int64) if total is None else total
    arguments = EdgeArguments(kernel.code, rows, len(rows), successors, counts, tally, 0)
    kernel.run(edges, kernel.words, arguments)
    return successors[: arguments.end], counts
