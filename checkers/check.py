"""One check from a model's name to a verdict; what the command line, the gate and the evidence share."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.options import (
    DEFAULT_ENGINE,
    EXACT_SYMMETRIES,
    UNTIL_THE_BUDGET_ENDS,
    ProofOptions,
    SearchOptions,
    SimulationOptions,
    SparkOptions,
)
from reassure.checkers.request.prepare import Prepared, must_match, prepare
from reassure.checkers.request.result import CheckResult
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import CHECK, PROVE, SIMULATE, repro
from reassure.checkers.request.vacuity import vacuous_claims
from reassure.checkers.traces.format_value import ExpressionClaims
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.language.light_dataclasses import dataclass
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
    jar: str | None = None
    """Its file; None: where the environment says."""
    expressions: ExpressionClaims | None = None
    """Claims beside those of the model."""

    def repro(self) -> str:
        """The command that repeats it."""
        texts = self.expressions.texts if self.expressions else {}
        values = {**vars(self.options), **vars(self)}
        values["property"] = [name for name in self.options.properties if name not in texts]
        for kind in ("invariant", "step"):
            values[kind] = [text for name, text in texts.items() if name.startswith(kind)]
        if self.walks:
            count = None if self.walks.count == UNTIL_THE_BUDGET_ENDS else self.walks.count
            values |= {**vars(self.walks), "walks": count, "weight": self.walks.weights}
            return repro("simulate", SIMULATE, values)
        if self.proof:
            return repro("prove", PROVE, values | vars(self.proof))
        if self.engine == "spark":
            master = None if self.cluster.master == SparkOptions.master else self.cluster.master
            values |= {**vars(self.cluster), "master": master}
            if self.cluster.out:  # a run that is kept is repeated from what it has
                return f"{repro('check', CHECK, values)} {shlex.quote(f'--resume={self.cluster.out}')}"
        return repro("check", CHECK, values)


Engine = Callable[[Prepared, CheckRequest, Progress], EngineResult]


def _reference(prepared: Prepared, request: CheckRequest, progress: Progress) -> EngineResult:
    from reassure.checkers.engines.reference import search as reference

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


def _symmetry_goes_with(request: CheckRequest) -> None:
    """`Failure` where an engine does not have the kind of symmetry that is asked for."""
    symmetry, engine = request.options.symmetry, request.engine
    if symmetry == "off" or engine == DEFAULT_ENGINE:
        return
    if engine != "spark":
        raise Failure(Exit.USAGE, f"--symmetry is for --engine {DEFAULT_ENGINE} and spark, not for {engine}")
    if symmetry not in EXACT_SYMMETRIES:
        raise Failure(Exit.USAGE, f"--symmetry {symmetry} is for --engine {DEFAULT_ENGINE}, not for {engine}")
    if request.cluster.out is not None:
        raise Failure(
            Exit.USAGE, "--out and --resume keep the states and steps of whole searches: leave out --symmetry"
        )


def _kept(request: CheckRequest, prepared: Prepared) -> Any:
    """What the native engine keeps of a model's translation."""
    if request.engine != DEFAULT_ENGINE or request.options.symmetry != "off":
        return None
    from reassure.checkers.engines.native.model.translation import look_up

    return look_up(prepared, request.options)


def run(request: CheckRequest, progress: Progress) -> tuple[CheckResult, BoundModel]:
    """Checks a model; `Failure` if there is no result."""
    began, options = time.monotonic(), request.options
    claims = request.expressions.of if request.expressions else None
    prepared = prepare(request.model, request.set, request.engine != "reference", claims, partial(_kept, request))
    bound = prepared.bound
    covers = [p.name for p in bound.covers]
    names = [p.name for p in bound.properties] + covers + (["deadlock"] if bound.model.deadlock else [])
    if not names:
        raise Failure(Exit.NOTHING, f"{bound.model.name} declares no property, no cover, and no deadlock check")
    of_covers_alone = {n for n in names if options.wants(n)} <= set(covers)
    must_match(bound, [n for n in names if n not in covers] if request.proof and of_covers_alone else names, options)
    identity = RunIdentity.of(prepared, request.engine, request.repro())
    _symmetry_goes_with(request)
    load_seconds = time.monotonic() - began
    try:
        engine = ENGINES[request.engine.partition(":")[0]]
        with_all = request.proof is not None and not request.proof.any_number  # other invariants may serve as lemmas
        whole = with_all or prepared.restricted is None
        engine_result = engine(prepared if whole else prepared.only(options.wants), request, progress)
    except (ModelError, LanguageError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    except Disagreement as error:
        raise Failure(Exit.DISAGREE, str(error)) from None
    except ReplayRefused as error:
        raise Failure(Exit.INTERNAL, f"a counterexample does not replay in plain Python: {error}") from None
    finally:
        progress.done()
    engine_result.stats.seconds["load"] = load_seconds
    expressions = request.expressions.texts if request.expressions else {}
    constant = prepared.kept.constant if prepared.kept is not None else ()
    vacuous = vacuous_claims(bound, prepared.restricted, constant)
    accept = request.accept_clipping
    return CheckResult.of(identity, bound, options, engine_result, accept, expressions, vacuous), bound
