"""Every method of `prove` against a search by plain Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reassure.checkers.engines.symbolic import certificate as certificates
from reassure.checkers.engines.symbolic import prover
from reassure.checkers.machine.stop import MODEL_RAISES, StopReason
from reassure.checkers.request.engine_results import EngineResult, SearchResult, SearchStatistics
from reassure.checkers.request.options import ProofOptions, SearchOptions
from reassure.checkers.request.result import RAISES, CheckResult, PropertyResult
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.semantics.interpreter import ModelError
from tests.fuzz.subject import Difference, Refused, Subject, loaded
from tests.fuzz.tighten import tightened
from tests.helpers.runs import plain_result, result_of

METHODS = (("bmc", 4), ("induction", None), ("k-induction", 3), ("pdr", None), ("auto", None))


BOUNDED = ("bmc", "k-induction")
"""The methods that unroll steps, quick enough for more models."""


@dataclass(frozen=True)
class Truth:
    """What a search by plain Python says of one claim asked for alone. Depths are lengths of traces; None: nowhere."""

    violated: int | None = None
    raises: int | None = None


def proofs(subject: Subject, budget: float = 6.0, methods: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Every method of `prove`: what is proved is not violated, what is violated replays, certificates verify."""
    subject = _with_tight_invariants(subject)
    # A proof leaves properties of whole runs to a search.
    asked = [p.name for p in subject.bound.properties if not p.temporal] or ["deadlock"]
    try:
        verdict = _searched(subject, [*asked, *(p.name for p in subject.bound.covers)])
    except ModelError as error:
        nothing = EngineResult(SearchResult(), SearchStatistics(), MODEL_RAISES, False)
        verdict, raised = result_of(lambda *given: nothing, subject.bound), str(error)
    else:
        raised = ""
    truth = {name: _truth(verdict, name) for name in asked}
    raises = _raised(verdict)
    if raises is not None:  # by one claim, perhaps: the others are asked for alone
        truth = {name: _truth(_searched(subject, [name]), name) for name in asked}
    elif not raised:  # walks to covers ask the terminals too
        raises = _raised(_searched(subject, ["deadlock"]))
    for method, depth in METHODS:
        if methods and method not in methods:
            continue

        def prove(*given: Any, method: str = method, depth: int | None = depth) -> EngineResult:
            return prover.prove(*given, ProofOptions(method, depth))

        options = SearchOptions(budget=budget, workers=1)
        try:
            proof = result_of(prove, subject.bound, options, subject.lowered)
        except ModelError as error:
            if subject.complete and not raised:
                yield Difference("prove", f"{method} raises, Python does not", str(error))
            continue
        except Disagreement as error:
            yield Difference("prove", f"{method}: plain Python contradicts it", str(error))
            continue
        if raised:
            proved = [p.name for p in proof.properties if p.status in PROVED]
            if proved:
                yield Difference("prove", f"{method} proves where Python raises", f"{proved}: {raised}")
            continue
        for p in proof.properties:
            wrong = _wrong(subject, method, depth, p, truth, raises)
            if wrong:
                yield Difference("prove", f"{method} {wrong}", f"{p.name}: {truth.get(p.name)}")
        yield from _more(subject, method, depth, proof, verdict, [t.raises for t in truth.values() if t.raises])


PROVED = ("proved", "holds_within_bounds")


def _raised(verdict: CheckResult) -> int | None:
    """The length of the trace to what raises; None if nothing does."""
    return next((p.depth for p in verdict.properties if p.status == "raised"), None)


def _searched(subject: Subject, asked: list[str]) -> CheckResult:
    """What plain Python finds of some claims, on the levels that were searched."""
    options = SearchOptions(asked, subject.depth)
    return plain_result(subject.bound, options)


def _truth(verdict: CheckResult, name: str) -> Truth:
    depths = {p.name: p.depth for p in verdict.properties if p.status in ("violated", "raised")}
    return Truth(depths.get(name), depths.get(RAISES))


def _more(
    subject: Subject, method: str, depth: int | None, proof: CheckResult, verdict: CheckResult, raises: list[int]
) -> Iterator[Difference]:
    """What is wrong of a run as a whole: what raises, bounds that are left, and its certificate.

    raises: the lengths of the shortest runs into what raises, for each claim. `bmc` asks no covers.
    """
    status = {p.name: p.status for p in proof.properties}
    looked = method == "bmc" and not proof.ended(StopReason.BUDGET, StopReason.SOLVER)
    if looked and raises and min(raises) <= (depth or 20) and RAISES not in status:
        if any(s not in ("violated", "not_checked") for s in status.values()):
            yield Difference("prove", f"{method} misses what raises", f"after {min(raises) - 1} steps")
    if "proved" in status.values() and verdict.stats.undeclared and not raises:
        yield Difference("prove", f"{method}: proved where steps are clipped", f"{verdict.stats.clipped_at}")
    made = proof.proof.certificate if proof.proof is not None else None
    if made is not None:
        wrong = certificates.verify(made, subject.lowered)
        if wrong:
            yield Difference("prove", f"{method}: verify refuses the certificate", "; ".join(wrong))
        wrong = certificates.refuted_by(made, subject.lowered, subject.states[:20])
        if wrong:
            yield Difference("prove", f"{method}: a reachable state refutes the certificate", "; ".join(wrong))


def _with_tight_invariants(subject: Subject) -> Subject:
    """The model with invariants that are just true or just false, where all its states are known."""
    text = tightened(subject, random.Random(subject.seed)) if subject.complete and subject.error is None else ""
    if not text:
        return subject
    path = Path(f"{subject.path.with_suffix('')}_tight.py")
    path.write_text(text, encoding="utf-8")
    try:
        return loaded(path, subject.seed)
    except Refused:
        return subject  # an optional that is never absent in a reached state


def _wrong(
    subject: Subject, method: str, depth: int | None, p: PropertyResult, truth: dict[str, Truth], raises: int | None
) -> str:
    """What is wrong of one status; "" if nothing is. raises: where plain Python raises, asked for everything."""
    seen = subject.complete or p.trace is None or len(p.trace) <= subject.depth
    if p.status == "raised":
        return "raises where Python does not" if raises is None and seen else ""
    if p.name not in truth:
        return "" if p.status in ("not_checked", "unknown") else "decides a property of whole runs"
    known, bound = truth[p.name], depth or 20
    if p.status in PROVED:
        if known.violated is not None:
            return "proves what is violated"
        return "" if known.raises is None else "proves where Python raises"
    if p.status == "holds_to_depth":
        if known.violated is not None and known.violated <= bound:
            return "misses a violation"
        return "" if known.raises is None or known.raises > bound else "says that it holds where Python raises"
    if p.status != "violated":
        return ""
    if p.trace is None:
        return "finds a violation without a trace"
    if known.violated is not None:
        return "finds not the shortest" if method == "bmc" and p.depth != known.violated else ""
    beyond = known.raises is not None and len(p.trace) >= known.raises
    return "refutes what holds" if seen and not beyond else ""
