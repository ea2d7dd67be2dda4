"""The reachable states that fair runs within the bounds go through: not all, where fair actions leave a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from reassure.checkers.engines.native.kernels.components import mark_before
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.region_edges import SPREAD
from reassure.checkers.engines.native.liveness.buckets import Buckets
from reassure.checkers.engines.native.liveness.edge_lister import EdgeLister
from reassure.checkers.engines.native.liveness.fair_loops import Region, RegionSearch
from reassure.checkers.engines.native.liveness.region import graph_of
from reassure.checkers.engines.native.liveness.temporal_claims import TemporalClaim
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.request.engine_results import PremiseStates
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import Assumption, Assumptions

EVERYWHERE = TemporalClaim("persistence", 0, 0)
"""Of nothing: every run that does not end stays in its region, which is all states, and returns to it."""


def may_leave_a_bound(lowered: LoweredModel, assumptions: Assumptions) -> bool:
    """Whether a step of a fair action may leave a bound, as far as the text of the model tells.

    If none does, each fair action can be taken where it is enabled, so that a fair run goes through every state.
    """
    return any(action.clips for action in lowered.actions if action.name in assumptions)


class BoundedRuns:
    """The graph of every reachable state and step, and what fair runs go through in it."""

    def __init__(
        self,
        lister: EdgeLister,
        level_rows: Iterable[Iterable[Rows]],
        judge: Callable[[Rows], Rows],
        allow: Callable[[int], None],
        look: Callable[[], None],
    ) -> None:
        """level_rows: every reachable state, by level. judge, allow, look: as of `region_of`."""
        self.allow, self.look = allow, look
        self._marks: dict[tuple[Assumption, ...], Rows] = {}
        rows = np.concatenate([rows for parts in level_rows for rows in parts])
        allow(rows.nbytes + 8 * SPREAD * len(rows))
        self.graph = graph_of(lister, Buckets.one(rows), judge, allow, look)
        self.region = Region(lister, lambda: self.graph, EVERYWHERE, None, 0, judge, level_rows, look)

    def premise_states(self, bound: BoundModel, claim: TemporalClaim, assumptions: Assumptions) -> PremiseStates:
        """The states that a property is about, and how many of them are in no fair run within the bounds."""
        about = self.graph.verdicts & claim.holds != 0 if claim.kind == "leads_to" else np.ones(self.graph.count, bool)
        beyond = about & (self._marked(bound, assumptions) == 0)
        return PremiseStates(int(about.sum()), int(beyond.sum()))

    def _marked(self, bound: BoundModel, assumptions: Assumptions) -> Rows:
        """By state: 1 if steps lead from it to a fair loop, or to where a fair run may stop; else 0."""
        graph, assumed = self.graph, tuple(assumptions.values())
        if assumed in self._marks:
            return self._marks[assumed]
        self.allow(graph.nbytes + RegionSearch.bytes_for(graph) + 8 * graph.count)
        marks = np.zeros(graph.count, np.int64)
        marks[RegionSearch(bound, self.region, assumptions).fair_states(self.look).numbers] = 1
        for part in graph.parts:  # one, as there is one bucket
            while native(mark_before)(part.ends, part.edges, graph.count, marks):
                self.look()
        self._marks = {assumed: marks}  # properties are asked about one after the other, of the same assumptions
        return marks
