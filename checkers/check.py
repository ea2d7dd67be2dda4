"""One check from a model's name to a verdict; what the command line, the gate and the evidence share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from reassure.checkers.base.declared import repro
from reassure.checkers.base.engine_results import EngineResult
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.options import DEFAULT_ENGINE, ProofOptions, SearchOptions, SimulationOptions, SparkOptions
from reassure.checkers.base.prepare import Prepared, must_match, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.base.run_identity import RunIdentity
from reassure.checkers.base.shared_options import CHECK, PROVE, SIMULATE
from reassure.checkers.base.vacuity import vacuous_claims
from reassure.checkers.engines.reference import search as reference
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel, ModelError
from reassure.spec.semantics.trace import ReplayRefused


@dataclass
class CheckRequest:
    """The model, the engine and the options of a check."""

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
    second_opinion: str | None = None
    """Another program that is asked the same afterwards."""

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


Engine = Callable[[Prepared, CheckRequest, Progress], EngineResult]


def _reference(prepared: Prepared, request: CheckRequest, progress: Progress) -> EngineResult:
    return reference.check(prepared, request.options, progress)


def _native(prepared: Prepared, request: CheckRequest, progress: Progress) -> EngineResult:
    from reassure.checkers.engines.native import engine  # imports LLVM and numpy, which only some engines need

    return engine.check(prepared, request.options, progress)


def _spark(prepared: Prepared, request: CheckRequest, progress: Progress) -> EngineResult:
    from reassure.checkers.engines.spark import engine

    return engine.check(prepared, request.options, progress, request.cluster)


def _simulate(prepared: Prepared, request: CheckRequest, progress: Progress) -> EngineResult:
    from reassure.checkers.engines.native import simulation

    walks = request.walks or SimulationOptions()
    declared = [a.name for a in prepared.bound.model.actions]
    if unknown := set(walks.weights) - set(declared):
        has = ", ".join(declared)
        raise Failure(Exit.USAGE, f"{prepared.bound.model.name} has no action {min(unknown)!r}; it has {has}")
    return simulation.simulate(prepared, request.options, progress, walks)


def _prove(prepared: Prepared, request: CheckRequest, progress: Progress) -> EngineResult:
    proof = request.proof or ProofOptions()
    if proof.any_number:
        from reassure.checkers.engines.symbolic.any_number.prover import prove_for_any_number

        return prove_for_any_number(prepared, request.options, progress, proof)
    from reassure.checkers.engines.symbolic import prover

    return prover.prove(prepared, request.options, progress, proof)


ENGINES: dict[str, Engine] = {
    "native": _native,
    "reference": _reference,
    "spark": _spark,
    "simulate": _simulate,
    "prove": _prove,
}
"""Every engine by the name that a request gives (`prove:METHOD` is `prove`)."""


def run(request: CheckRequest, progress: Progress) -> tuple[CheckResult, BoundModel]:
    """Checks a model; `Failure` if there is no result."""
    began, options = time.monotonic(), request.options
    prepared = prepare(request.model, request.set, translated=request.engine != "reference")
    bound = prepared.bound
    covers = [p.name for p in bound.covers]
    names = [p.name for p in bound.properties] + covers + (["deadlock"] if bound.model.deadlock else [])
    if not names:
        raise Failure(Exit.NOTHING, f"{bound.model.name} declares no property, no cover, and no deadlock check")
    of_covers_alone = {n for n in names if options.wants(n)} <= set(covers)
    must_match(bound, [n for n in names if n not in covers] if request.proof and of_covers_alone else names, options)
    identity = RunIdentity.of(prepared, request.engine, request.repro())
    if options.symmetry != "off" and request.engine != DEFAULT_ENGINE:
        raise Failure(Exit.USAGE, f"--symmetry is for --engine {DEFAULT_ENGINE}, not for {request.engine}")
    load_seconds = time.monotonic() - began
    try:
        engine = ENGINES[request.engine.partition(":")[0]]
        wanted = prepared if prepared.restricted is None else prepared.only(options.wants)
        engine_result = engine(wanted, request, progress)
    except (ModelError, LanguageError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    except Disagreement as error:
        raise Failure(Exit.DISAGREE, str(error)) from None
    except ReplayRefused as error:
        raise Failure(Exit.INTERNAL, f"a counterexample does not replay in plain Python: {error}") from None
    finally:
        progress.done()
    engine_result.stats.seconds["load"] = load_seconds
    vacuous = vacuous_claims(bound, prepared.restricted)
    return CheckResult.of(identity, bound, options, engine_result, request.accept_clipping, vacuous), bound
