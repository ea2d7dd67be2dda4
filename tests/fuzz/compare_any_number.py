"""What is proved for any number of members against searches with two to five of them; its certificate is accepted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, fields
from itertools import islice
from typing import Any

from reassure.checkers.engines.native import engine
from reassure.checkers.engines.symbolic.any_number.certificate import AnyCertificate, verify
from reassure.checkers.engines.symbolic.any_number.instantiation import search_near
from reassure.checkers.engines.symbolic.any_number.prover import prove_for_any_number
from reassure.checkers.engines.symbolic.any_number.system import System
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.machine.stop import Interrupted
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.options import ProofOptions, SearchOptions
from reassure.checkers.request.result import RAISES, CheckResult
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.language.types import DomainError
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, ModelError, make_config
from tests.fuzz.subject import Difference, Subject
from tests.helpers.any_number import system_of
from tests.helpers.runs import result_of

SIZES = (2, 3, 4, 5)
PROVED = ("proved", "holds_within_bounds")


def any_number(subject: Subject, seconds: float = 8.0) -> Iterator[Difference]:
    """Each property that is proved is violated with no number of members, as far as a search of a second comes.

    The certificate of the proof is accepted, as far as a second and a half suffice to check it. The invariants mean the
    same for any number and in one configuration.
    """
    try:
        system = system_of(subject.bound)
    except (Failure, SubsetError):
        return  # no number is free, or a construct has no translation
    with suppress(ModelError):  # it raises at once in that configuration
        yield from _meant(system, subject.bound)
    try:
        proof = result_of(_prove, subject.bound, SearchOptions(budget=seconds, workers=1))
    except (Failure, ModelError):
        return  # it raises at once
    proved = [p.name for p in proof.properties if p.status in PROVED]
    certificate = None if proof.proof is None else proof.proof.certificate
    if isinstance(certificate, AnyCertificate):
        wrong = _refused(certificate, subject.bound)
        if wrong:
            yield Difference("any-number", "its own certificate is refused", "; ".join(wrong))
    for size in SIZES if proved else ():
        found = _searched(subject.bound, size, proved)
        if found is None:
            continue
        for p in found.properties:
            if p.status in ("violated", "raised") and (p.name in proved or p.name == RAISES):
                yield Difference("any-number", f"proves what is {p.status}", f"{p.name} with {size} of each sort")


def _meant(system: System, bound: BoundModel) -> Iterator[Difference]:
    """In the configuration nearest to that of the model."""
    lemmas = [Lemma(f.name, f.condition) for f in system.lowered.state_formulas]
    for searched in islice(search_near(system, lemmas, 1.0, 1 << 30, lambda what: None), 1 if lemmas else 0):
        settings = filter(None, searched.settings.split(", "))  # none where every number keeps its value
        values = {name: int(value) for name, value in (pair.split("=") for pair in settings)}
        found = _at(bound, values, [lemma.text for lemma in lemmas])
        if found is None or not (searched.complete and found.complete):
            continue
        violated = {p.name for p in found.properties if p.status == "violated"}
        if violated != set(searched.false):
            yield Difference("any-number", "another meaning in one configuration", f"{searched}: {violated}")


def _refused(certificate: AnyCertificate, bound: BoundModel) -> list[str]:
    """Why `verify` refuses a certificate, read back from its JSON; nothing where the time did not suffice."""
    end = time.monotonic() + 1.5
    again = AnyCertificate(**json.loads(json.dumps(asdict(certificate))))
    try:
        return verify(again, bound, seconds=lambda: max(0.0, end - time.monotonic())).wrong
    except Interrupted:
        return []


def _prove(*given: Any) -> EngineResult:
    return prove_for_any_number(*given, ProofOptions(any_number=True))


def _searched(bound: BoundModel, size: int, names: list[str]) -> CheckResult | None:
    """A search with so many members of each sort; None if there is no such configuration, or it raises at once."""
    counts = {f.name: size for f in fields(bound.config) if f.name.endswith("_count")}
    return _at(bound, counts, names)


def _at(bound: BoundModel, changed: dict[str, int], names: list[str]) -> CheckResult | None:
    """A search with other values of the configuration; None if there is no such one, or it raises at once."""
    values = {f.name: getattr(bound.config, f.name) for f in fields(bound.config)}
    options = SearchOptions(names, budget=1.0, workers=1, memory=1 << 30)
    try:
        sized = BoundModel(bound.model, make_config(bound.model, values | changed))
        return result_of(engine.check, sized, options, lower_model(sized).only(options.wants))
    except (ConfigError, DomainError, ModelError, SubsetError):
        return None
