"""Buckets of states that no loop leaves: those with the same values of fields that steps move one way only.

Such fields are guessed from some steps. The kernel that lists the edges looks at every step: a guess that is wrong is
noticed, and made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.region_edges import (
    RANK_WORDS,
    SPREAD,
    BucketArguments,
    bucket_states,
    index_buckets,
    number_states,
    place_states,
)
from reassure.checkers.engines.native.translator.native_function import native
from reassure.spec.language.light_dataclasses import dataclass


@dataclass(frozen=True)
class Ranking:
    """Fields of a state of which the first that a step changes moves one way only, as far as is known."""

    fields: Rows
    """By field: word, shift, mask, and -1 if steps lower it, else 1."""
    masks: Rows
    """By word of a state: the bits of these fields."""

    @classmethod
    def none(cls, words: int) -> Ranking:
        """No fields."""
        return cls(np.zeros((0, RANK_WORDS), np.int64), np.zeros(words, np.int64))

    @classmethod
    def of(cls, layout: Layout, before: Rows, after: Rows, still: bool = False) -> Ranking:
        """What these steps allow, given by their states; a field counts for steps that change no earlier one.

        still: with the fields, at the end, that no step changes which changes no earlier one, if there are such steps.
        """
        places = [(f.word, f.shift, (1 << f.code.bits) - 1) for f in layout.fields]
        values = [[rows[:, word] >> shift & mask for word, shift, mask in places] for rows in (before, after)]
        rises = np.array(values[1]) - np.array(values[0])
        ways: dict[int, int] = {}
        while rises.size:
            low, high = rises.min(axis=1), rises.max(axis=1)
            one_way = np.nonzero((low < 0) != (high > 0))[0]
            if not len(one_way):
                if still:
                    ways |= {n: 1 for n in np.nonzero((low == 0) & (high == 0))[0].tolist() if n not in ways}
                break
            ways |= {n: 1 if high[n] > 0 else -1 for n in one_way.tolist()}
            rises = rises[:, (rises[one_way] == 0).all(axis=0)]
        fields, masks = [], np.zeros(layout.words, np.uint64)
        for number, way in ways.items():
            word, shift, mask = places[number]
            fields.append((word, shift, mask, way))
            masks[word] |= np.uint64(mask << shift)
        return cls(np.array(fields, np.int64).reshape(-1, RANK_WORDS), masks.view(np.int64))


FIRST_SLOTS = 1 << 12
"""Slots of the first index of buckets."""


@dataclass(frozen=True)
class Buckets:
    """States in buckets, one after the other. ends: by bucket, where its states end. index: of their numbers."""

    rows: Rows
    ranking: Ranking
    ends: Rows
    index: Rows

    @classmethod
    def of(cls, rows: Rows, ranking: Ranking, ends: Rows) -> Buckets:
        """States that are in the order of their buckets."""
        index = np.zeros(SPREAD * max(1, len(rows)), np.int64)
        native(number_states)(rows.shape[1], rows, ends, len(ends), index)
        return cls(rows, ranking, ends, index)

    @classmethod
    def one(cls, rows: Rows) -> Buckets:
        """All states in one."""
        return cls.of(rows, Ranking.none(rows.shape[1]), np.array([len(rows)], np.int64))

    @classmethod
    def put(cls, parts: Sequence[Rows], ranking: Ranking) -> Buckets:
        """Puts states into buckets."""
        count, words = sum(map(len, parts)), len(ranking.masks)
        buckets_of, sizes = bucket_numbers(parts, ranking)
        ends = np.cumsum(sizes)
        places, ordered = np.concatenate([[0], ends]), np.empty((count, words), np.int64)
        for rows, bucket_of in zip(parts, buckets_of, strict=True):
            native(place_states)(words, places, rows, bucket_of, len(rows), ordered)
        return cls.of(ordered, ranking, ends)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.rows.nbytes + self.ends.nbytes + self.index.nbytes

    @staticmethod
    def bytes_for(count: int, words: int) -> int:
        """The most bytes that `put` takes beside its parts, if it finds few buckets."""
        return 8 * count * (words + 1 + SPREAD)

    def groups(self, least: int) -> list[tuple[int, int]]:
        """The states cut into ranges of whole buckets, of `least` states or more each, but for the last."""
        cuts = [0]
        while cuts[-1] < len(self.rows):
            at = np.searchsorted(self.ends, min(cuts[-1] + least, len(self.rows)))
            cuts.append(int(self.ends[at]))
        return list(pairwise(cuts))


def bucket_numbers(parts: Sequence[Rows], ranking: Ranking) -> tuple[list[Rows], Rows]:
    """By part: the buckets of its states; and how many states each bucket has."""
    words, nothing = len(ranking.masks), np.zeros(0, np.int64)
    a, buckets_of = BucketArguments(ranking.masks, nothing, 0, nothing, nothing, 0), []
    _grow(a, words)
    for rows in parts:
        bucket_of, done = np.empty(len(rows), np.int64), 0
        while (done := native(bucket_states)(words, a, rows, done, len(rows), bucket_of)) < len(rows):
            _grow(a, words)
        buckets_of.append(bucket_of)
    sizes: Rows = a.sizes[: a.buckets]  # type: ignore[index, assignment]
    return buckets_of, sizes


def _grow(a: BucketArguments, words: int) -> None:
    """Makes room for more buckets."""
    a.slots = max(FIRST_SLOTS, 4 * a.slots)
    first, sizes = np.empty(a.slots // SPREAD * words, np.int64), np.empty(a.slots // SPREAD, np.int64)
    first[: a.buckets * words], sizes[: a.buckets] = a.first[: a.buckets * words], a.sizes[: a.buckets]  # type: ignore[index]
    a.first, a.sizes, a.index = first, sizes, np.zeros(a.slots, np.int64)
    native(index_buckets)(words, a)
