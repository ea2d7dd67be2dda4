"""Every method of `prove` against a search by plain Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reassure.checkers.base.options import ProofOptions, SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.reference import search as reference
from reassure.checkers.symbolic import certificate as certificates
from reassure.checkers.symbolic import prover
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.semantics.interpreter import ModelError
from tests.fuzz.subject import Difference, Refused, Subject, loaded, new_verdict
from tests.fuzz.tighten import tightened

METHODS = (("bmc", 4), ("induction", None), ("k-induction", 3), ("pdr", None), ("auto", None))


def proofs(subject: Subject, budget: float = 6.0, methods: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Every method of `prove`: what is proved is not violated, what is violated replays, certificates verify."""
    subject = _with_tight_invariants(subject)
    verdict = new_verdict(subject, "reference")
    raised = ""
    try:
        asked = [p.name for p in subject.bound.properties if not p.temporal] or ["deadlock"]
        options = SearchOptions(asked, subject.depth)  # a proof leaves properties of whole runs to a search
        reference.check(subject.bound, options, verdict, Progress(quiet=True))
    except ModelError as error:
        raised = str(error)
    truth = {p.name: p for p in verdict.properties}
    for method, depth in METHODS:
        if methods and method not in methods:
            continue
        proof = new_verdict(subject, "prove")
        options = SearchOptions(budget=budget, workers=1)
        try:
            proof = prover.prove(
                subject.bound, subject.lowered, options, proof, Progress(quiet=True), ProofOptions(method, depth)
            )
        except ModelError as error:
            if subject.complete and not raised:
                yield Difference("prove", f"{method} raises, Python does not", str(error))
            continue
        except Disagreement as error:
            yield Difference("prove", f"{method}: plain Python contradicts it", str(error))
            continue
        for p in proof.properties:
            found = _unproved(subject, method, depth, p, truth, raised)
            if found is not None:
                yield found
        if any(p.status == "proved" for p in proof.properties) and verdict.stats.undeclared and not raised:
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


def _unproved(
    subject: Subject, method: str, depth: int | None, p: Any, truth: dict[str, Any], raised: str
) -> Difference | None:
    if p.name not in truth:
        told = p.status in ("not_checked", "unknown")
        return None if told else Difference("prove", f"{method} decides a property of whole runs", p.name)
    known = truth[p.name]
    if p.status in ("proved", "holds_within_bounds"):
        if known.status == "violated":
            return Difference("prove", f"{method} proves what is violated", f"{p.name}, in {known.depth} states")
        if raised:
            return Difference("prove", f"{method} proves where Python raises", f"{p.name}: {raised}")
    if p.status == "holds_to_depth" and known.status == "violated" and known.depth <= (depth or 20):
        return Difference("prove", f"{method} misses a violation", f"{p.name}, in {known.depth} states")
    if p.status == "violated" and not raised:
        if p.trace is None:
            return Difference("prove", f"{method}: a violation without a trace", p.name)
        if known.status == "violated" and method == "bmc" and p.depth != known.depth:
            return Difference("prove", f"{method}: not the shortest", f"{p.name}: {p.depth} for {known.depth}")
        if known.status != "violated" and (subject.complete or len(p.trace) <= subject.depth):
            return Difference("prove", f"{method} refutes what holds", p.name)
    return None
