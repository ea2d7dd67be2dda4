"""The guards that bear load: each conjunct of each `require` is left out in turn, and all states are searched again.

A guard is a place in the text: in a helper that several actions call it is left out of all of them at once. The model
is lowered with a switch for each guard, so that it is compiled once. A guard without which no step is added, in any
reachable state, is redundant: exactly so for this configuration, since the search is exhaustive. A guard that forbids
steps, and without which no property is violated, may be the sign of a property that nobody has written.

Also here: a model with one guard of its text left out, executed by plain Python: the oracle for what `guards` finds.

The function that the guard stands in is compiled once more from its source with `True` in the guard's place, and its
code takes the place of the function's while an action or an initial function runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.conclusion import state_claims
from reassure.checkers.engines.native.exploration import Exploration, Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.model_code import SWITCH
from reassure.checkers.engines.native.search import Clock, Search
from reassure.checkers.engines.native.symmetry.reduced_search import ExactClasses
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Ending, Interrupted, Stop, StopReason
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.run_identity import ClassesRecord
from reassure.checkers.traces.outcomes import (
    ChangedModel,
    as_definition,
    code_of,
    definitions_of,
    functions_of,
    replaced,
)
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.introspection import SubsetError, find_source
from reassure.spec.frontend.lowered_model import Guard as Site
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.statements import conjuncts
from reassure.spec.language.vocabulary import Action, Initial, LanguageError
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.trace import Trace

Part = tuple[int, int]
"""The number of the conjunct, and of all."""


class Unguarded(ChangedModel):
    """A bound model without a guard, wherever it is met. Raises `LookupError` if it cannot be found in the source.

    line, column: of the `require`; part: which conjunct of how many.
    """

    def __init__(self, bound: BoundModel, file: str, line: int, column: int, part: Part) -> None:
        place = file, line, column, part
        super().__init__(bound, *(_added_left_out(bound, *place) or _left_out(bound, *place)))


def _added_left_out(
    bound: BoundModel, file: str, line: int, column: int, part: Part
) -> tuple[FunctionType, CodeType] | None:
    """Of a guard that a variant added, the function and its code without it; None of another guard."""
    for guard in (g for action in bound.model.actions for g in action.guards):
        assert isinstance(guard, FunctionType)
        tree, path, _ = find_source(guard)
        if (path, tree.lineno, tree.col_offset) == (file, line, column):
            whole = tree.body if isinstance(tree, ast.Lambda) else ast.Constant(True)
            old = conjuncts(whole)[part[0]]
            rest = replaced(whole, old, ast.Constant(True))
            return guard, code_of(guard, as_definition(tree, [ast.Return(rest)]))
    return None


def _left_out(bound: BoundModel, file: str, line: int, column: int, part: Part) -> tuple[FunctionType, CodeType]:
    """The function that has the guard, and its code without it."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    place = next(
        (f for f in definitions_of(tree) if isinstance(f, ast.FunctionDef) and f.lineno <= line <= (f.end_lineno or 0)),
        None,
    )
    if place is None:
        raise LookupError(f"{file}:{line} is in no function of the module")
    calls = (c for c in ast.walk(place) if isinstance(c, ast.Call) and (c.lineno, c.col_offset) == (line, column))
    call = next((c for c in calls if c.args), None)
    if call is None:
        raise LookupError(f"{file}:{line} has no require")
    number, count = part
    parts = conjuncts(call.args[0])
    if len(parts) != count:
        raise LookupError(f"{file}:{line}: the guard is not written as {count} conjuncts")
    without = replaced(place, parts[number], ast.copy_location(ast.Constant(True), parts[number]))
    function = _function(bound, file, place.name, line)
    return function, code_of(function, without)


def _function(bound: BoundModel, file: str, name: str, line: int) -> FunctionType:
    """The function of a definition that the model calls: a variant may have made it once more."""
    model = bound.model
    steps: list[Initial | Action] = [*model.initials, *model.actions]
    called = [f for step in steps for f in functions_of(step, model.config)]
    for function in called:
        code = function.__code__
        last = max((n for *_, n in code.co_lines() if n is not None), default=code.co_firstlineno)
        if function.__name__ == name and code.co_filename == file and code.co_firstlineno <= line <= last:
            return function
    raise LookupError(f"{file} has no function {name} that is called")


MOST = 20
"""A search without a guard is given up at so many times the states of the model (and a million)."""
ALL_LEFT_OUT = Stop(StopReason.COMPLETE, "every guard was left out")
UNSEARCHED = "without it the initial states tell ids apart, and not all states were searched"
RAISES_WITH_ALL = Stop(StopReason.RAISED, "the model raises with all its guards")


@dataclass(frozen=True)
class Guard:
    """One conjunct of a `require`, or a `some` or `refuse`, and the effect of leaving it out.

    verdict: load-bearing, redundant, raises, bounding (it keeps the model within its bounds), not needed, undecided.
    """

    action: str
    """The names of the actions and initial functions that reach it."""
    text: str
    file: str
    line: int
    verdict: str = "undecided"
    falls: tuple[str, ...] = ()
    """The properties that are violated without it, by the shortest traces."""
    depth: int | None = None
    """Levels of the shortest violation."""
    trace: Trace | None = None
    """A shortest run of plain Python without the guard that violates the first of them."""
    note: str = ""
    number: int = 0
    """Among all guards of the model, in the order in which the actions reach them."""


@dataclass(frozen=True)
class GuardAnalysis:
    """Every guard of a model with its verdict."""

    guards: tuple[Guard, ...]
    base: Exploration | None
    """The search with every guard; None if time or the user ended it."""
    violated: tuple[str, ...]
    """Properties that are violated with every guard, by name."""
    stopped: Stop
    """The reason why it ended."""
    raised: tuple[Trace, str] | None = None
    """The run to a state in which the model raises with all its guards, and what raises there; then none is judged."""
    symmetry: ClassesRecord = field(default_factory=ClassesRecord)
    """Of a search of one state of each class: as of `SearchResult`."""

    @property
    def complete(self) -> bool:
        """Whether every guard was left out."""
        return self.stopped == ALL_LEFT_OUT


@dataclass(frozen=True)
class GuardChoice:
    """The guards to leave out: those that one of these actions or initial functions reaches, and that stand at one of
    these places (FILE, LINE). An empty choice is every guard."""

    actions: tuple[str, ...] = ()
    places: tuple[tuple[Path, int], ...] = ()

    def has(self, guard: Site) -> bool:
        """Whether a guard is one of them."""
        of_action = not self.actions or not set(self.actions).isdisjoint(guard.reached_by)
        return of_action and (not self.places or any(_stands_at(guard, place) for place in self.places))

    def must_match(self, model: str, guards: Sequence[Site]) -> None:
        """`Failure` if an action, a place or both together have no guard: none must hide behind the others."""
        names = list(dict.fromkeys(name for guard in guards for name in guard.reached_by))
        for action in self.actions:
            if action not in names:
                raise Failure(Exit.NOTHING, f"no guard of {model} is in {action}; guards are in {', '.join(names)}")
        for place in self.places:
            if not any(_stands_at(guard, place) for guard in guards):
                lines = sorted({guard.line for guard in guards if _is_file(guard, place[0])})
                there = f"there are guards at {', '.join(map(str, lines))}" if lines else "no guard is in that file"
                raise Failure(Exit.NOTHING, f"no guard of {model} is at {place[0]}:{place[1]}; {there}")
        if guards and not any(map(self.has, guards)):
            raise Failure(Exit.NOTHING, f"no guard of {model} is in one of these actions and at one of these places")


def _stands_at(guard: Site, place: tuple[Path, int]) -> bool:
    return guard.line == place[1] and _is_file(guard, place[0])


def _is_file(guard: Site, file: Path) -> bool:
    """Whether a guard is in a file that is given by its name alone or by a path."""
    whole = Path(guard.file)
    return whole.name == file.name if file == Path(file.name) else whole.resolve() == file.resolve()


class GuardSearches:
    """The searches of one model: with every guard, and without one."""

    def __init__(self, bound: BoundModel, options: SearchOptions, say: Callable[[str], None]) -> None:
        """say: takes the progress, in words."""
        self.bound, self.options, self.say = bound, options, say
        self.layout = state_layout(bound)
        self.lowered = _with_switches(bound).only(options.wants)
        self.guards = self.lowered.guards
        self.start = Start.of(bound, self.layout)
        self.classes = ExactClasses.of(self.lowered, self.start, self.layout, options.symmetry)
        self.kernel = compiled(self.lowered, self.layout, representatives=self.classes.functions)
        self.claims = state_claims(bound, options)
        self.clock = Clock(options.budget)

    def base(self) -> Exploration:
        """The search with every guard, to its end. Raises `Interrupted` as `search` does."""
        self.say("compiling")
        Search(self.kernel, 1).warm_up()
        return self.search(0, self.start)

    def search(self, switch: int, start: Start, fail_fast: Container[str] = (), most: int | None = None) -> Exploration:
        """Searches with a guard off, by its number from 1 (0: none), to the first level on which a claim is hit.

        fail_fast: these claims. most: states at which the search is given up. Raises `Interrupted` if the time of the
        whole analysis is over, or by Ctrl-C.
        """
        search = Search(self.kernel, max(1, self.options.workers), self.options.memory)
        for worker in search.workers:
            worker.tally[SWITCH] = switch

        def look(left: int) -> None:
            if most is not None and search.distinct > most:
                raise Interrupted(StopReason.LIMIT, f"more than {most:,} states")
            self.say(quantity(search.distinct, "state"))

        limits = Limits(clock=self.clock, fail_fast=fail_fast)
        exploration = explore(self.bound, self.kernel, self.classes.start(start), search, limits, look)
        exploration.stopped.end_run()
        return self.classes.counted(exploration, switch)

    @cached_property
    def of_all_states(self) -> tuple[GuardSearches, Exploration]:
        """The searches without classes, and the one with every guard. Raises `Interrupted` as `search` does."""
        searches = GuardSearches(self.bound, replace(self.options, symmetry="off"), self.say)
        searches.clock = self.clock
        return searches, searches.base()

    def listed(self, about: GuardChoice) -> list[Guard]:
        """The guards that were asked for, in the order in which the actions reach them; of a variant first those of its
        own file. `Failure` if an action or a place has none."""
        about.must_match(self.bound.model.name, self.guards)
        model = self.bound.model
        own = getattr(sys.modules.get(model.module), "__file__", None) if model.base is not None else None
        chosen = [number for number, g in enumerate(self.guards) if about.has(g)]
        chosen.sort(key=lambda number: self.guards[number].file != own)  # stable; alike where there is no base
        named = [(number, self.guards[number]) for number in chosen]
        return [Guard(", ".join(g.reached_by), g.text, Path(g.file).name, g.line, number=n) for n, g in named]

    def without(self, number: int) -> Unguarded:
        """The model in plain Python without a guard. Raises `LookupError` where its text cannot be found."""
        g = self.guards[number]
        return Unguarded(self.bound, g.file, g.line, g.column, g.part)

    def judged(self, guard: Guard, number: int, base: Exploration) -> Guard:
        """The guard with its verdict. Raises `Interrupted` as `search` does."""
        g = self.guards[number]
        if g.kind == "refuse":
            return replace(
                guard, note="not analysed: without it Python would run what follows it, which is not lowered"
            )
        if g.kind == "some" or g.narrows:
            return replace(guard, verdict="raises", note="without it there may be no value to act on")
        start = self.start
        if any(i.name in g.reached_by for i in self.bound.model.initials):
            try:
                start = Start.of(self.without(number), self.layout)
            except LookupError as error:
                return replace(guard, note=str(error))
            except ModelError as error:
                return replace(guard, verdict="raises", note=str(error))
            if not self.classes.are_of(self.lowered, start):  # the initial states tell ids apart
                searches, whole = self.of_all_states
                return searches.judged(guard, number, whole) if whole.complete else replace(guard, note=UNSEARCHED)
        claims = self.claims - base.violated(self.claims).keys()
        exploration = self.search(number + 1, start, claims, max(1_000_000, MOST * base.distinct))
        if violated := exploration.violated(claims):
            return self._load_bearing(guard, number, exploration, violated)
        if exploration.stopped.reason is StopReason.RAISED:
            return replace(guard, verdict="raises", note="without it the action is not defined: Python raises")
        if not exploration.complete:
            return replace(guard, note=exploration.stopped.text)
        if exploration.clipped_steps != base.clipped_steps:
            note = "without it steps leave a bound; within the bounds nothing is violated"
            return replace(guard, verdict="bounding", note=note)
        states, steps = exploration.distinct - base.distinct, exploration.steps - base.steps
        if states or steps or start.stats.generated != self.start.stats.generated:
            return replace(guard, verdict="not needed", note=f"{states:+,} states, {steps:+,} steps")
        return replace(guard, verdict="redundant", note="it forbids nothing in any reachable state")

    def _load_bearing(self, guard: Guard, number: int, exploration: Exploration, violated: dict[str, int]) -> Guard:
        """The guard with a trace of the first property that is violated, in plain Python without the guard.

        violated: properties with the states of their shortest traces.
        """
        depth = min(violated.values())
        falls = tuple(sorted(name for name, states in violated.items() if states == depth))
        guard = replace(guard, verdict="load-bearing", falls=falls, depth=depth)
        try:
            without = self.without(number)
        except LookupError as error:
            return replace(guard, note=f"no trace: {error}")
        claim = next((p for p in self.bound.properties if p.name == falls[0]), None)
        flag = self.kernel.model.flags()[falls[0]]
        paths = self.classes.paths(exploration, without, number + 1)
        trace = paths.shown(claim, flag, exploration.search.hits.levels[flag])
        if len(trace) != depth:
            raise Disagreement(f"{guard.text}: {quantity(len(trace), 'state')} instead of {depth}")
        trace.meta = {"without": f"{guard.text} in {guard.action}, {guard.file}:{guard.line}"}
        return replace(guard, trace=trace)


def _with_switches(bound: BoundModel) -> LoweredModel:
    """The model with a switch for each guard. Raises `LanguageError` where leaving one out is outside the language."""
    try:
        return lower_model(bound, switches=True)
    except SubsetError as error:
        first = str(error).splitlines()[0]
        raise LanguageError(f"with a guard left out the model is outside the language: {first}") from None


def guards(
    bound: BoundModel, options: SearchOptions, progress: Progress, about: GuardChoice = GuardChoice()
) -> GuardAnalysis:
    """Leaves out every guard in turn; an early end keeps the verdicts on those that were judged.

    about: which guards; `Failure` if there is none such.
    """
    searches = GuardSearches(bound, options, progress.proof)
    verdicts, stopped = searches.listed(about), ALL_LEFT_OUT
    base, raised = None, None
    symmetry: ClassesRecord = {}
    with Ending() as ending:
        base = searches.base()
        if base.stopped.reason is StopReason.RAISED:
            stopped, raised = RAISES_WITH_ALL, base.raised(options.wants, searches.classes.paths(base))
        elif not base.complete:
            stopped = base.stopped
        else:
            symmetry = searches.classes.record(base)
            for place, guard in enumerate(verdicts):
                progress.proof(f"guard {place + 1} of {len(verdicts)}: {guard.action}")
                verdicts[place] = searches.judged(guard, guard.number, base)
    violated = sorted(base.violated(searches.claims)) if base else []
    return GuardAnalysis(tuple(verdicts), base, tuple(violated), ending.stop or stopped, raised, symmetry)
