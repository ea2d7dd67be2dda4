"""Whether something fair forbids every loop of a region, bucket by bucket, decided without the graph of its states.

A sample of states says whether that is likely: only then are all states expanded for it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from reassure.checkers.engines.native.kernels.edge_list import edge_list
from reassure.checkers.engines.native.kernels.excluded_buckets import SurveyArguments, survey_buckets
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.region_edges import FALLS
from reassure.checkers.engines.native.kernels.tally import ERROR
from reassure.checkers.engines.native.liveness.buckets import Buckets, Ranking, bucket_numbers
from reassure.checkers.engines.native.liveness.candidates import Candidates
from reassure.checkers.engines.native.liveness.edge_lister import PIECE, EdgeLister, Falls, Lists
from reassure.checkers.engines.native.liveness.temporal_claims import TemporalClaim, TemporalClaims
from reassure.checkers.engines.native.search import RaisedAt

FIRST_LOOK = 1 << 8
"""States that are looked at first."""
GUESSES = 4
"""How often the fields that steps move one way only are guessed."""


class Survey:
    """Looks whether each bucket of a region has something fair that is always enabled in it and never taken there."""

    def __init__(
        self,
        lister: EdgeLister,
        claims: TemporalClaims,
        claim: TemporalClaim,
        allow: Callable[[int], None],
        look: Callable[[], None],
    ) -> None:
        """lister: it gets the labels of the steps that are looked at first. allow, look: as of `region_of`."""
        self.lister, self.claims, self.claim, self.allow, self.look = lister, claims, claim, allow, look

    def excludes_all(self, candidates: Candidates) -> bool:
        """Whether no run that stays in the region for ever is fair; False also where that is not found out.

        candidates: all states of the region, perhaps among others.
        """
        sample = self._inside(candidates.sample(8 * FIRST_LOOK))
        sample = np.ascontiguousarray(sample[:: len(sample) // FIRST_LOOK + 1])
        for _ in range(GUESSES):
            ranking = self._ranking(sample)
            if not self._each_excluded(sample, ranking, first=True):
                return False
            self.allow(2 * candidates.nbytes)  # what is joined is held twice meanwhile
            rows = candidates.join()
            try:
                return self._each_excluded(rows, ranking)
            except Falls as falls:
                more = self._inside(np.ascontiguousarray(rows[falls.state : falls.state + FIRST_LOOK]))
                sample = np.concatenate([sample, more])
        return False

    def _inside(self, rows: Rows) -> Rows:
        """Those of some states that are in the region."""
        inside: Rows = rows[self.claim.stays(self.claims.verdicts(rows))]
        return inside

    def _ranking(self, sample: Rows) -> Ranking:
        """The fields that steps of the region move one way only or not at all, as far as the steps of a sample tell."""
        after, counts = edge_list(self.lister.kernel, sample)
        to = np.ascontiguousarray(after[:, : self.lister.kernel.words])
        stays = self.claim.stays(self.claims.verdicts(to))
        layout = self.lister.kernel.model.layout
        return Ranking.of(layout, np.repeat(sample, counts, axis=0)[stays], to[stays], still=True)

    def _each_excluded(self, rows: Rows, ranking: Ranking, first: bool = False) -> bool:
        """Whether each bucket of some states is excluded. first: the labels of their steps are to be noted.

        Raises `Falls` if the buckets are not in order.
        """
        threads = 1 if first else self.lister.threads
        self.allow(rows.nbytes + 8 * len(rows))
        (bucket_of,), sizes = bucket_numbers([rows], ranking)
        self.allow(rows.nbytes + 8 * len(rows) + 8 * len(sizes) * (2 * threads + rows.shape[1]))
        none = np.zeros(0, np.int64)
        known, free = Buckets(rows, ranking, none, none), SimpleQueue[_Surveyor]()
        surveyors = [_Surveyor(self, known, bucket_of, len(sizes), first) for _ in range(threads)]
        for surveyor in surveyors:
            free.put(surveyor)

        def surveyed(low: int) -> bool:
            surveyor = free.get()
            try:
                return surveyor.survey(low, min(low + PIECE, len(rows)))
            finally:
                free.put(surveyor)

        lows = range(0, len(rows), PIECE)
        with ThreadPoolExecutor(threads) as pool:
            try:
                for some_left in map(surveyed, lows) if threads == 1 else pool.map(surveyed, lows):
                    self.look()
                    if not some_left:
                        return False
            finally:
                pool.shutdown(cancel_futures=True)
        if first:
            self.lister.merge_labels(surveyors[0].lists)
        always = np.bitwise_and.reduce([s.always for s in surveyors])
        taken = np.bitwise_or.reduce([s.taken for s in surveyors])
        return bool(np.all(always & ~taken))


class _Surveyor:
    """What one thread finds, and the kernel's arguments that point to it."""

    def __init__(self, survey: Survey, known: Buckets, bucket_of: Rows, buckets: int, first: bool) -> None:
        self.lists, self.kernel = Lists(survey.lister, known.rows, known), survey.lister.kernel
        self.lists.take_labels(survey.lister)
        if not first:  # each thread would number further labels in its own way
            self.lists.arguments.label_room = self.lists.arguments.label_count
        self.always, self.taken = np.full(buckets, -1, np.int64), np.zeros(buckets, np.int64)
        stays, judge = survey.claim.stay_bits, survey.claims.function
        self.arguments = SurveyArguments(judge, stays, bucket_of, self.always, self.taken)

    def survey(self, low: int, high: int) -> bool:
        """Looks at rows low..high-1; whether each bucket may still be excluded."""
        a = self.lists.arguments
        a.low, a.high = low, high
        self.kernel.run(survey_buckets, self.kernel.words, a, self.arguments)
        if self.lists.tally[ERROR]:
            raise RaisedAt(self.lists.rows[self.lists.tally[ERROR] - 1].copy())
        if a.low == FALLS:
            raise Falls(a.high)
        return bool(np.all(self.always & ~self.taken))
