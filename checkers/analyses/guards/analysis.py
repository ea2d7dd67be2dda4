"""Which guards bear load: each conjunct of each `require` is left out in turn, and all reachable states searched again.

A guard is a place in the text: in a helper that several actions call it is left out of all of them at once. The model
is lowered with a switch for each guard, so that it is compiled once. A guard without which no step is added, in any
reachable state, is redundant: exactly so for this configuration, since the search is exhaustive. What has no property
against it although it does forbid something may be the sign of a property that nobody has written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reassure.checkers.analyses.guards.guard_removed import Unguarded
from reassure.checkers.base.model_loader import config_values
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import RAISES
from reassure.checkers.base.stop import Interrupted, budget_ended
from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.compiled_kernel import compiled
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.kernels.tally import CLIPS_TOTAL, GENERATED, SWITCH
from reassure.checkers.engines.native.search import OutOfMemory, Search
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.refusals import SubsetError
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError
from reassure.spec.semantics.trace import Trace

MOST = 20
"""A search without a guard is given up at so many times the states of the model (and a million)."""


@dataclass
class Guard:
    """One conjunct of a `require`, or a `some` or `refuse`, and what comes of leaving it out.

    verdict: load-bearing, redundant, raises, bounding (it keeps the model within its bounds), not needed, undecided.
    """

    action: str
    """What comes by it: names of actions and initial functions."""
    text: str
    file: str
    line: int
    verdict: str = "undecided"
    falls: tuple[str, ...] = ()
    depth: int | None = None
    """Levels of the shortest violation."""
    trace: Trace | None = None
    """How it comes about: the run of plain Python without the guard."""
    note: str = ""


@dataclass
class Ran:
    """One search: what it found, and on which level first."""

    generated: int
    distinct: int
    fallen: dict[str, int]
    clipped: int
    ended: str
    raised: tuple[Trace, str] | None = None
    """How it comes that the model raises, and what raises."""
    search: Search | None = None


@dataclass
class Starts:
    """The initial states: how many were made, clipped ones included, and the different ones, packed and in order."""

    made: int
    rows: list[tuple[int, ...]]


class Guards:
    """The searches of one model."""

    def __init__(self, bound: BoundModel, digest: str, options: SearchOptions, say: Callable[[str], None]) -> None:
        self.bound, self.options, self.say = bound, options, say
        self.digest = digest
        self.layout = state_layout(bound)
        switched = _with_switches(bound).only(options.wants)
        self.kernel = compiled(switched, self.layout)
        self.guards = switched.guards
        self.starts = self.starts_of(bound)
        self.claims = {p.name for p in bound.properties if not p.temporal and options.wants(p.name)}
        if bound.model.deadlock and options.wants("deadlock"):
            self.claims.add("deadlock")
        self.began = time.monotonic()

    def starts_of(self, bound: BoundModel) -> Starts:
        """The initial states."""
        made = [s for _, _, s in bound.initial_states()]
        rows = sorted({self.layout.encode(s) for s in made if not isinstance(s, Clipped)})
        return Starts(len(made), [tuple(int(w) for w in row) for row in np.array(rows, np.uint64)])

    def run(self, switch: int, limit: int | None, known: set[str], starts: Starts) -> Ran:
        """Searches with a guard off (0: none), to the first level with a property fallen that is not `known`."""
        search = Search(self.kernel, max(1, self.options.workers), self.options.memory)
        for worker in search.workers:
            worker.tally[SWITCH] = switch
        search.seed(starts.rows)
        ended = ""

        def stop(left: int) -> None:
            budget = self.options.budget
            if budget is not None and time.monotonic() - self.began > budget:
                raise budget_ended(budget)
            if limit is not None and search.distinct > limit:
                raise OutOfMemory(f"more than {limit:,} states")
            self.say(f"{search.distinct:,} states")

        try:
            for _ in search.levels(stop):
                if set(self._fallen(search)) - known:
                    break
            if search.raised_on is not None:
                ended = RAISES
        except OutOfMemory as error:
            ended = str(error)
        tally = search.tally
        generated, clipped = int(tally[GENERATED]), int(tally[CLIPS_TOTAL])
        return Ran(generated, search.distinct, self._fallen(search), clipped, ended, None, search)

    def _fallen(self, search: Search) -> dict[str, int]:
        """Properties that fell, with the states of their shortest traces."""
        return search.hits.violated(self.kernel.model, self.claims)

    def baseline(self) -> Ran:
        """The search with every guard, to its end."""
        self.run_compiled()
        return self.run(0, None, self.claims, self.starts)

    def how_it_raises(self, ran: Ran) -> tuple[Trace, str]:
        """The shortest run to a state in which the model raises, and what raises there."""
        assert ran.search is not None and ran.search.raised_on is not None
        paths = Paths.of(self.bound, self.kernel, ran.search)
        trace, raised = paths.raising(ran.search.raised_on, self.options.wants)
        trace.meta |= self.about(RAISES, RAISES)
        return trace, raised.text

    def about(self, name: str, kind: str) -> dict[str, object]:
        """What a trace of a property says of where it comes from."""
        return {
            "model": self.bound.model.name,
            "model_sha256": self.digest,
            "config": config_values(self.bound.config),
            "property": name,
            "property_kind": kind,
            "engine": "guards",
        }

    def run_compiled(self) -> None:
        self.say("compiling")
        Search(self.kernel, 1).warm_up()

    def listed(self) -> list[Guard]:
        """Every guard of the text, in the order in which the actions come by them."""
        return [Guard(", ".join(g.reached_by), g.text, Path(g.file).name, g.line) for g in self.guards]

    def without(self, number: int) -> Unguarded:
        """The model in plain Python without a guard. Raises `LookupError` where its text cannot be found."""
        g = self.guards[number]
        return Unguarded(self.bound, g.file, g.line, g.column, g.part)

    def judge(self, guard: Guard, number: int, base: Ran) -> None:
        """Leaves a guard out, and says what comes of it."""
        g = self.guards[number]
        if g.kind == "refuse":
            guard.note = "not analysed: without it Python would run what follows it, which is not lowered"
            return
        if g.kind == "some" or g.narrows:
            guard.verdict, guard.note = "raises", "without it there may be no value to act on"
            return
        starts = self.starts
        if any(i.name in g.reached_by for i in self.bound.model.initials):
            try:
                starts = self.starts_of(self.without(number))
            except LookupError as error:
                guard.note = str(error)
                return
            except ModelError as error:
                guard.verdict, guard.note = "raises", str(error)
                return
        ran = self.run(number + 1, max(1_000_000, MOST * base.distinct), set(base.fallen), starts)
        new = {name: level for name, level in ran.fallen.items() if name not in base.fallen}
        if new:
            first = min(new.values())
            guard.verdict, guard.depth = "load-bearing", first
            guard.falls = tuple(sorted(name for name, level in new.items() if level == first))
            self._tell(guard, number, ran)
        elif ran.ended == RAISES:
            guard.verdict, guard.note = "raises", "without it the action is not defined: Python raises"
        elif ran.ended:
            guard.note = ran.ended
        elif (ran.generated, ran.distinct, ran.clipped, starts.made) == (
            base.generated, base.distinct, base.clipped, self.starts.made
        ):  # fmt: skip
            guard.verdict, guard.note = "redundant", "it forbids nothing in any reachable state"
        else:
            guard.verdict = "not needed"
            guard.note = f"{ran.distinct - base.distinct:+,} states, {ran.generated - base.generated:+,} steps"
            if ran.clipped != base.clipped:
                guard.verdict, guard.note = (
                    "bounding",
                    "without it steps leave a bound; within the bounds nothing is violated",
                )

    def _tell(self, guard: Guard, number: int, ran: Ran) -> None:
        """The story of the first property that falls, in plain Python without the guard."""
        try:
            without = self.without(number)
        except LookupError as error:
            guard.note = f"no trace: {error}"
            return
        assert ran.search is not None
        name = guard.falls[0]
        claim = next((p for p in self.bound.properties if p.name == name), None)
        flag = self.kernel.model.flags()[name]
        guard.trace = Paths.of(without, self.kernel, ran.search, number + 1).shown(
            claim, flag, ran.search.hits.levels[flag]
        )
        if len(guard.trace) != guard.depth:
            raise Disagreement(f"{guard.text}: {len(guard.trace)} states instead of {guard.depth}")
        guard.trace.meta = {
            **self.about(name, claim.kind if claim else "deadlock"),
            "without": f"{guard.text} in {guard.action}, {guard.file}:{guard.line}",
        }


def _with_switches(bound: BoundModel) -> LoweredModel:
    """The model with a switch for each guard. Raises `LanguageError` where leaving one out is outside the language."""
    try:
        return lower_model(bound, switches=True)
    except SubsetError as error:
        first = str(error).splitlines()[0]
        raise LanguageError(f"with a guard left out the model is outside the language: {first}") from None


def guards(bound: BoundModel, digest: str, options: SearchOptions, progress: Progress) -> tuple[list[Guard], Ran, str]:
    """Every guard with its verdict; the search with all of them; and why it ended early, if it did.

    Nothing is left out if the model raises with all its guards: the search then has `raised`.
    """
    them = Guards(bound, digest, options, progress.proof)
    listed = them.listed()
    base = Ran(0, 0, {}, 0, "")
    try:
        base = them.baseline()
        if base.ended == RAISES:
            base.raised = them.how_it_raises(base)
            return listed, base, "the model raises with all its guards"
        if base.ended:
            return listed, base, base.ended
        for number, guard in enumerate(listed):
            progress.proof(f"guard {number + 1} of {len(listed)}: {guard.action}")
            them.judge(guard, number, base)
    except Interrupted as end:
        return listed, base, str(end)
    except KeyboardInterrupt:
        return listed, base, "interrupted"
    return listed, base, ""
