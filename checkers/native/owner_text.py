"""The part of a kernel that a search over many processes needs, as text: parcels by owner, and taking them in.

A state belongs to one of `parts` owners by its hash. On the way it carries its tag (1 + the action that first reached
it) in the upper byte of word 0, as in a table. Where more is to be said of it, it is gathered in a wide row instead:

    the state | its tag | its origin, if the kernel has parameters: the state before, the action, the parameters
"""

from __future__ import annotations

from reassure.checkers.native.table_text import BATCH, differs, rows_of

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
def owners(rows, parts, out):
    """The owner of each state."""
    for i in range(rows.shape[0]):
        {row_rows}
        out[i] = owner_of({row}, parts)


@njit(**OPTIONS)
def edges(rows, out, counts, tally):
    """Every step from these states, in order; how many from each."""
    n = int64(0)
    for i in range(rows.shape[0]):
        m = expand(rows, i, out, n, tally)
        counts[i] = m - n
        n = m
    return n


WIDE = {wide}
ORIGIN = {origin}
LEAST = -(1 << 63)


@njit(**OPTIONS)
def gather(rows, n, index, found, at):
    """Takes wide rows in: of a state that is there already, the least tag and the least origin stay.

    index: where in `found` each state is, + 1. Returns the new end of `found`.
    """
    size = index.shape[0]
    for i in range(n):
        {row_rows}
        slot = slot_of({row}, size)
        while True:
            j = index[slot] - 1
            if j < 0:
                for c in range(WIDE):
                    found[at, c] = rows[i, c]
                at += 1
                index[slot] = at
                break
            if {alike}:
                found[j, {W}] = min(found[j, {W}], rows[i, {W}])
                if ORIGIN > 0 and sooner(rows, i, found, j):
                    for c in range({W} + 1, WIDE):
                        found[j, c] = rows[i, c]
                break
            slot = slot + 1 if slot + 1 < size else 0
    return at


@njit(**OPTIONS)
def sooner(rows, i, found, j):
    """Whether the state before is the smaller one, in canonical order: of equals the first step stays."""
    for c in range({W} + 1, 2 * {W} + 1):
        if rows[i, c] != found[j, c]:
            return (rows[i, c] ^ LEAST) < (found[j, c] ^ LEAST)
    return False


@njit(**OPTIONS)
def gather_slice(frontier, low, high, index, found, at, out, rows, tally, flags, room):
    """As `search_slice`, with wide rows. rows: as many as `out` has."""
    start = at
    n = int64(0)
    i = low
    while i < high:
        m, verdict = follow(frontier, i, out, n, tally, flags)
        flags[0] |= verdict
        for k in range(n, m):
            action = out[k, {W}] & 65535
            for c in range({W}):
                rows[k, c] = out[k, c]
            rows[k, {W}] = min(action + 1, MAX_TAG)
            if ORIGIN > 0:
                for c in range({W}):
                    rows[k, {W} + 1 + c] = frontier[i, c]
                rows[k, 2 * {W} + 1] = action
                for c in range(PARAMETER_WORDS):
                    rows[k, 2 * {W} + 2 + c] = out[k, {W} + STEP_WORDS + c]
        n = m
        i += 1
        if n >= {batch} or i == high:
            at = gather(rows, n, index, found, at)
            n = int64(0)
            if at - start > room:
                break
    return i, at
'''


def origin_words(words: int, parameter_words: int | None) -> int:
    """Words of an origin in a wide row; parameter_words: None if the kernel has no parameters."""
    return 0 if parameter_words is None else words + 1 + parameter_words


def owner_text(words: int, parameter_words: int | None) -> str:
    """The text for states, and parameters, of this many words."""
    every, origin = range(words), origin_words(words, parameter_words)
    return TEMPLATE.format(
        W=words,
        batch=BATCH,
        row=", ".join(f"w{k}" for k in every),
        row_found=rows_of(words, "found", "i", 8),
        row_found_deep=rows_of(words, "found", "i", 12),
        row_rows=rows_of(words, "rows", "i", 8),
        differs=differs(words),
        alike=" and ".join(f"found[j, {k}] == w{k}" for k in every),
        origin=origin,
        wide=words + 1 + origin,
        copy="\n            ".join(f"out[k, {k}] = w{k}" for k in every),
        take="\n            ".join(f"out[k, {k}] = rows[low + k, {k}]" for k in every),
    )
