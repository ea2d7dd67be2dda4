"""What `stuck` counts; and the same by plain Python, from every step, with paths to a goal followed backwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reassure.checkers.analyses.stuck.analysis import Stuck, stuck
from reassure.checkers.engines.native.state_graph import reachable_graph
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped


def stuck_states(
    bound: BoundModel, properties: Iterable[Property] = (), fair_only: bool = False, limit: int | None = None
) -> dict[str, Stuck]:
    """The answers of `stuck` by property: those that are given, or every leads-to of the model."""
    (found,) = stuck_in_several_ways(bound, properties, [fair_only], limit)
    return found


def stuck_in_several_ways(
    bound: BoundModel, properties: Iterable[Property], fair_only: Iterable[bool], limit: int | None = None
) -> list[dict[str, Stuck]]:
    """The same of one graph, for each value of `fair_only`."""
    prepared = Prepared(bound)
    graph = reachable_graph(prepared.only(lambda name: False), SearchOptions(), Progress(quiet=True), limit)
    chosen = list(properties) or [p for p in bound.properties if p.kind == "leads_to"]
    return [{answer.name: answer for answer in stuck(prepared, graph, chosen, only)} for only in fair_only]


class PlainGraph:
    """The reachable states of a model and the steps between them."""

    def __init__(self, bound: BoundModel) -> None:
        self.bound = bound
        self.before: dict[Any, list[tuple[Any, bool]]] = {
            state: [] for _, _, state in bound.initial_states() if not isinstance(state, Clipped)
        }
        """By state: the states with a step to it, and whether it is one of a fair action."""
        self.leaving: list[tuple[Any, bool]] = []
        """States with a step that leaves a bound, and whether it is one of a fair action."""
        todo = list(self.before)
        for state in todo:
            for step in bound.steps(state):
                source = (state, step.action.fair is not None)
                if isinstance(step.after, Clipped):
                    self.leaving.append(source)
                    continue
                if step.after not in self.before:
                    self.before[step.after] = []
                    todo.append(step.after)
                self.before[step.after].append(source)

    def reaching(self, goals: Iterable[Any], fair_only: bool) -> set[Any]:
        """The states from which some path leads to one of the goals, themselves included."""
        todo = list(goals)
        reached = set(todo)
        while todo:
            new = {s for s, fair in self.before[todo.pop()] if s not in reached and (fair or not fair_only)}
            reached |= new
            todo += new
        return reached

    def counts(self, claim: Property, fair_only: bool) -> tuple[int, int, int]:
        """Of the states that must be followed by the goal: all, those that can be, and those that are trapped."""
        claimed = {s for s in self.before if self.bound.holds(claim, s)}
        ends = self.reaching((s for s in self.before if self.bound.goal_holds(claim, s)), fair_only)
        unknown = self.reaching((s for s, fair in self.leaving if fair or not fair_only), fair_only)
        return len(claimed), len(claimed & ends), len(claimed - ends - unknown)
