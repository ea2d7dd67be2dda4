"""Fingerprints of states: 120 bits in the 16 bytes of a table's slot, whatever a state takes.

Four lanes of multilinear hashing with a random key: two different states get the same 32 bits of a lane with a
probability of 2^-32 whatever the states are, and the lanes are independent (Lemire and Kaser, "Strongly universal
string hashing is fast", 2014). Eight of the 128 bits are the table's own.
"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.native.translator.language import Words, kernel, wrap
from reassure.checkers.engines.native.translator.native_function import native

Key = tuple[tuple[int, ...], ...]
"""By lane: random words, signed."""
WORDS = 2
BITS = 120

_HALF = (1 << 32) - 1


@kernel
def lane(rows: Words, at: int, words: int, key: Words, begin: int) -> int:
    """32 bits of the state that begins at `at`, by the lane whose key begins at `begin`."""
    h = key[begin]
    for k in range(words):
        h = wrap(h + key[begin + 2 * k + 1] * (rows[at + k] & _HALF))
        h = wrap(h + key[begin + 2 * k + 2] * ((rows[at + k] >> 32) & _HALF))
    return (h >> 32) & _HALF


@kernel
def write_fingerprints(rows: Words, count: int, row_words: int, words: int, key: Words, out: Words) -> None:
    """Writes the two words of the fingerprint of the state, of `words` words, that each row begins with."""
    size = 2 * words + 1
    for i in range(count):
        at = i * row_words
        a, b = lane(rows, at, words, key, 0), lane(rows, at, words, key, size)
        c, d = lane(rows, at, words, key, 2 * size), lane(rows, at, words, key, 3 * size)
        out[2 * i] = a << 24 | b >> 8
        out[2 * i + 1] = wrap(c << 32 | d)


EXPORTED = (write_fingerprints,)


def new_key(words: int) -> Key:
    """A random key for states of this many words."""
    return tuple(tuple(secrets.randbits(64) - (1 << 63) for _ in range(2 * words + 1)) for _ in range(4))


def fingerprints(rows: NDArray[np.int64], key: Key) -> NDArray[np.int64]:
    """The fingerprints of the states that these rows begin with; the upper byte of word 0 of each is 0."""
    out = np.empty((len(rows), WORDS), np.int64)
    words = len(key[0]) // 2
    native(write_fingerprints)(rows, len(rows), rows.shape[1], words, np.array(key, np.int64), out)
    return out


def collision_bound(states: int) -> float:
    """An upper bound of the probability that two of so many states share a fingerprint, so that one is not visited."""
    return min(1.0, states * (states - 1) / 2 / 2.0**BITS)
