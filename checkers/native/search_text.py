"""The search half of a kernel, as text: written for one number of words, appended to the generated successor function.

One table of full states for all threads; a tag is 1 + the action that first reached the state, while its level is being
found. A slot is claimed with compare-and-swap; with several words it is locked until they are all written. Successors
are collected in batches whose table lines are prefetched before they are looked up.
"""

from __future__ import annotations

from reassure.checkers.native.table_text import BATCH, differs, rows_of

STEP_BITS = 47
"""Claims over steps in one word behind a successor: the lower 16 bits are the action's, the sign stays free."""
STATE_CLAIMS = 61
"""Claims over states that one word holds, beside `terminal` and the deadlock."""

TEMPLATE = '''
LOCKED = TAKEN | (127 << TAG_AT)
MAX_TAG = 126
DEAD = 62


@njit(**OPTIONS)
def insert(table, size, slot, {row}, tag):
    """Puts a state in; True if it was not there. A smaller tag replaces a larger one of the same level."""
    new = w0 | TAKEN | (tag << TAG_AT)
    while True:
        at = slot * {W}
        seen = load(table, at)
        if seen == 0:
            {claim}
        {spin}
        if (seen & STATE) == w0{same}:
            old = (seen >> TAG_AT) & 127
            while old > tag:
                was = compare_and_swap(table, at, seen, new)
                if was == seen:
                    break
                seen = was
                old = (seen >> TAG_AT) & 127
            return False
        slot = slot + 1 if slot + 1 < size else 0


@njit(forceinline=True, **OPTIONS)
def flush(table, size, out, n, found, at, slots):
    """Looks a batch of successors up; new ones are appended to `found`. Returns the new end of `found`."""
    for k in range(n):
        {row_out}
        slots[k] = slot_of({row}, size)
        prefetch(table, slots[k] * {W})
    for k in range(n):
        {row_out}
        tag = (out[k, {W}] & 65535) + 1
        slot = slots[k]
        # Most are there already: found without a call. The rest, and slots being written, are left to `insert`.
        seen = load(table, slot * {W})
        while seen != 0 and {unlike}:
            slot = slot + 1 if slot + 1 < size else 0
            seen = load(table, slot * {W})
        if seen == 0 or ((seen >> TAG_AT) & 127) > tag:
            if insert(table, size, slot, {row}, tag if tag < MAX_TAG else MAX_TAG):
                {append}
                at += 1
    return at


@njit(inline="always", **OPTIONS)
def follow(frontier, i, out, n, tally, flags):
    """Appends the successors of a state: the new end, and its claims. Those of its steps are added to `flags`."""
    verdict = check(frontier, i, tally)
    clips = tally[CLIPS_TOTAL]
    m = expand(frontier, i, out, n, tally)
    if m == n and tally[CLIPS_TOTAL] == clips and ((verdict >> (STATE_FLAGS - 1)) & 1) == 0:
        verdict |= 1 << DEAD
    if STEP_FLAGS > 0:
        for k in range(n, m):
            for j in range(STEP_WORDS):
                flags[1 + j] |= out[k, {W} + j] >> 16
    tally[GENERATED] += m - n
    return m, verdict


@njit(**OPTIONS)
def search_slice(frontier, low, high, table, found, at, out, slots, tally, flags, room):
    """Expands frontier[low:high]. `flags`: claims over states seen so far (a bit set), then those over steps.

    Ends early, before a batch that might not fit: returns the next state to expand, and the new end of `found`.
    """
    size = table.shape[0] // {W}
    start = at
    n = int64(0)
    i = low
    state_flags = flags[0]
    while i < high:
        n, verdict = follow(frontier, i, out, n, tally, flags)
        state_flags |= verdict
        i += 1
        if n >= {batch} or i == high:
            at = flush(table, size, out, n, found, at, slots)
            n = int64(0)
            if at - start > room:
                break
    flags[0] = state_flags
    return i, at


@njit(**OPTIONS)
def settle(table, found, low, high, slots, new):
    """Counts new states by the action that reached them first, and forgets their tags."""
    size = table.shape[0] // {W}
    for first in range(low, high, {batch}):
        last = min(first + {batch}, high)
        for i in range(first, last):
            {row_found}
            slots[i - first] = slot_of({row}, size)
            prefetch(table, slots[i - first] * {W})
        for i in range(first, last):
            {row_found}
            at = slots[i - first] * {W}
            seen = table[at]
            while {differs}:
                at = at + {W} if at + {W} < table.shape[0] else 0
                seen = table[at]
            new[((seen >> TAG_AT) & 127) - 1] += 1
            table[at] = w0 | TAKEN


@njit(**OPTIONS)
def seed(table, {row}):
    """Puts an initial state in; True if it is new."""
    size = table.shape[0] // {W}
    return insert(table, size, slot_of({row}, size), {row}, 0)


@njit(**OPTIONS)
def fill_table(states, table, slots):
    """Bare inserts of given states, batched as in the search: what the table itself can do."""
    size = table.shape[0] // {W}
    fresh = 0
    n = states.shape[0]
    for low in range(0, n, {batch}):
        high = min(low + {batch}, n)
        for i in range(low, high):
            {row_states}
            slots[i - low] = slot_of({row}, size)
            prefetch(table, slots[i - low] * {W})
        for i in range(low, high):
            {row_states}
            slot = slots[i - low]
            seen = load(table, slot * {W})
            while seen != 0 and {unlike}:
                slot = slot + 1 if slot + 1 < size else 0
                seen = load(table, slot * {W})
            if seen == 0:
                fresh += insert(table, size, slot, {row}, 1)
    return fresh
'''


def search_text(words: int) -> str:
    """The text for states of this many words."""
    every = range(words)
    rest = range(1, words)

    claim_one = """was = compare_and_swap(table, at, 0, new)
            if was == 0:
                return True
            seen = was"""
    writes = "\n                ".join(f"table[at + {k}] = w{k}" for k in rest)
    claim_many = f"""was = compare_and_swap(table, at, 0, LOCKED)
            if was == 0:
                {writes}
                store(table, at, new)
                return True
            seen = was"""
    spin = "while seen == LOCKED:\n            seen = load(table, at)"
    different = " or ".join(["(seen & STATE) != w0", *(f"table[slot * {words} + {k}] != w{k}" for k in rest)])
    unlike = f"seen != LOCKED and ({different})" if words > 1 else different
    return TEMPLATE.format(
        W=words,
        batch=BATCH,
        row=", ".join(f"w{k}" for k in every),
        claim=claim_one if words == 1 else claim_many,
        spin=spin if words > 1 else "",
        same="".join(f" and table[at + {k}] == w{k}" for k in rest),
        row_out=rows_of(words, "out", "k", 8),
        row_found=rows_of(words, "found", "i", 12),
        row_states=rows_of(words, "states", "i", 12),
        differs=differs(words),
        append="\n                ".join(f"found[at, {k}] = w{k}" for k in every),
        unlike=unlike,
    )
