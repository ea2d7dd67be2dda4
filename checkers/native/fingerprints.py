"""Fingerprints of states: 120 bits in the 16 bytes of a table's slot, whatever a state takes.

Four lanes of multilinear hashing with a random key: two different states get the same 32 bits of a lane with a
probability of 2^-32 whatever the states are, and the lanes are independent (Lemire and Kaser, "Strongly universal
string hashing is fast", 2014). Eight of the 128 bits are the table's own.
"""

from __future__ import annotations

import secrets
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.native.kernel_cache import loaded
from reassure.checkers.native.table_text import table_text

Key = tuple[tuple[int, ...], ...]
"""By lane: random words, signed."""
WORDS = 2
BITS = 120

TEMPLATE = '''"""The table of fingerprints, generated; do not edit."""
from numba import int64, njit

from reassure.checkers.native.intrinsics import load, prefetch, scaled

OPTIONS = {"nogil": True, "error_model": "numpy", "cache": True}
HALF = (1 << 32) - 1


@njit(**OPTIONS)
def lane(rows, i, words, key, number):
    """32 bits of a state."""
    h = key[number, 0]
    for k in range(words):
        h += key[number, 2 * k + 1] * (rows[i, k] & HALF) + key[number, 2 * k + 2] * ((rows[i, k] >> 32) & HALF)
    return (h >> 32) & HALF


@njit(**OPTIONS)
def fingerprints(rows, words, key, out):
    """Of the state at the start of each row."""
    for i in range(rows.shape[0]):
        out[i, 0] = lane(rows, i, words, key, 0) << 24 | lane(rows, i, words, key, 1) >> 8
        out[i, 1] = lane(rows, i, words, key, 2) << 32 | lane(rows, i, words, key, 3)
'''


def new_key(words: int) -> Key:
    """A random key for states of this many words."""
    return tuple(tuple(secrets.randbits(64) - (1 << 63) for _ in range(2 * words + 1)) for _ in range(4))


def module() -> ModuleType:
    """The compiled table of fingerprints."""
    return loaded(TEMPLATE + table_text(WORDS))


def fingerprints(rows: NDArray[np.int64], key: Key) -> NDArray[np.int64]:
    """Of the states that these rows begin with, none with anything in the upper byte of word 0."""
    out = np.empty((len(rows), WORDS), np.int64)
    module().fingerprints(rows, len(key[0]) // 2, np.array(key, np.int64), out)
    return out


def collision_bound(states: int) -> float:
    """At most how probable it is that two of so many states share a fingerprint, so that one was passed over."""
    return min(1.0, states * (states - 1) / 2 / 2.0**BITS)


__all__ = ["BITS", "Key", "collision_bound", "fingerprints", "new_key"]
