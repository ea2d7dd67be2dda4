"""Mutants of a random model: the compiled search of each against plain Python running the changed text."""

from __future__ import annotations

import random
from collections.abc import Iterator

from reassure.checkers.analyses.mutants.analysis import Judge
from reassure.checkers.analyses.mutants.mutant_search import MutantLimits, MutantOutcome
from reassure.checkers.analyses.mutants.mutants import Mutant, mutants_of
from reassure.checkers.request.options import SearchOptions
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import ModelError
from tests.fuzz.subject import STATES, Difference, Subject
from tests.helpers.runs import plain_result

MOST = 3
"""Mutants of one model that are compared, at most."""


def mutants(subject: Subject) -> Iterator[Difference]:
    """Some mutants of a model of few states: what is violated, reached, counted, and whether it raises."""
    if not subject.complete or subject.error is not None:
        return
    judge = Judge(subject.bound, subject.lowered, SearchOptions(), MutantLimits(60, 4 * STATES), lambda states: None)
    every = mutants_of(subject.bound)
    for mutant in random.Random(subject.seed).sample(every, min(MOST, len(every))):
        try:
            outcome = judge.outcome(mutant)
        except (SubsetError, LanguageError, LookupError, ModelError):
            continue  # it is not a model, or raises at once
        if not outcome.ended:
            yield from _compared(subject, judge, mutant, outcome)


def _compared(subject: Subject, judge: Judge, mutant: Mutant, outcome: MutantOutcome) -> Iterator[Difference]:
    plain = plain_result(mutant.of(judge.bound))
    where = f"{mutant.place} {mutant.kind}: {mutant.before} -> {mutant.after}"
    raises = any(p.status == "raised" for p in plain.properties)
    if bool(outcome.raised) != raises:
        yield Difference("mutants", "one raises and the other does not", f"{where}: {outcome.raised}")
        return
    fallen = {p.name: None if p.temporal else p.depth for p in plain.properties if p.status == "violated"}
    if outcome.violated != fallen:
        yield Difference("mutants", "other violations", f"{where}: {outcome.violated}, not {fallen}")
    if outcome.reached != {c.name for c in plain.covers if c.reached}:
        yield Difference("mutants", "other covers", where)
    n, s = outcome.stats, plain.stats
    if (n.distinct, n.generated) != (s.distinct, s.generated):
        counts = f"{n.distinct} and {n.generated}, not {s.distinct} and {s.generated}"
        yield Difference("mutants", "other counts", f"{where}: {counts}")
