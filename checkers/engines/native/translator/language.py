"""The vocabulary of kernels: functions on 64-bit integers that run as plain Python and compile to machine code.

A kernel is a top-level function marked `@kernel`. It uses integers, arrays of integers (`Words`), packed states
(`State`), dataclasses of these, and calls other kernels and the intrinsics of this module. `kernel_translator` lists
what else it may contain. A result that may leave 64 bits goes through `wrap`; array elements always fit 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Protocol, TypeVar

UNROLLED = 64
"""A static `range` of at most this many numbers is unrolled; a state's words are reached in no other way."""
F = TypeVar("F", bound=Callable[..., object])


class Words(Protocol):
    """An array of signed 64-bit integers: `array("q")`, a one-dimensional numpy array, or a list."""

    def __getitem__(self, index: int, /) -> int: ...

    def __setitem__(self, index: int, value: int, /) -> None: ...


State = tuple[int, ...]
"""The words of one state. Compiled, each word is a variable of its own: a state is never stored as a tuple."""
STATIC = "static"
Static = Annotated[int, STATIC]
"""An integer that is known when a kernel is compiled. Each value gets machine code of its own."""


def kernel(function: F) -> F:
    """Marks a function that is written in the language of kernels."""
    function.__kernel__ = "inline"  # type: ignore[attr-defined]
    return function


def rare_kernel(function: F) -> F:
    """Marks a kernel that is called seldom, so that its code is kept out of its callers' loops."""
    function.__kernel__ = "apart"  # type: ignore[attr-defined]
    return function


def is_kernel(value: object) -> bool:
    """Whether a value is a function marked as a kernel."""
    return hasattr(value, "__kernel__")


def is_inlined(function: object) -> bool:
    """Whether a kernel's code is put into its callers."""
    return getattr(function, "__kernel__", "") == "inline"


# -- intrinsics: what they do in plain Python; the translator emits instructions of the processor ----------------------


def wrap(number: int) -> int:
    """The lower 64 bits of an integer, as a signed number. Compiled, every operation wraps; this emits nothing."""
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def popcount(word: int) -> int:
    """The number of ones in a word."""
    return (word & ((1 << 64) - 1)).bit_count()


def lowest(word: int) -> int:
    """The index of the lowest one in a word; 0 for the word 0."""
    return ((word & -word) & ((1 << 64) - 1)).bit_length() - 1 if word else 0


def highest(word: int) -> int:
    """The index of the highest one in a word; 63 for the word 0."""
    return (word & ((1 << 64) - 1)).bit_length() - 1 if word else 63


def scaled(word: int, size: int) -> int:
    """A word, read as a fraction of 2**64, times a size: an index below `size` that is in the order of the words."""
    return ((word & ((1 << 64) - 1)) * size) >> 64


def load_acquire(words: Words, index: int) -> int:
    """Reads an element atomically (acquire): writes that were released before it are visible."""
    return words[index]


def store_release(words: Words, index: int, value: int) -> None:
    """Writes an element atomically (release)."""
    words[index] = value


def compare_and_swap(words: Words, index: int, expected: int, new: int) -> int:
    """Writes `new` if the element is `expected`, in one atomic step; returns the value that the element had."""
    found = words[index]
    if found == expected:
        words[index] = new
    return found


def prefetch(words: Words, index: int) -> None:
    """Asks the processor to fetch the cache line of an element, which is to be read and perhaps written soon."""


LANES = 8
"""Words that `compare_line` looks at: a cache line."""


def compare_line(words: Words, index: int, value: int, mask: int) -> int:
    """Compares `LANES` words from an index on with a value, each read once.

    Bit k is set if `value` minus word k has no one in `mask`; bit `LANES` + k if word k is 0.
    """
    found = 0
    for k in range(LANES):
        word = int(words[index + k])
        found |= (wrap(value - word) & mask == 0) << k | (word == 0) << LANES + k
    return found


class _Tail:
    """The elements of an array from an index on, without a copy."""

    def __init__(self, words: Words, start: int) -> None:
        self.words, self.start = words, start

    def __getitem__(self, index: int, /) -> int:
        return self.words[self.start + index]

    def __setitem__(self, index: int, value: int, /) -> None:
        self.words[self.start + index] = value


def words_from(words: Words, start: int) -> Words:
    """The elements of an array from `start` on; compiled, a pointer to that element."""
    return _Tail(words, start)
