"""The table of a kernel, as text: which states were visited. Written for one number of words.

A slot is `W` words; word 0 keeps its upper byte for the search: bit 63 is set when the slot is taken, the seven bits
below hold a tag while a level is being found, then 0. Where a state is looked for follows the order of the hashes.
Rows may be wider than a state: what is behind it is not read here.
"""

from __future__ import annotations

BATCH = 384
TAG_BITS = 8

TEMPLATE = '''
TAKEN = -(1 << 63)
TAG_AT = 56
STATE = (1 << TAG_AT) - 1


@njit(**OPTIONS)
def hash_of({row}):
    """64 bits, the upper ones well mixed."""
    h = w0 * -7046029254386353131
    {mix}
    return h * -4658895280553007687


@njit(**OPTIONS)
def slot_of({row}, slots):
    """Where a state is looked for first. In the order of the hashes, so that a larger table keeps the order."""
    return scaled(hash_of({row}), slots)


@njit(**OPTIONS)
def spread(table, old, spare):
    """Moves the states of the first `old` slots to where they belong in the larger table that begins there too.

    From the last to the first, since each moves up: except near the start, which is kept aside. Returns False if a
    state came to lie among those still to be moved: a chain of `KEPT` occupied slots, which no hash makes.
    """
    size = table.shape[0] // {W}
    kept = min(old, spare.shape[0])
    n = 0
    for k in range(kept):
        at = k * {W}
        if table[at] != 0:
            {row_aside}
            n += 1
    for k in range(old - 1, kept - 1, -1):
        at = k * {W}
        if table[at] != 0:
            {row_table}
            slot = place(table, size, {row})
            if kept <= slot < k:
                return False
    for k in range(n):
        {row_spare}
        place(table, size, {row})
    return True


@njit(**OPTIONS)
def place(table, size, {row}):
    """Puts a state with its tag into the first free slot."""
    tagged = w0
    w0 &= STATE
    slot = slot_of({row}, size)
    while table[slot * {W}] != 0:
        slot = slot + 1 if slot + 1 < size else 0
    {copy}
    return slot


@njit(**OPTIONS)
def unseen(rows, table, found, slots):
    """Which rows hold a state, with its tag or without, that the table does not; how many."""
    size = table.shape[0] // {W}
    n = 0
    for low in range(0, rows.shape[0], {batch}):
        high = min(low + {batch}, rows.shape[0])
        for i in range(low, high):
            {row_rows_deep}
            w0 &= STATE
            slots[i - low] = slot_of({row}, size)
            prefetch(table, slots[i - low] * {W})
        for i in range(low, high):
            {row_rows_deep}
            w0 &= STATE
            at = slots[i - low] * {W}
            seen = load(table, at)
            while seen != 0 and ({differs}):
                at = at + {W} if at + {W} < table.shape[0] else 0
                seen = load(table, at)
            if seen == 0:
                found[n] = i
                n += 1
    return n


@njit(**OPTIONS)
def put_back(rows, table):
    """Puts settled states in, that are known to be distinct: a table made anew."""
    size = table.shape[0] // {W}
    for i in range(rows.shape[0]):
        {row_rows}
        w0 |= TAKEN
        place(table, size, {row})
'''


def rows_of(words: int, array: str, index: str, indent: int) -> str:
    """Text that takes a row apart into w0, w1, ..."""
    return f"\n{' ' * indent}".join(f"w{k} = {array}[{index}, {k}]" for k in range(words))


def differs(words: int) -> str:
    """Text that is true where the slot that begins at `at`, with `seen` in word 0, holds another state."""
    return " or ".join(["(seen & STATE) != w0", *(f"table[at + {k}] != w{k}" for k in range(1, words))])


def table_text(words: int) -> str:
    """The text for states of this many words."""
    every = range(words)
    return TEMPLATE.format(
        W=words,
        batch=BATCH,
        row=", ".join(f"w{k}" for k in every),
        mix="\n    ".join(f"h = (h ^ (h >> 32) ^ w{k}) * -7046029254386353131" for k in every[1:])
        or "h = h ^ (h >> 32)",
        row_aside="\n            ".join(f"spare[n, {k}] = table[at + {k}]; table[at + {k}] = 0" for k in every),
        row_table="\n            ".join(f"w{k} = table[at + {k}]; table[at + {k}] = 0" for k in every),
        row_spare=rows_of(words, "spare", "k", 8),
        copy="\n    ".join(f"table[slot * {words} + {k}] = {f'w{k}' if k else 'tagged'}" for k in every),
        row_rows=rows_of(words, "rows", "i", 8),
        row_rows_deep=rows_of(words, "rows", "i", 12),
        differs=differs(words),
    )
