"""The native engine's answer to properties about whole runs, once every reachable state is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from reassure.checkers.base.engine_results import PropertyFact, whole_run_fact
from reassure.checkers.base.progress import Progress
from reassure.checkers.engines.native.compiled_kernel import CompiledKernel
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.liveness.fair_loops import Region, RegionSearch
from reassure.checkers.engines.native.liveness.region import EdgeLister, RegionGraph, region_of
from reassure.checkers.engines.native.liveness.temporal_claims import TemporalClaims
from reassure.checkers.traces.fairness import in_words
from reassure.checkers.traces.reconstruct import with_loop
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import Assumptions, assumptions_of
from reassure.spec.semantics.trace import Trace


def needs_parameters(assumptions: Assumptions) -> bool:
    """Whether a kernel has to give the parameters of steps, as some action is fair for each value of them."""
    return any(a.each for a in assumptions.values())


class Liveness:
    """Decides properties about whole runs on the states of one finished search."""

    def __init__(
        self,
        bound: BoundModel,
        lowered: LoweredModel,
        kernel: CompiledKernel,
        level_rows: Iterable[Iterable[Rows]],
        names: Sequence[str],
        allow: Callable[[int], None],
        look: Callable[[], None],
        threads: int = 1,
    ) -> None:
        """level_rows: every reachable state, by level; gone through once. names: of the properties that are asked for.

        allow, look: as of `region_of`. threads: that list edges and look for loops.
        """
        self.bound, self.kernel, self.level_rows = bound, kernel, level_rows
        self.lowered, self.allow, self.look, self.threads = lowered, allow, look, threads
        self.claims, self.names = TemporalClaims(lowered, kernel.model.layout), names
        self.peak = 0
        """The most bytes that were held at a time."""
        self._graph: tuple[EdgeLister, RegionGraph] | None = None

    def region(self, prop: Property, finest: Assumptions) -> tuple[Region, bool]:
        """The region of a property, and whether some state is what it is about; finest: as of `EdgeLister`.

        It is the same for each property. Raises `RaisedAt` if a property about whole runs, this one or another, raises
        in a state.
        """
        if self._graph is None:
            lister = EdgeLister(self.bound, self.lowered, self.kernel, finest, self.threads)
            asked = [self.claims.claim(name) for name in self.names]
            self._graph = (
                lister,
                region_of(lister, self.level_rows, asked, self.claims.verdicts, self._count, self.look),
            )
        claim, (lister, graph) = self.claims.claim(prop.name), self._graph
        return Region(lister, graph, claim, self.claims.verdicts, self.level_rows, self.look), claim.concerned(
            graph.seen
        )

    def has_fair_loop(self, region: Region, assumptions: Assumptions) -> bool:
        """Whether some fair run violates the property of a region."""
        return len(self._search(region, assumptions).fair_states(self.look).numbers) > 0

    def _search(self, region: Region, assumptions: Assumptions) -> RegionSearch:
        self._count(region.graph.nbytes + RegionSearch.bytes_for(region.graph))
        return RegionSearch(self.bound, region, assumptions, self.threads)

    def _count(self, more: int) -> None:
        """Notes bytes that are held; raises where they pass the memory limit."""
        self.allow(more)
        self.peak = max(self.peak, more)

    def violating_run(self, prop: Property, region: Region, assumptions: Assumptions, paths: Paths) -> Trace | None:
        """The canonical fair run that violates a property; None if it holds."""
        search = self._search(region, assumptions)
        lasso = search.lasso(search.fair_states(self.look))
        if lasso is None:
            return None
        rows, level, loop = lasso
        states = [self.kernel.model.layout.decode(row[0].view(np.uint64)) for row in rows]
        return with_loop(self.bound, prop, paths.to_state(level, states[0]), states, loop, assumptions)


def decide(
    liveness: Liveness, names: list[str], paths: Paths, progress: Progress
) -> Iterator[tuple[str, PropertyFact]]:
    """Each of these properties about whole runs, as soon as it is decided."""
    assumptions = assumptions_of(liveness.bound.model)
    claims = {p.name: p for p in liveness.bound.properties}
    note = f"assuming {in_words(assumptions)}"
    for name in names:
        progress.proof(f"fair loops: {name}")
        region, concerned = liveness.region(claims[name], assumptions)
        trace = liveness.violating_run(claims[name], region, assumptions, paths)
        yield name, whole_run_fact(trace, concerned, note)
