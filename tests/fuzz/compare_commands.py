"""Commands on a random model against plain Python, each a comparison of its own."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path

from reassure.checkers.request.vacuity import vacuous_claims
from reassure.spec.semantics.interpreter import ModelError
from tests.fuzz import command_answers as answers
from tests.fuzz import command_files as files
from tests.fuzz.brute import Graph, graph_of
from tests.fuzz.command_frame import Facts, Found, Frame, Wrong, facts_of
from tests.fuzz.command_raising import raised, raising
from tests.fuzz.subject import STATES, Difference, Subject

COMMANDS: dict[str, Callable[[Frame], Found]] = {
    "check": answers.check,
    "find": answers.find,
    "stuck": answers.stuck,
    "fairness": answers.fairness,
    "simulate": answers.simulate,
    "sweep": answers.sweep,
    "diff": answers.diff,
    "traces": files.traces,
    "graph": files.graph,
    "validate": files.validate,
    "replayed": files.replay,
    "gate": files.gate,
    "explore": files.explore,
}
OF_SPARK: dict[str, Callable[[Frame], Found]] = {"query": files.query}
"""Those that need Java."""


def asked_of(subject: Subject) -> bool:
    """Whether commands are compared on a model: it is of few states, and does not raise."""
    return subject.complete and subject.error is None


def compared(name: str, subject: Subject) -> Iterator[Difference]:
    """One command on a model that commands are compared on."""
    if not asked_of(subject):
        return
    try:
        whole, facts = _by_plain_python(subject)
    except ModelError:
        return  # other comparisons look at what raises
    if whole is None or facts is None or not (facts.hits or facts.runs):
        return  # too large, or nothing is claimed: every command says so before it begins
    facts.vacuous |= set(vacuous_claims(subject.bound, subject.lowered))
    yield from _framed(name, subject, whole, facts, {**COMMANDS, **OF_SPARK}[name])


@lru_cache(maxsize=1)
def _by_plain_python(subject: Subject) -> tuple[Graph | None, Facts | None]:
    """All states and what holds in them, found once for all commands. Raises `ModelError` where a property raises."""
    whole = graph_of(subject.bound, 4 * STATES + subject.spared)
    return whole, None if whole is None else facts_of(whole)


def _framed(
    name: str, subject: Subject, whole: Graph, facts: Facts, compare: Callable[[Frame], Found]
) -> Iterator[Difference]:
    """A comparison in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="reassure-fuzz-") as folder:
        frame = Frame(subject, whole, facts, Path(folder), random.Random(subject.seed))
        try:
            for kind, detail in compare(frame):
                yield Difference(name, kind, f"{detail}; {frame.last}")
        except Wrong as wrong:
            yield Difference(name, f"a code that no model deserves: {str(wrong)[:60]}", f"{wrong}; {frame.last}")


def raises(subject: Subject) -> Iterator[Difference]:
    """Commands on a model that raises."""
    found = raised(subject.bound)
    if found is not None:
        facts = Facts({}, {}, set(), {})
        yield from _framed("raises", subject, Graph(subject.bound), facts, lambda frame: raising(frame, found))


COMPARISONS = {name: partial(compared, name) for name in [*COMMANDS, *OF_SPARK]} | {"raises": raises}
