"""A run that is asked for some properties alone does not evaluate the others."""

from __future__ import annotations

from collections.abc import Iterator

from reassure.checkers.engines.native import engine
from reassure.checkers.request.options import SearchOptions
from reassure.spec.semantics.interpreter import ModelError
from tests.fuzz.subject import Difference, Subject
from tests.helpers.runs import plain_result, result_of


def asked(subject: Subject) -> Iterator[Difference]:
    """Each property asked for alone: the native engine raises where the reference engine does, and says the same."""
    for claim in subject.bound.properties:
        said = []
        for check in (_plain, _native):
            try:
                said.append(check(subject, SearchOptions(properties=[claim.name], depth=subject.depth, workers=1)))
            except ModelError:
                said.append("it raises")
        if said[0] != said[1]:
            yield Difference("asked", "another answer to one property", f"{claim.name}: {said[0]}, {said[1]}")


def _plain(subject: Subject, options: SearchOptions) -> str:
    result = plain_result(subject.bound, options)
    return str([(p.name, p.status, p.depth) for p in result.properties])


def _native(subject: Subject, options: SearchOptions) -> str:
    result = result_of(engine.check, subject.bound, options, subject.lowered.only(options.wants))
    return str([(p.name, p.status, p.depth) for p in result.properties])
