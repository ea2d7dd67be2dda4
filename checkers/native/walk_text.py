"""The random-walk half of a kernel, as text. A walk depends on its number and the seed alone, not on threads."""

from __future__ import annotations

SKETCH = 14
"""Bits of a hash that choose a register of the sketch that estimates how many distinct states were visited."""

TEMPLATE = '''
GOLDEN = -7046029254386353131


@njit(**OPTIONS)
def shuffled(x):
    """The next number of SplitMix64."""
    z = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * -4658895280553007687
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * -7723592293110705685
    return z ^ ((z >> 31) & 0x1FFFFFFFF)


@njit(**OPTIONS)
def sketch_state({row}, sketch):
    """HyperLogLog: the longest run of leading zeros among the hashes that fall to a register."""
    h = shuffled(hash_of({row}))
    register = h & {registers}
    rank = {sketch_rest} - highest((h >> {sketch_bits} & {sketch_mask}) | 1)
    if rank > sketch[register]:
        sketch[register] = rank


@njit(**OPTIONS)
def pick(out, n, weights, x):
    """One of n successors: an action by weight among the enabled ones, then one of its steps. -1: none has weight."""
    total = 0
    k = 0
    last = -1
    for k in range(n):
        action = out[k, {W}] & 65535
        if action != last:
            total += weights[action]
            last = action
    if total == 0:
        return -1
    left = scaled(x, total)
    k = 0
    while k < n:
        action = out[k, {W}] & 65535
        end = k + 1
        while end < n and (out[end, {W}] & 65535) == action:
            end += 1
        if left < weights[action]:
            return k + scaled(shuffled(x + GOLDEN), end - k)
        left -= weights[action]
        k = end
    return -1


@njit(**OPTIONS)
def note(word, kind, at, number, best):
    """Keeps, for each bit, the walk that hit it after the fewest steps (of equals the first walk)."""
    while word != 0:
        bit = lowest(word)
        word &= word - 1
        if at < best[kind, bit, 0] or (at == best[kind, bit, 0] and number < best[kind, bit, 1]):
            best[kind, bit, 0] = at
            best[kind, bit, 1] = number


@njit(**OPTIONS)
def walks(first, last, seed, steps, initials, weights, out, row, tally, taken, lengths, best, hits, over, sketch, path):
    """Walks first..last-1. `path`, if it has room, gets the states of the walk. Returns the states of the last one."""
    at = 0
    for number in range(first, last):
        x = shuffled(seed + GOLDEN * (number + 1))
        chosen = scaled(shuffled(x ^ GOLDEN), initials.shape[0])
        for k in range({W}):
            row[0, k] = initials[chosen, k]
        for j in range(STEP_WORDS + 1):
            over[j] = 0
        at = 0
        while True:
            if at < path.shape[0]:
                for k in range({W}):
                    path[at, k] = row[0, k]
            {row_row}
            sketch_state({row}, sketch)
            verdict = check(row, 0, tally)
            clips = tally[CLIPS_TOTAL]
            n = expand(row, 0, out, 0, tally)
            if tally[ERROR] != 0:
                return at + 1
            if n == 0 and tally[CLIPS_TOTAL] == clips and ((verdict >> (STATE_FLAGS - 1)) & 1) == 0:
                verdict |= 1 << DEAD
            note(verdict & ~over[0], 0, at, number, best)
            over[0] |= verdict
            if at == steps or n == 0:
                break
            x += GOLDEN
            k = pick(out, n, weights, shuffled(x))
            if k < 0:
                break
            for j in range(STEP_WORDS):
                flags = out[k, {W} + j] >> 16
                note(flags & ~over[1 + j], 1 + j, at + 1, number, best)
                over[1 + j] |= flags
            taken[out[k, {W}] & 65535] += 1
            for j in range({W}):
                row[0, j] = out[k, j]
            at += 1
        lengths[at] += 1
        for j in range(STEP_WORDS + 1):
            while over[j] != 0:
                hits[j, lowest(over[j])] += 1
                over[j] &= over[j] - 1
    return at + 1
'''


def walk_text(words: int) -> str:
    """The text for states of this many words."""
    every = range(words)
    bits = 64 - SKETCH
    return TEMPLATE.format(
        W=words,
        row=", ".join(f"w{k}" for k in every),
        row_row="\n            ".join(f"w{k} = row[0, {k}]" for k in every),
        registers=(1 << SKETCH) - 1,
        sketch_bits=SKETCH,
        sketch_mask=(1 << bits) - 1,
        sketch_rest=bits,
    )
