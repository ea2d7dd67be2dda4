"""The table of visited states: open addressing with linear probing, shared by all threads, growing in place.

A slot has as many words as a state. Word 0 of a state leaves its upper `TAG_BITS` bits to the table: `TAKEN` marks a
slot in use; the seven bits below hold the tag of a state of the level that is being found, 0 after `settle`. The tag is
1 + the number of the action that reached the state; of several threads the least tag wins. A slot of several words is
`LOCKED` while they are written. Where a state is looked for first, its home, follows the order of the hashes, so that
a larger table keeps the order of a smaller one. States of one word are looked for a cache line at a time, without
a branch for each slot, which could not be predicted.
"""

from __future__ import annotations

from reassure.checkers.encoding.state_layout import TAG_BITS
from reassure.checkers.engines.native.translator.language import (
    LANES,
    State,
    Static,
    Words,
    compare_and_swap,
    compare_line,
    kernel,
    load_acquire,
    lowest,
    prefetch,
    rare_kernel,
    scaled,
    store_release,
    wrap,
)

BATCH = 384
"""States whose slots are prefetched before the first of them is looked up."""
TAG_AT = 64 - TAG_BITS
TAG_MASK = 127
MAX_TAG = 126
"""The largest tag of a state; an action's number is below it."""
STATE_BITS = (1 << TAG_AT) - 1
"""The bits of word 0 that are the state's."""
TAKEN = -(1 << 63)
LOCKED = TAKEN | TAG_MASK << TAG_AT
NO_TAG = ~(TAG_MASK << TAG_AT)
SAME = (1 << LANES) - 1
"""Of what `compare_line` returns: which words are as wanted."""

_MIX = -7046029254386353131
_FINISH = -4658895280553007687


@kernel
def hash_of(state: State) -> int:
    """64 bits of which the upper ones are well mixed."""
    h = wrap(state[0] * _MIX)
    if len(state) == 1:
        h ^= h >> 32
    for k in range(1, len(state)):
        h = wrap((h ^ (h >> 32) ^ state[k]) * _MIX)
    return wrap(h * _FINISH)


@kernel
def slot_of(state: State, slots: int) -> int:
    """The slot of a table of this size where a state is looked for first."""
    return scaled(hash_of(state), slots)


@kernel
def home_of(state: State, slots: int) -> int:
    """The slot where a state is looked for first in a table; of a state of one word it begins a line."""
    return slot_of(state, slots) & -LANES if len(state) == 1 else slot_of(state, slots)


@kernel
def words_at(words: Static, array: Words, at: int) -> State:
    """The words of an array from an index on, as they are."""
    return tuple(array[at + k] for k in range(words))


@kernel
def state_at(words: Static, array: Words, at: int) -> State:
    """The state whose words begin at an index, without its tag."""
    return tuple(array[at + k] & STATE_BITS if k == 0 else array[at + k] for k in range(words))


@kernel
def write_state(array: Words, at: int, state: State) -> None:
    """Writes the words of a state from an index on."""
    for k in range(len(state)):
        array[at + k] = state[k]


@kernel
def next_slot(slot: int, slots: int) -> int:
    """The slot after this one; the first follows the last."""
    return slot + 1 if slot + 1 < slots else 0


@kernel
def holds(table: Words, slot: int, first: int, state: State) -> bool:
    """Whether a slot, with `first` in its word 0, holds this state."""
    at = slot * len(state)
    return (first & STATE_BITS) == state[0] and all(table[at + k] == state[k] for k in range(1, len(state)))


@kernel
def tag_of(first: int) -> int:
    """The tag in word 0 of a slot."""
    return (first >> TAG_AT) & TAG_MASK


@kernel
def next_line(slot: int, slots: int) -> int:
    """The slot that begins the line after the one that begins here; the first follows the last."""
    return slot + LANES if slot + LANES < slots else 0


@kernel
def in_line(table: Words, slot: int, word: int) -> int:
    """The place of a state of one word in the line that begins at a slot (`SAME`), and free slots: `compare_line`."""
    return compare_line(table, slot, word | LOCKED, NO_TAG)


@kernel
def find_in_lines(table: Words, slots: int, slot: int, word: int) -> int:
    """As `find_slot`, of a state of one word."""
    line = in_line(table, slot, word)
    while line == 0:
        slot = next_line(slot, slots)
        line = in_line(table, slot, word)
    return slot + lowest(line & SAME if line & SAME != 0 else line >> LANES)


@kernel
def find_slot(table: Words, slots: int, slot: int, state: State) -> int:
    """The slot that holds a state, or the free slot where it would go; `slot` is its home. None is locked meanwhile."""
    if len(state) == 1:
        return find_in_lines(table, slots, slot, state[0])
    first = load_acquire(table, slot * len(state))
    while first != 0 and not holds(table, slot, first, state):
        slot = next_slot(slot, slots)
        first = load_acquire(table, slot * len(state))
    return slot


@kernel
def is_in_first_line(table: Words, slot: int, word: int, tag: int) -> bool:
    """Whether the line that begins at a slot holds a state of one word with this tag or a smaller one.

    It may lie in a later line, which is rare: then the answer is False too, and `insert_state` looks on.
    """
    return compare_line(table, slot, word | TAKEN | tag << TAG_AT, NO_TAG) & SAME != 0


@kernel
def skip_others(table: Words, slots: int, slot: int, state: State) -> int:
    """As `find_slot`, of a state of several words, while other threads insert: also stops at a locked slot."""
    first = load_acquire(table, slot * len(state))
    while first != 0 and first != LOCKED and not holds(table, slot, first, state):
        slot = next_slot(slot, slots)
        first = load_acquire(table, slot * len(state))
    return slot


@kernel
def lower_tag(table: Words, at: int, first: int, new: int, tag: int) -> None:
    """Gives the state whose word 0, at this index, was `first` the tag of `new`, unless it has a smaller one."""
    while tag_of(first) > tag:
        found = compare_and_swap(table, at, first, new)
        if found == first:
            return
        first = found


@kernel
def insert_in_lines(table: Words, slots: int, slot: int, word: int, tag: int) -> bool:
    """As `insert_state`, of a state of one word."""
    new = word | TAKEN | tag << TAG_AT
    while True:
        line = in_line(table, slot, word)
        if line & SAME != 0:
            at = slot + lowest(line)
            lower_tag(table, at, load_acquire(table, at), new, tag)
            return False
        free = line >> LANES
        while free != 0:  # what is before the first free slot are other states, for good
            at = slot + lowest(free)
            first = compare_and_swap(table, at, 0, new)
            if first == 0:
                return True
            if (first & STATE_BITS) == word:
                lower_tag(table, at, first, new, tag)
                return False
            free &= free - 1
        slot = next_line(slot, slots)


@rare_kernel
def insert_state(table: Words, slots: int, slot: int, state: State, tag: int) -> bool:
    """Inserts a state, looked for from `slot` on, its home or what `skip_others` says; whether it is new.

    Of two tags of one level the smaller one stays.
    """
    words: Static = len(state)
    if words == 1:
        return insert_in_lines(table, slots, slot, state[0], tag)
    new = state[0] | TAKEN | tag << TAG_AT
    while True:
        at = slot * words
        first = load_acquire(table, at)
        if first == 0:
            first = compare_and_swap(table, at, 0, LOCKED)
            if first == 0:
                for k in range(1, words):
                    table[at + k] = state[k]
                store_release(table, at, new)
                return True
        while first == LOCKED:
            first = load_acquire(table, at)
        if holds(table, slot, first, state):
            lower_tag(table, at, first, new, tag)
            return False
        slot = next_slot(slot, slots)


@kernel
def free_slot(table: Words, slots: int, state: State) -> int:
    """The first free slot from the home of a state on."""
    words: Static = len(state)
    slot = home_of(state, slots)
    if words == 1:
        free = in_line(table, slot, state[0]) >> LANES
        while free == 0:
            slot = next_line(slot, slots)
            free = in_line(table, slot, state[0]) >> LANES
        slot += lowest(free)
    else:
        while table[slot * words] != 0:
            slot = next_slot(slot, slots)
    return slot


@kernel
def place_state(table: Words, slots: int, tagged: State, state: State) -> int:
    """Writes a state with its tag into the first free slot from its home on; returns the slot."""
    words: Static = len(state)
    slot = free_slot(table, slots, state)
    write_state(table, slot * words, tagged)
    return slot


@kernel
def move(table: Words, slots: int, words: Static, array: Words, at: int) -> int:
    """Moves a state with its tag from an array, where zeros are left, into a table; returns its slot."""
    tagged, state = words_at(words, array, at), state_at(words, array, at)
    for k in range(words):
        array[at + k] = 0
    return place_state(table, slots, tagged, state)


@kernel
def spread(words: Static, table: Words, old: int, slots: int, spare: Words, spare_slots: int) -> bool:
    """Moves the states of a table of `old` slots to their places in one of `slots` slots that begins where it begins.

    States move up, so the last goes first; those of the first `spare_slots` slots are kept in `spare` meanwhile.
    Returns False if a state came to lie among those still to be moved, which takes a chain of `spare_slots` states.
    """
    kept = min(old, spare_slots)
    n = 0
    for slot in range(kept):
        if table[slot * words] != 0:
            write_state(spare, n * words, words_at(words, table, slot * words))
            for k in range(words):
                table[slot * words + k] = 0
            n += 1
    for slot in range(old - 1, kept - 1, -1):
        if table[slot * words] != 0:
            target = move(table, slots, words, table, slot * words)
            if kept <= target < slot:
                return False
    for i in range(n):
        move(table, slots, words, spare, i * words)
    return True


@kernel
def spread_part(
    words: Static, table: Words, low: int, high: int, slots: int, first: int, end: int, aside: Words, room: int
) -> int:
    """Moves the states of slots low..high-1 to their places in slots first..end-1 of a table that grows to `slots`.

    Nothing else reads or writes these slots meanwhile. What belongs elsewhere is moved to `aside`; returns how many
    these are, and `room` + 1 if there are more than so many.
    """
    n = 0
    for slot in range(low, high):
        if table[slot * words] != 0:
            tagged, state = words_at(words, table, slot * words), state_at(words, table, slot * words)
            for k in range(words):
                table[slot * words + k] = 0
            target = free_slot(table, slots, state)
            if first <= home_of(state, slots) and home_of(state, slots) <= target and target < end:
                write_state(table, target * words, tagged)
            elif n < room:
                write_state(aside, n * words, tagged)
                n += 1
            else:
                return room + 1
    return n


@kernel
def move_all(words: Static, rows: Words, count: int, table: Words, slots: int) -> None:
    """Moves states with their tags from rows into a table."""
    for i in range(count):
        move(table, slots, words, rows, i * words)


@kernel
def unseen(
    words: Static, rows: Words, count: int, row_words: int, table: Words, slots: int, found: Words, batch: Words
) -> int:
    """Writes the numbers of the rows whose states the table does not hold; returns how many there are.

    rows: they begin with a state, with its tag or without. batch: room for `BATCH` slots.
    """
    n = 0
    for low in range(0, count, BATCH):
        high = min(low + BATCH, count)
        for i in range(low, high):
            batch[i - low] = home_of(state_at(words, rows, i * row_words), slots)
            prefetch(table, batch[i - low] * words)
        for i in range(low, high):
            slot = find_slot(table, slots, batch[i - low], state_at(words, rows, i * row_words))
            if table[slot * words] == 0:
                found[n] = i
                n += 1
    return n


@kernel
def put_back(words: Static, rows: Words, count: int, row_words: int, table: Words, slots: int) -> None:
    """Inserts the settled states that rows of `row_words` words begin with; they are distinct and not in the table."""
    for i in range(count):
        state = state_at(words, rows, i * row_words)
        tagged = tuple(state[k] | TAKEN if k == 0 else state[k] for k in range(words))
        place_state(table, slots, tagged, state)


@kernel
def settle(
    words: Static, table: Words, slots: int, rows: Words, low: int, high: int, batch: Words, by_tag: Words
) -> None:
    """Counts the states of rows low..high-1 by their tags (`by_tag[tag]`), and removes the tags from the table."""
    for begin in range(low, high, BATCH):
        end = min(begin + BATCH, high)
        for i in range(begin, end):
            batch[i - begin] = home_of(words_at(words, rows, i * words), slots)
            prefetch(table, batch[i - begin] * words)
        for i in range(begin, end):
            at = find_slot(table, slots, batch[i - begin], words_at(words, rows, i * words)) * words
            by_tag[tag_of(table[at])] += 1
            table[at] = table[at] & STATE_BITS | TAKEN


@kernel
def insert_all(words: Static, rows: Words, count: int, tag: int, table: Words, slots: int, batch: Words) -> int:
    """Inserts states under one tag, in batches as a search does; returns how many are new."""
    new = 0
    for low in range(0, count, BATCH):
        high = min(low + BATCH, count)
        for i in range(low, high):
            batch[i - low] = home_of(words_at(words, rows, i * words), slots)
            prefetch(table, batch[i - low] * words)
        for i in range(low, high):
            state = words_at(words, rows, i * words)
            if words > 1 or not is_in_first_line(table, batch[i - low], state[0], tag):
                new += insert_state(table, slots, batch[i - low], state, tag)
    return new


EXPORTED = (insert_state, home_of, spread, spread_part, move_all, unseen, put_back, settle, insert_all)
