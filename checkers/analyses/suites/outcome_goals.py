"""Goals that plain Python decides: outcomes of guards and branches, and classes of steps by an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reassure.checkers.analyses.suites.goals import Attempt, CoverageGoal, Path, StepGoals, as_far, path_along
from reassure.checkers.engines.native.search import Clock
from reassure.checkers.engines.native.state_graph import StateGraph
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER, Interrupted
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.traces.format_value import names_for_expressions, parsed_expression
from reassure.checkers.traces.outcomes import Outcome, StateOutcomes, Watched, has_conditions
from reassure.spec.language.vocabulary import LanguageError


class Outcomes:
    """Every outcome of every condition of a kind.

    A guard's outcome is taken in a state in which some action, with some parameters, comes to it, be it enabled or not;
    a branch's by a step.
    """

    def __init__(self, graph: StateGraph, kind: str, options: SearchOptions, progress: Progress) -> None:
        """kind: "guard" or "branch". Where the options' time ends, `graph` is said to have ended early."""
        self.graph, self.kind = graph, kind
        self.watched = Watched(graph.bound)
        if odd := [
            function.__qualname__
            for function in self.watched.unread
            if has_conditions(function, kind) or function in self.watched.added
        ]:
            names = ", ".join(odd)
            raise Failure(
                Exit.USAGE, f"--cover sees the conditions of functions at a module's top level, not of {names}"
            )
        self.wanted = [(s, v) for s in sorted(self.watched.sites) if s.kind == kind for v in (True, False)]
        self.numbers = {outcome: number for number, outcome in enumerate(self.wanted)}
        self.known: dict[int, StateOutcomes] = {}
        paths: dict[Outcome, Path] = {}
        visited, clock = 0, Clock(options.budget)
        try:
            with self.watched.watching():
                while visited < graph.count and len(paths) < len(self.wanted):
                    clock.look()
                    progress.proof(f"{len(paths)} of {len(self.wanted)} outcomes in {visited:,} of {graph.count:,}")
                    self._note(visited, paths)
                    visited += 1
        except Interrupted as end:
            graph.stopped = end.stop
        except KeyboardInterrupt:
            graph.stopped = BY_USER
        where = "state" if kind == "guard" else "step"
        why = f"no reachable {where} comes to it" + as_far(graph)
        self.goals = [
            CoverageGoal(s.outcome(v), paths.get((s, v)), "" if (s, v) in paths else why) for s, v in self.wanted
        ]

    def _note(self, number: int, paths: dict[Outcome, Path]) -> None:
        """Looks at a state: only at the actions that may come to an outcome that is still missing."""
        missing = {site for site, value in self.wanted if (site, value) not in paths}
        actions = frozenset(name for site in missing for name in self.watched.reached_by[site])
        outcomes_here = self.watched.outcomes(self.graph.state(number), actions)
        if self.kind == "guard":
            for outcome in outcomes_here.tried:
                if outcome in self.numbers and outcome not in paths:
                    paths[outcome] = path_along(self.graph, number)
            return
        for action, params, outcomes in outcomes_here.taken:
            new = [outcome for outcome in outcomes if outcome in self.numbers and outcome not in paths]
            edge = self.graph.edge_of(number, action, params) if new else -1
            if edge >= 0 and self.graph.targets[edge] >= 0:
                paths |= dict.fromkeys(new, path_along(self.graph, number, edge))

    def _outcomes(self, number: int) -> StateOutcomes:
        if number not in self.known:
            with self.watched.watching():
                self.known[number] = self.watched.outcomes(self.graph.state(number))
        return self.known[number]

    def taken(self, path: Path) -> dict[int, int]:
        """See `NamedGoals`."""
        positions: dict[int, int] = {}
        states = list(path.states(self.graph))
        for position, number in enumerate(states):
            if self.kind == "guard":
                seen = set(self._outcomes(number).tried)
            elif position < len(path):
                seen = set(self._outcomes(number).taken[path.edges[position] - int(self.graph.begins[number])][2])
            else:
                seen = set()
            for outcome in seen & set(self.numbers):
                positions.setdefault(self.numbers[outcome], position + (self.kind == "branch"))
        return positions

    def attempts(self, path: Path, goals: list[int]) -> list[Attempt]:
        """See `NamedGoals`."""
        attempts = []
        for position, number in enumerate(path.states(self.graph)):
            for goal in goals:
                site, value = self.wanted[goal]
                if site.kind == "guard" and not value and (site, value) in self._outcomes(number).tried:
                    attempts.append(Attempt(position, *self._outcomes(number).tried[site, value], site.text))
                    goals = [other for other in goals if other != goal]
        return attempts


class Classes(StepGoals):
    """Every value that an expression over `before`, `after`, `action` and the parameters takes on some step."""

    def __init__(self, graph: StateGraph, expression: str, progress: Progress) -> None:
        """Raises `LanguageError` for what is not an expression, or raises on a step."""
        self.graph = graph
        self.value = _compiled(graph, expression)
        first: dict[str, int] = {}
        for number in range(graph.count):
            progress.proof(f"{len(first)} classes in {number:,} of {graph.count:,} states")
            for edge in range(int(graph.begins[number]), int(graph.begins[number + 1])):
                if graph.targets[edge] >= 0:
                    first.setdefault(self.value(edge), edge)
        names = sorted(first)
        self.numbers = {name: number for number, name in enumerate(names)}
        self.goals = [
            CoverageGoal(name, path_along(graph, int(graph.sources[first[name]]), first[name])) for name in names
        ]

    def taken(self, path: Path) -> dict[int, int]:
        """See `NamedGoals`."""
        positions: dict[int, int] = {}
        for position, edge in enumerate(path.edges, 1):
            positions.setdefault(self.numbers[self.value(edge)], position)
        return positions


def _compiled(graph: StateGraph, expression: str) -> Callable[[int], str]:
    """The class of an edge: the value of the expression, as text."""
    code = compile(parsed_expression(expression, "--by"), "--by", "eval")
    names = names_for_expressions(graph.bound.model)

    def value(edge: int) -> str:
        step = graph.step(edge)
        before = graph.state(int(graph.sources[edge]))
        names_of_step = {"before": before, "after": step.after, "action": step.action.name}
        try:
            evaluated = eval(code, {**names, "config": graph.bound.config, **step.params, **names_of_step})
        except Exception as error:
            where = f"on {step.action.name} from {before}"
            hint = "; it may read before, after, action, config and the parameters" * isinstance(error, NameError)
            raise LanguageError(f"--by {expression!r} raised {type(error).__name__}: {error} {where}{hint}") from None
        return str(_canonical(evaluated))

    return value


def _canonical(value: Any) -> Any:
    """A value whose text does not depend on the order in which sets are walked through."""
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(str(_canonical(v)) for v in value)) + "}"
    if isinstance(value, tuple):
        return tuple(_canonical(v) for v in value)
    return value
