"""One check from a model's name to a verdict; what the command line, the gate and the evidence share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from reassure.checkers.base.declared import repro
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import config_values, own_file
from reassure.checkers.base.options import ProofOptions, SearchOptions, SimulationOptions, SparkOptions
from reassure.checkers.base.prepare import must_match, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.base.shared_options import CHECK, PROVE, SIMULATE
from reassure.checkers.base.trace_files import results, trace_meta
from reassure.checkers.engines.reference import search as reference
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.trace import ReplayRefused


@dataclass(frozen=True)
class Prepared:
    """A model under a configuration, ready for every engine."""

    bound: BoundModel
    lowered: LoweredModel


@dataclass
class CheckRequest:
    """What a check was asked for."""

    model: str
    set: list[str]
    engine: str
    options: SearchOptions
    accept_clipping: bool = False
    walks: SimulationOptions | None = None
    """Random walks instead of a search."""
    proof: ProofOptions | None = None
    """A proof instead of a search."""
    cluster: SparkOptions = field(default_factory=SparkOptions)
    """For the distributed engine."""

    def repro(self) -> str:
        """The command that repeats it."""
        values = {**vars(self.options), **vars(self), "property": self.options.properties}
        if self.walks:
            values |= {**vars(self.walks), "walks": self.walks.count, "weight": self.walks.weights}
            return repro("simulate", SIMULATE, values)
        if self.proof:
            return repro("prove", PROVE, values | vars(self.proof))
        if self.engine == "spark":
            master = None if self.cluster.master == SparkOptions.master else self.cluster.master
            values |= {**vars(self.cluster), "master": master}
        return repro("check", CHECK, values)


Engine = Callable[[CheckRequest, Prepared, CheckResult, Progress], CheckResult]


def _reference(request: CheckRequest, model: Prepared, result: CheckResult, progress: Progress) -> CheckResult:
    result.stats.workers = 1
    return reference.check(model.bound, request.options, result, progress)


def _native(request: CheckRequest, model: Prepared, result: CheckResult, progress: Progress) -> CheckResult:
    from reassure.checkers.engines.native import engine

    return engine.check(model.bound, model.lowered, request.options, result, progress)


def _spark(request: CheckRequest, model: Prepared, result: CheckResult, progress: Progress) -> CheckResult:
    from reassure.checkers.engines.spark import engine
    from reassure.checkers.engines.spark.run_directory import RunDirectoryError
    from reassure.checkers.engines.spark.session import JobFailed, NoSpark

    try:
        return engine.check(model.bound, model.lowered, request.options, result, progress, request.cluster)
    except (NoSpark, JobFailed) as error:
        raise Failure(Exit.SYSTEM, str(error)) from None
    except RunDirectoryError as error:
        raise Failure(Exit.USAGE, str(error)) from None


def _simulate(request: CheckRequest, model: Prepared, result: CheckResult, progress: Progress) -> CheckResult:
    from reassure.checkers.engines.native import simulation

    walks = request.walks or SimulationOptions()
    declared = [a.name for a in model.bound.model.actions]
    if unknown := set(walks.weights) - set(declared):
        has = ", ".join(declared)
        raise Failure(Exit.USAGE, f"{model.bound.model.name} has no action {min(unknown)!r}; it has {has}")
    return simulation.simulate(model.bound, model.lowered, request.options, result, progress, walks)


def _prove(request: CheckRequest, model: Prepared, result: CheckResult, progress: Progress) -> CheckResult:
    from reassure.checkers.engines.symbolic import prover

    proof = request.proof or ProofOptions()
    return prover.prove(model.bound, model.lowered, request.options, result, progress, proof)


ENGINES: dict[str, Engine] = {
    "native": _native,
    "reference": _reference,
    "spark": _spark,
    "simulate": _simulate,
    "prove": _prove,
}
"""Every engine by the name that a request gives (`prove:METHOD` is `prove`)."""


def run(asked: CheckRequest, progress: Progress) -> tuple[CheckResult, BoundModel]:
    """Checks a model; `Failure` where there is no verdict to be had."""
    began = time.monotonic()
    bound, lowered, sha = prepare(asked.model, asked.set)
    covers = [p.name for p in bound.covers]
    claimed = [p.name for p in bound.properties] + covers + (["deadlock"] if bound.model.deadlock else [])
    verdict = CheckResult(bound.model.name, sha, config_values(bound.config), asked.engine)
    verdict.accept_clipping = asked.accept_clipping
    verdict.not_applicable = [p.name for p in bound.not_applicable]
    verdict.asked = {n for n in claimed if asked.options.properties and asked.options.wants(n)}
    verdict.source, verdict.settings = asked.model, asked.set
    verdict.repro = asked.repro()
    if not claimed:
        raise Failure(Exit.NOTHING, f"{bound.model.name} declares no property, no cover, and no deadlock check")
    of_covers_alone = {n for n in claimed if asked.options.wants(n)} <= set(covers)
    must_match(
        bound, [n for n in claimed if n not in covers] if asked.proof and of_covers_alone else claimed, asked.options
    )
    verdict.stats.seconds["load"] = time.monotonic() - began
    try:
        lowered = lowered.only(asked.options.wants)
        engine = ENGINES[asked.engine.partition(":")[0]]
        verdict = engine(asked, Prepared(bound, lowered), verdict, progress)
    except (ModelError, LanguageError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    except reference.Nondeterminism as error:
        raise Failure(Exit.INTERNAL, str(error)) from None
    except Disagreement as error:
        raise Failure(Exit.DISAGREE, str(error)) from None
    except ReplayRefused as error:
        raise Failure(Exit.INTERNAL, f"a counterexample does not replay in plain Python: {error}") from None
    finally:
        progress.done()
    for found in results(verdict):
        if found.trace is not None:
            found.trace.meta = trace_meta(verdict, found)
            if own_file(asked.model):
                found.trace.meta["model_file"] = asked.model
    return verdict, bound
