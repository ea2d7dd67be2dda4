"""The shortest trace to a state, or over a step, of which an expression is true; and why there is none."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from reassure.checkers.analyses.guards.analysis import Guard, guards
from reassure.checkers.engines.native.engine import check
from reassure.checkers.engines.symbolic.prover import prove
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import FAILED_FAST, Stop
from reassure.checkers.request.digest import digest
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.model_loader import load_model, settings
from reassure.checkers.request.options import EXACT_SYMMETRIES, ProofOptions, SearchOptions
from reassure.checkers.request.prepare import Prepared, without_start
from reassure.checkers.request.result import RAISES, CheckResult, PropertyStatus
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.explain import reasons
from reassure.checkers.traces.format_value import NAME, NAMES, as_written, never
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel, ModelError, make_config
from reassure.spec.semantics.trace import Trace

FOUND = Stop(FAILED_FAST.reason, "a state or step was found of which the expression is true")


@dataclass(frozen=True)
class Answer:
    """Whether some reachable state or step makes an expression true. bound: of the model without the expression."""

    expression: str
    bound: BoundModel
    result: CheckResult
    exit: Exit
    trace: Trace | None = None
    """To the state, or over the step, of which the expression is true; of a model that raises, to where it does."""
    untold: str = ""
    """Of a run that makes it true and has no trace: how long it is, and why."""
    reasons: list[str] = field(default_factory=list)
    """The values that make it true."""
    guards: list[Guard] = field(default_factory=list)
    """Those without one of which the expression comes true, where it never does."""
    guards_left: int | None = None
    """Where it never comes true: the number of guards that could not be left out. None: not all guards were tried."""

    @property
    def by_proof(self) -> bool:
        """Whether Z3 was asked, in place of a search."""
        return self.result.proof is not None

    @property
    def unreachable(self) -> bool:
        """Whether no reachable state or step of the configuration, within declared bounds, makes it true."""
        return self.exit is Exit.VACUOUS


def find(
    model: str,
    pairs: list[str],
    expression: str,
    options: SearchOptions,
    progress: Progress,
    weigh_guards: bool = True,
    by_proof: bool = False,
    repro: str = "",
) -> Answer:
    """Searches, shortest traces first. weigh_guards: if there is no such state, each guard is left out in turn.

    by_proof: proves that it never comes true, or refutes that, in place of searching. repro: the command that repeats
    it.
    """
    loaded = load_model(model)
    bound = BoundModel(loaded, make_config(loaded, settings(loaded, pairs)))
    with suppress(ModelError):  # the search tells what raises
        if reason := without_start(bound):
            raise Failure(Exit.NOTHING, f"{loaded.name} has no initial state: {reason}")
    sha = digest(loaded)
    with never(loaded, expression) as (negated, _):
        claim = BoundModel(negated, bound.config)
        prepared = Prepared(claim, sha, model, tuple(pairs), _lowered(claim))
        identity = replace(RunIdentity.of(prepared, "find", repro), model=loaded.name)
        question = Question(expression, bound, prepared, identity, replace(options, fail_fast=True, properties=[]))
        return question.proof(progress) if by_proof else question.search(progress, weigh_guards)


@dataclass(frozen=True)
class Question:
    """An expression, as the property of the prepared model that it is never true."""

    expression: str
    bound: BoundModel
    prepared: Prepared
    identity: RunIdentity
    options: SearchOptions

    def proof(self, progress: Progress) -> Answer:
        """The answer of Z3."""
        options = replace(self.options, fail_fast=False)
        result = self._result(prove(self.prepared, options, progress, ProofOptions()))
        answer = self._seen(result)
        status, undeclared = result.properties[0].status, result.stats.undeclared
        within_bounds = status is PropertyStatus.HOLDS_WITHIN_BOUNDS and not undeclared
        proved = status is PropertyStatus.PROVED or within_bounds
        return answer if answer is not None else self._answer(result, Exit.VACUOUS if proved else Exit.INCONCLUSIVE)

    def search(self, progress: Progress, weigh_guards: bool) -> Answer:
        """The answer of a search; if it is never true, with the guards that forbid it."""
        result = self._result(check(self.prepared, self.options, progress))
        answer = self._seen(result)
        if answer is not None:
            return answer
        if not result.complete or result.stats.undeclared:
            return self._answer(result, Exit.INCONCLUSIVE)
        answer = self._answer(result, Exit.VACUOUS)
        if not weigh_guards:
            return answer
        symmetry = "auto" if self.options.symmetry in EXACT_SYMMETRIES[1:] else "off"
        analysis = guards(self.prepared.bound, replace(self.options, symmetry=symmetry), progress)
        undecided = sum(g.verdict in ("undecided", "raises") for g in analysis.guards) if analysis.complete else None
        return replace(answer, guards=[g for g in analysis.guards if g.falls], guards_left=undecided)

    def _result(self, returned: EngineResult) -> CheckResult:
        return CheckResult.of(self.identity, self.prepared.bound, self.options, returned)

    def _answer(self, result: CheckResult, code: Exit) -> Answer:
        return Answer(self.expression, self.bound, result, code)

    def _seen(self, result: CheckResult) -> Answer | None:
        """The answer if a run makes the expression true, or raises; None if none was found."""
        claim = next(p for p in result.properties if p.kind != RAISES)
        raised = next((p for p in result.properties if p.status is PropertyStatus.RAISED), None)
        if claim.trace is not None:
            values = [line.strip() for line in reasons(claim.trace, self.prepared.bound)[1:]]
            result = replace(result, returned=replace(result.returned, stopped=FOUND))
            return replace(self._answer(result, Exit.OK), trace=self._unnamed(claim.trace), reasons=values)
        if claim.status is PropertyStatus.VIOLATED:
            return replace(self._answer(result, Exit.INCONCLUSIVE), untold=claim.note)
        if raised is None or raised.trace is None:
            return None
        answer = self._answer(result, Exit.MODEL)
        if raised.trace.meta[RAISES]["by"] != NAME:
            return replace(answer, trace=raised.trace)
        return replace(answer, trace=self._unnamed(raised.trace), reasons=[raised.note])

    def _unnamed(self, trace: Trace) -> Trace:
        """The trace with the expression in place of the property, which no model has."""
        gone = ("property", "property_kind", RAISES)
        kept = {key: value for key, value in trace.meta.items() if key not in gone}
        trace.meta = {"expression": self.expression, **kept}
        return trace


def _lowered(bound: BoundModel) -> LoweredModel:
    """The lowered model; `Failure` where it, or the expression, is outside the language."""
    try:
        return lower_model(bound)
    except SubsetError as error:
        code = Exit.USAGE if all(Path(r.file).stem == NAME for r in error.refusals) else Exit.MODEL
        text = f"outside the language: {as_written(str(error))}"
        raise Failure(code, f"{text}; {NAMES}" if "is not defined" in text and code is Exit.USAGE else text) from None
