"""Which fairness a property about whole runs needs: each assumption dropped and weakened in turn.

The states and the region of a property do not depend on fairness, so one search and one graph answer every question;
the graph has the labels of the finest assumptions, those for each value that the model declares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.stop import BY_USER, NO_MEMORY, Interrupted, Stop
from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.compiled_kernel import compiled
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.exploration import Start
from reassure.checkers.engines.native.kernels.tally import CLIPS_TOTAL
from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters
from reassure.checkers.engines.native.search import Clock, RaisedAt, Search
from reassure.checkers.traces.raising import raised_in
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.liveness import Assumption, Assumptions, assumptions_of
from reassure.spec.semantics.trace import Trace


class Need(StrEnum):
    """What an assumption is for."""

    NEEDED = "needed"
    NOT_NEEDED = "not needed"
    UNDECIDED = "undecided"


@dataclass
class Weakening:
    """One assumption replaced by less, the others as declared."""

    assumption: Assumption
    instead: Assumption | None
    """None: the action is not fair at all."""
    need: Need = Need.UNDECIDED
    trace: Trace | None = None
    """The fair run that violates the property then."""

    @property
    def words(self) -> str:
        """What is done to the assumption."""
        if self.instead is None:
            return "dropped"
        if self.instead.strength != self.assumption.strength:
            return f"{self.instead.strength} instead of {self.assumption.strength}"
        gone = [name for name in self.assumption.each if name not in self.instead.each]
        return f"for some {', '.join(gone)} instead of each"


@dataclass
class PropertyNeeds:
    """The analysis of one property."""

    name: str
    holds: bool | None = None
    """With every assumption as declared; None: it was not decided."""
    vacuous: bool = False
    weakenings: list[Weakening] = field(default_factory=list)
    enough: list[Assumption] | None = None
    """Assumptions under which alone it holds, none of which can be dropped from among them."""


@dataclass
class Analysis:
    """What was found for every property that was asked for."""

    properties: list[PropertyNeeds]
    states: int = 0
    clipped: int = 0
    stopped: Stop | None = None
    """Why it ended early."""


def weakenings(assumptions: Assumptions) -> Iterator[Weakening]:
    """Each assumption dropped; strong made weak; for each value of a parameter made for some."""
    for a in assumptions.values():
        yield Weakening(a, None)
        if a.strength == "strong":
            yield Weakening(a, Assumption(a.action, "weak", a.each))
        for name in a.each:
            yield Weakening(a, Assumption(a.action, a.strength, tuple(n for n in a.each if n != name)))


def replaced(assumptions: Assumptions, action: str, instead: Assumption | None) -> dict[str, Assumption]:
    """The assumptions with that of one action replaced."""
    others = {name: a for name, a in assumptions.items() if name != action}
    return others if instead is None else {**others, action: instead}


def analyse(bound: BoundModel, lowered: LoweredModel, options: SearchOptions, progress: Progress) -> Analysis:
    """Searches every reachable state, then asks whether each property still holds with each assumption weakened.

    Raises `ModelError` if the model raises in one of them.
    """
    claims = [p for p in bound.properties if p.temporal and options.wants(p.name)]
    found = Analysis([PropertyNeeds(p.name) for p in claims])
    assumptions = assumptions_of(bound.model)
    kernel = compiled(lowered, state_layout(bound), parameters=needs_parameters(assumptions))
    search, clock = Search(kernel, max(1, options.workers), options.memory), Clock(options.budget)

    def stop(left: int) -> None:
        clock.look()
        progress.proof(f"{search.distinct:,} states")

    try:
        search.allow(0)
        search.seed(Start.of(bound, kernel.model.layout).rows)
        for _ in search.levels(stop):
            pass
        if search.raised_on is not None:
            raise ModelError(
                f"{bound.model.name} raises in a state of depth {search.raised_on}: `reassure check` shows how"
            )
        found.states, found.clipped = search.distinct, int(search.tally[CLIPS_TOTAL])
        liveness = Liveness(bound, lowered, kernel, search.level_rows, search.allow, clock.look)
        paths = Paths.of(bound, kernel, search)
        for claim, needs in zip(claims, found.properties, strict=True):
            progress.proof(f"fairness that {claim.name} needs")
            _analyse(liveness, claim, needs, assumptions, paths)
    except KeyboardInterrupt:
        found.stopped = BY_USER
    except RaisedAt as raised:
        state = kernel.model.layout.decode(raised.row.view(np.uint64))
        raise ModelError(f"{raised_in(bound, state, options.wants).text}; `reassure check` shows how") from None
    except Interrupted as end:
        found.stopped = end.stop
    except MemoryError:
        found.stopped = NO_MEMORY
    return found


def _analyse(liveness: Liveness, claim: Property, needs: PropertyNeeds, assumptions: Assumptions, paths: Paths) -> None:
    region, concerned = liveness.region(claim, assumptions)
    needs.vacuous = not concerned
    needs.holds = liveness.violating_run(claim, region, assumptions, paths) is None
    if not needs.holds or needs.vacuous:
        return
    needs.weakenings = list(weakenings(assumptions))
    for weakening in needs.weakenings:
        others = replaced(assumptions, weakening.assumption.action, weakening.instead)
        weakening.trace = liveness.violating_run(claim, region, others, paths)
        weakening.need = Need.NEEDED if weakening.trace else Need.NOT_NEEDED
    enough = dict(assumptions)
    for name in assumptions:
        fewer = replaced(enough, name, None)
        if not liveness.has_fair_loop(region, fewer):
            enough = fewer
    needs.enough = list(enough.values())
