"""The states of a class: one state under every renaming of the ids that may take each other's names."""

from __future__ import annotations

from reassure.checkers.engines.native.kernels.canonical import next_order, rename
from reassure.checkers.engines.native.translator.language import Static, Words, kernel, words_from


@kernel
def orbit(words: Static, plan: Words, row: Words, names: Words, groups: Words, states: Words, slots: Words) -> None:
    """Writes a state under every order of the groups of ids, one after the other; it may come more than once.

    names: each id's own. groups: ids, ascending, behind each other, each group after its size; size 0 ends them.
    slots: room for the largest set of records.
    """
    n, going = 0, True
    while going:
        rename(words, plan, row, names, words_from(states, n * words), slots)
        n += 1
        at, going = 0, False
        while groups[at] != 0 and not going:
            going = next_order(words_from(groups, at + 1), names, groups[at])
            at += 1 + groups[at]


EXPORTED = (orbit,)
