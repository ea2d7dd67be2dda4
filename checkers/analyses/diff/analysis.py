"""Two models, searched and compared: their behaviour, and the properties that a change gains and loses."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from reassure.checkers.analyses.diff.compare import Comparison, Verdict, compare_sides
from reassure.checkers.analyses.diff.observation import Side, observe
from reassure.checkers.engines.native.state_graph import reachable_graph
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared, prepare
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.trace import Trace

EXITS = {
    Verdict.SAME: Exit.OK,
    Verdict.DIFFERENT: Exit.EXPECTATION,
    Verdict.UNDECIDED: Exit.INCONCLUSIVE,
}


@dataclass(frozen=True)
class Diff:
    """The comparison of two models."""

    prepared: tuple[Prepared, Prepared]
    sides: tuple[Side, Side]
    comparison: Comparison

    @property
    def traces(self) -> list[tuple[int, str, Trace]]:
        """By side: an initial state or action that only that one has, and the shortest trace to it."""
        initial = [(side, "an initial state", trace) for side, trace in self.comparison.initial_only]
        return [*initial, *((d.side, d.action, d.trace) for d in self.comparison.differences)]

    @property
    def labels(self) -> tuple[str, str]:
        """The models' names, or if those are the same, the names and paths that they were asked for by."""
        first, second = (side.bound.model.name for side in self.sides)
        return (first, second) if first != second else (self.prepared[0].source, self.prepared[1].source)

    @property
    def exit(self) -> Exit:
        return EXITS[self.comparison.verdict]


def guards_added(base: Model, variant: Model) -> list[str]:
    """The actions to which a variant adds guards, if it changes nothing else that a run shows: then it only forbids."""
    pairs = list(zip(base.actions, variant.actions, strict=False))
    same = (base.state, base.config, base.initials) == (variant.state, variant.config, variant.initials)
    same = same and [a.name for a in base.actions] == [a.name for a in variant.actions]
    same = same and all(old.function is new.function and old.members == new.members for old, new in pairs)
    if not same or any(new.guards[: len(old.guards)] != old.guards for old, new in pairs):
        return []
    return [new.name for old, new in pairs if new.guards != old.guards]


def diff(
    models: tuple[str, str], pairs: list[str], view: str | None, options: SearchOptions, progress: Progress
) -> Diff:
    """Searches both models and compares them. Raises `Failure` where nothing can be compared, Ctrl-C of a search.

    pairs: settings of both, each for the models that have it. view: what of the states is compared.
    """
    prepared, sides = [], []
    for model, settings in zip(models, _shared(models, pairs), strict=True):
        one = prepare(model, settings)
        prepared.append(one)
        graph = reachable_graph(one.only(lambda _: False), options, progress)
        graph.stopped.raise_interrupt()
        sides.append(Side(one.bound, one.lowered, graph))
    both = (sides[0], sides[1])
    return Diff((prepared[0], prepared[1]), both, compare_sides(both, observe(both, view, progress)))


def _shared(models: tuple[str, str], pairs: list[str]) -> tuple[list[str], list[str]]:
    """The settings that each model has; `Failure` for one that neither has."""
    fields = [{f.name for f in dataclasses.fields(load_model(model).config)} for model in models]
    for pair in pairs:
        key = pair.partition("=")[0]
        if not any(key in names for names in fields):
            has = ", ".join(sorted(fields[0] | fields[1]))
            raise Failure(Exit.CONFIG, f"neither model has a configuration field {key!r}; they have {has}")
    first, second = ([p for p in pairs if p.partition("=")[0] in names] for names in fields)
    return first, second
