"""Two models, searched and compared: their behaviour, and the properties that a change gains and loses."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from reassure.checkers.analyses.diff.compare import Comparison, Verdict, compare
from reassure.checkers.analyses.diff.observation import Side, observe
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import UnknownModel, config_values, load, own_file
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.engines.native.state_graph import reachable_graph
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import ModelError
from reassure.spec.semantics.trace import Trace

EXITS = {
    Verdict.SAME: Exit.OK,
    Verdict.DIFFERENT: Exit.EXPECTATION,
    Verdict.UNDECIDED: Exit.INCONCLUSIVE,
}


@dataclass
class Diff:
    """The answer, with what it is of."""

    models: tuple[str, str]
    """As they were given."""
    digests: tuple[str, str]
    settings: tuple[list[str], list[str]]
    sides: tuple[Side, Side]
    comparison: Comparison
    traces: list[tuple[int, str, Trace]] = field(default_factory=list)
    """By side: what only that one does, and the shortest trace to it."""

    @property
    def labels(self) -> tuple[str, str]:
        """What the sides are called: the models' names, or how they were given if those are the same."""
        first, second = (side.bound.model.name for side in self.sides)
        return (first, second) if first != second else self.models

    @property
    def exit(self) -> Exit:
        return EXITS[self.comparison.verdict]

    def config(self, side: int) -> dict[str, Any]:
        """The configuration of a side."""
        return config_values(self.sides[side].bound.config)


def diff(
    models: tuple[str, str], pairs: list[str], view: str | None, options: SearchOptions, progress: Progress
) -> Diff:
    """Searches both models and compares them. Raises `Failure` where one is wrong, or nothing can be compared.

    pairs: settings of both, each for the models that have it. view: what of the states is compared.
    """
    try:
        settings = _shared(models, pairs)
        sides: list[Side] = []
        digests: list[str] = []
        for model, mine in zip(models, settings, strict=True):
            prepared = prepare(model, mine)
            graph = reachable_graph(prepared.only(lambda _: False), options, progress)
            sides.append(Side(prepared.bound, prepared.lowered, graph))
            digests.append(prepared.sha256)
        both = (sides[0], sides[1])
        comparison = compare(both, observe(both, view, progress))
    except (ModelError, LanguageError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    except UnknownModel as error:
        raise Failure(Exit.USAGE, str(error)) from None
    except Disagreement as error:
        raise Failure(Exit.DISAGREE, str(error)) from None
    finally:
        progress.done()
    found = Diff(models, (digests[0], digests[1]), settings, both, comparison)
    found.traces = [(side, "an initial state", trace) for side, trace in comparison.initial_only]
    found.traces += [(d.side, d.action, d.trace) for d in comparison.differences]
    for side, what, trace in found.traces:
        trace.meta = {
            "model": sides[side].bound.model.name,
            "model_sha256": digests[side],
            "config": found.config(side),
            "engine": "diff",
            "only": what,
            "other": sides[1 - side].bound.model.name,
            **({"model_file": models[side]} if own_file(models[side]) else {}),
        }
    return found


def _shared(models: tuple[str, str], pairs: list[str]) -> tuple[list[str], list[str]]:
    """The settings that each model has; `Failure` for one that neither has."""
    fields = [{f.name for f in dataclasses.fields(load(model).config)} for model in models]
    for pair in pairs:
        key = pair.partition("=")[0]
        if not any(key in known for known in fields):
            has = ", ".join(sorted(fields[0] | fields[1]))
            raise Failure(Exit.CONFIG, f"neither model has a configuration field {key!r}; they have {has}")
    first, second = ([p for p in pairs if p.partition("=")[0] in known] for known in fields)
    return first, second
