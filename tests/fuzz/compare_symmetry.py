"""A search of one state of each class against a search of all states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reassure.checkers.engines.native import engine
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.machine.stop import RUNS_RAISE
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.result import CheckResult, PropertyStatus
from reassure.spec.semantics.interpreter import ModelError
from tests.fuzz.compare_searches import on_cluster
from tests.fuzz.subject import Difference, Subject
from tests.helpers.runs import result_of

Engine = Callable[..., EngineResult]


def symmetry(
    subject: Subject,
    check: Engine = engine.check,
    name: str = "symmetry",
    modes: tuple[str, ...] = ("on", "any-order"),
    whole_runs: bool = True,
) -> Iterator[Difference]:
    """Verdicts, depths and lengths of traces are those of the whole search; the classes' states are its states.

    check: the engine that searches classes; the native one searches all states. name: of the comparison. modes: of
    `--symmetry`. whole_runs: properties about them are compared too.
    """
    claims = [*subject.bound.properties, *subject.bound.covers]
    named = [] if whole_runs else ["deadlock", *(p.name for p in claims if not p.temporal)]
    whole = _searched(subject, "off", engine.check, named)
    if isinstance(whole, CheckResult) and whole.stopped == RUNS_RAISE:
        return  # classes are not asked about whole runs
    for mode in modes:
        try:
            found = _searched(subject, mode, check, named)
        except Failure:
            continue  # nothing can be renamed
        if mode == "any-order" and isinstance(found, CheckResult) and found.stats.clipped:
            continue  # of a step that the model does not take, perhaps
        if mode == "any-order" and _differ_by_added_steps(whole, found):
            if contradicted := sorted(_answers(whole) & _opposites(_answers(found))):
                yield Difference(name, f"{mode}: another verdict", str(contradicted))
            continue
        want, got = decided(whole), decided(found)
        if want != got:
            yield Difference(name, f"{mode}: another verdict", f"all states {want}, classes {got}")
        elif mode == "on" and isinstance(whole, CheckResult) and isinstance(found, CheckResult):
            states = states_of(found)
            if states != whole.stats.distinct:
                yield Difference(name, "other states", f"{states}, not {whole.stats.distinct}")


def spark_symmetry(subject: Subject) -> Iterator[Difference]:
    """The same of classes on a cluster. Needs a Java runtime."""
    yield from symmetry(subject, on_cluster, "spark-symmetry", ("on",), whole_runs=False)


def _searched(subject: Subject, mode: str, check: Engine, named: list[str]) -> CheckResult | str:
    options = SearchOptions(depth=subject.depth, witness=True, workers=1, symmetry=mode, properties=named)
    try:
        return result_of(check, subject.bound, options, subject.lowered)
    except ModelError:
        return "it raises"


def _differ_by_added_steps(whole: CheckResult | str, found: CheckResult | str) -> bool:
    """The depth ended one of the searches alone: the steps that the one without order adds lead deeper than all states
    of the model, or sooner to all of them."""
    return isinstance(whole, CheckResult) and isinstance(found, CheckResult) and whole.complete != found.complete


def _answers(result: CheckResult | str) -> set[tuple[str, bool]]:
    """The properties with an answer, and whether they hold (for one of these, to the depth of both searches)."""
    if isinstance(result, str):
        return set()
    words = {PropertyStatus.HOLDS: True, PropertyStatus.HOLDS_TO_DEPTH: True, PropertyStatus.VIOLATED: False}
    return {(p.name, words[p.status]) for p in result.properties if p.status in words}


def _opposites(answers: set[tuple[str, bool]]) -> set[tuple[str, bool]]:
    return {(name, not holds) for name, holds in answers}


def states_of(result: CheckResult) -> int:
    """The states of the classes that a search visited."""
    assert result.search is not None
    return int(result.search.symmetry["states"])


def decided(result: CheckResult | str) -> Any:
    """All that renaming does not change."""
    if isinstance(result, str):
        return result
    properties = [(p.name, p.status, p.depth, p.trace and len(p.trace)) for p in result.properties]
    covers = [(c.name, c.depth, c.trace and len(c.trace)) for c in result.covers]
    return properties, covers, result.complete, result.stopped.reason, result.stats.clipped > 0
