"""The part of a kernel that a search over many processes needs, as text: parcels by owner, and taking them in.

A state belongs to one of `parts` owners by its hash. On the way it carries its tag (1 + the action that first reached
it) in the upper byte of word 0, as in a table.
"""

from __future__ import annotations

from checkers.search_text import BATCH

TEMPLATE = '''
@njit(**OPTIONS)
def owner_of({row}, parts):
    """From other bits of the hash than those that choose the slot in the owner's table."""
    return scaled(hash_of({row}) * -4417276706812531889, parts)


@njit(**OPTIONS)
def parcel(table, found, n, parts, slots, counts, out):
    """The states found, with their tags from the table, in the order of their owners: counts[p] are for p."""
    size = table.shape[0] // {W}
    for p in range(parts):
        counts[p] = 0
    for i in range(n):
        {row_found}
        counts[owner_of({row}, parts)] += 1
    end = 0
    for p in range(parts):
        counts[p], end = end, end + counts[p]
    for first in range(0, n, {batch}):
        last = min(first + {batch}, n)
        for i in range(first, last):
            {row_found_deep}
            slots[i - first] = slot_of({row}, size)
            prefetch(table, slots[i - first] * {W})
        for i in range(first, last):
            {row_found_deep}
            at = slots[i - first] * {W}
            seen = table[at]
            while {differs}:
                at = at + {W} if at + {W} < table.shape[0] else 0
                seen = table[at]
            p = owner_of({row}, parts)
            k = counts[p]
            counts[p] = k + 1
            {copy}
            out[k, 0] = w0 | (seen & (127 << TAG_AT))
    for p in range(parts - 1, 0, -1):
        counts[p] -= counts[p - 1]


@njit(**OPTIONS)
def absorb(rows, table, out, found, at, slots):
    """Takes states with tags in; new ones are appended to `found`, whose end is returned."""
    size = table.shape[0] // {W}
    n = rows.shape[0]
    for low in range(0, n, {batch}):
        m = min({batch}, n - low)
        for k in range(m):
            {take}
            out[k, 0] &= STATE
            out[k, {W}] = ((rows[low + k, 0] >> TAG_AT) & 127) - 1
        at = flush(table, size, out, m, found, at, slots)
    return at


@njit(**OPTIONS)
def unseen(rows, table, out, slots):
    """Those of the states, with their tags, that a table does not hold; how many."""
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
                {copy_out}
                n += 1
    return n


@njit(**OPTIONS)
def owners(rows, parts, out):
    """The owner of each state."""
    for i in range(rows.shape[0]):
        {row_rows}
        out[i] = owner_of({row}, parts)


@njit(**OPTIONS)
def edges(rows, out, counts, tally):
    """Every step from these states, in order; how many from each."""
    n = 0
    for i in range(rows.shape[0]):
        m = expand(rows, i, out, n, tally)
        counts[i] = m - n
        n = m
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


def owner_text(words: int) -> str:
    """The text for states of this many words."""
    every = range(words)
    rest = range(1, words)

    def row(array: str, index: str, indent: int) -> str:
        return f"\n{' ' * indent}".join(f"w{k} = {array}[{index}, {k}]" for k in every)

    return TEMPLATE.format(
        W=words,
        batch=BATCH,
        row=", ".join(f"w{k}" for k in every),
        row_found=row("found", "i", 8),
        row_found_deep=row("found", "i", 12),
        row_rows=row("rows", "i", 8),
        row_rows_deep=row("rows", "i", 12),
        copy_out="\n                ".join(f"out[n, {k}] = rows[i, {k}]" for k in every),
        differs=" or ".join(["(seen & STATE) != w0", *(f"table[at + {k}] != w{k}" for k in rest)]),
        copy="\n            ".join(f"out[k, {k}] = w{k}" for k in every),
        take="\n            ".join(f"out[k, {k}] = rows[low + k, {k}]" for k in every),
    )
