"""States that differ only in the numbers of their brokers: the shared properties do not tell these apart."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from reassure.checkers.kafka.controller.driver import Words
from reassure.checkers.kafka.controller.words import (
    CORDONED,
    ELR,
    FENCED,
    ISR,
    LAST_KNOWN,
    LEADER,
    MAX_BROKERS,
    SHUTTING_DOWN,
    UNREGISTERED,
    packed_set,
    unpacked_set,
)

BROKERS_AT = (*range(0, ISR, 3), LEADER, LAST_KNOWN)
"""Where a state has the number of a broker."""
SETS_AT = (*range(ISR, LEADER, ELR - ISR), FENCED, SHUTTING_DOWN)
"""Where a state has a set of brokers."""
SETTINGS_AT = (CORDONED, UNREGISTERED)


class Renaming:
    """New numbers for brokers 1, 2, ..."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.of_broker = np.arange(8)
        self.of_broker[1 : len(numbers) + 1] = numbers
        sets = [packed_set(self.of_broker[list(unpacked_set(mask))]) for mask in range(1 << MAX_BROKERS)]
        self.of_set = np.array(sets, np.int64)

    def states(self, words: Words) -> Words:
        """The states with these numbers."""
        return _replaced(_replaced(words, BROKERS_AT, self.of_broker), SETS_AT, self.of_set)

    def settings(self, words: Words) -> Words:
        """The settings with these numbers."""
        return _replaced(words, SETTINGS_AT, self.of_set)


def renamings(brokers: int) -> list[Renaming]:
    """Every way to number so many brokers; the first leaves their numbers as they are."""
    return [Renaming(numbers) for numbers in permutations(range(1, brokers + 1))]


def _replaced(words: Words, places: tuple[int, ...], table: Words) -> Words:
    """The words with each value at these places (as wide as the table has entries) replaced by the table's."""
    mask = len(table) - 1
    for at in places:
        values = words >> at & mask
        words = words ^ (values ^ table[values]) << at
    return words
