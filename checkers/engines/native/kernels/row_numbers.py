"""The numbers of states that are written in rows of some width: where each is among states that are known."""

from __future__ import annotations

from reassure.checkers.engines.native.kernels.region_edges import same_row
from reassure.checkers.engines.native.kernels.state_table import BATCH, next_slot, slot_of, words_at
from reassure.checkers.engines.native.translator.language import Static, Words, kernel, prefetch


@kernel
def find_numbers(
    words: Static, known: Words, index: Words, slots: int, rows: Words, row_words: int, count: int, numbers: Words
) -> None:
    """Writes for each row the number of the state that it begins with, -1 if that is not among `known`.

    index: as `number_states` of `native.kernels.region_edges` fills it. numbers: room for `count`, overwritten.
    """
    for first in range(0, count, BATCH):
        last = min(first + BATCH, count)
        for i in range(first, last):
            numbers[i] = slot_of(words_at(words, rows, i * row_words), slots)
            prefetch(index, numbers[i])
        for i in range(first, last):
            slot = numbers[i]
            number = index[slot]
            while number != 0 and not same_row(words, known, number - 1, rows, i * row_words):
                slot = next_slot(slot, slots)
                number = index[slot]
            numbers[i] = number - 1


EXPORTED = (find_numbers,)
