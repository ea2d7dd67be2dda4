"""The shortest trace to a state, or over a step, of which an expression is true; and why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from reassure.checkers.analyses.find.goal import NAME, NAMES, as_written, never
from reassure.checkers.analyses.guards.analysis import Guard, guards
from reassure.checkers.base.digest import digest
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import UnknownModel, config_values, load, own_file, settings
from reassure.checkers.base.options import ProofOptions, SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import RAISES, CheckResult, PropertyStatus
from reassure.checkers.base.stop import FAILED_FAST, Stop
from reassure.checkers.engines.native.engine import check
from reassure.checkers.engines.symbolic.prover import prove
from reassure.checkers.traces.explain import reasons
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.refusals import SubsetError
from reassure.spec.language.types import DomainError
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, ModelError, make_config
from reassure.spec.semantics.trace import Trace

FOUND = Stop(FAILED_FAST.reason, "a state or step was found of which the expression is true")


@dataclass
class Answer:
    """What was asked of which model, and the answer."""

    expression: str
    bound: BoundModel
    """Of the model as it is."""
    result: CheckResult
    by_proof: bool = False
    """Whether it was asked of Z3, in place of a search."""
    exit: Exit = Exit.INCONCLUSIVE
    trace: Trace | None = None
    """To the state, or over the step, of which the expression is true; of a model that raises, to where it does."""
    reasons: list[str] = field(default_factory=list)
    """The values that make it true."""
    guards: list[Guard] = field(default_factory=list)
    """Those without one of which the expression comes true, where it never does."""
    guards_left: int | None = None
    """Where it never comes true: how many guards could not be left out. None: not all guards were tried."""

    @property
    def unreachable(self) -> bool:
        """Whether no reachable state or step of the configuration makes it true."""
        return self.exit is Exit.VACUOUS


def find(
    model: str,
    pairs: list[str],
    expression: str,
    options: SearchOptions,
    progress: Progress,
    weigh_guards: bool = True,
    by_proof: bool = False,
) -> Answer:
    """Searches, shortest traces first. weigh_guards: if there is no such state, each guard is left out in turn.

    by_proof: proves that it never comes true, or refutes that, in place of searching.

    Raises `Failure` where the model, its configuration or the expression is wrong.
    """
    try:
        loaded = load(model)
        chosen = settings(loaded, pairs)
        bound = BoundModel(loaded, make_config(loaded, chosen))
        sha = digest(loaded)
        result = CheckResult(loaded.name, sha, config_values(bound.config), "prove" if by_proof else "native")
        with never(loaded, expression) as (asked, _):
            found = Answer(expression, bound, result, by_proof)
            _answer(found, asked, replace(options, fail_fast=True, properties=[]), progress, weigh_guards)
    except UnknownModel as error:
        raise Failure(Exit.USAGE, str(error)) from None
    except ConfigError as error:
        raise Failure(Exit.CONFIG, str(error)) from None
    except (LanguageError, DomainError, ModelError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    except Disagreement as error:
        raise Failure(Exit.DISAGREE, str(error)) from None
    finally:
        progress.done()
    if found.trace is not None:
        found.trace.meta |= {
            "model": loaded.name,
            "model_sha256": sha,
            "config": result.config,
            "engine": "find",
            **({"model_file": model} if own_file(model) else {}),
        }
    return found


def _answer(found: Answer, model: Model, options: SearchOptions, progress: Progress, weigh_guards: bool) -> None:
    bound = BoundModel(model, found.bound.config)
    lowered = _lowered(bound)
    result = found.result
    if found.by_proof:
        prove(bound, lowered, replace(options, fail_fast=False), result, progress, ProofOptions())
    else:
        check(bound, lowered, options, result, progress)
    (claim,) = [p for p in result.properties if p.kind != RAISES]
    raised = [p for p in result.properties if p.status is PropertyStatus.RAISED]
    if claim.trace is not None:
        claim.trace.meta |= {"property": claim.name, "property_kind": claim.kind}
        found.reasons = [line.strip() for line in reasons(claim.trace, bound)[1:]]
        claim.trace.meta = {"expression": found.expression}
        found.trace, found.exit, result.stopped = claim.trace, Exit.OK, FOUND
    elif raised:
        found.trace, found.exit = raised[0].trace, Exit.MODEL
        assert found.trace is not None
        if found.trace.meta[RAISES]["by"] == NAME:
            found.trace.meta, found.reasons = {"expression": found.expression}, [raised[0].note]
        else:
            found.trace.meta |= {"property": RAISES, "property_kind": RAISES}
    elif found.by_proof:
        found.exit = Exit.VACUOUS if claim.status is PropertyStatus.PROVED else Exit.INCONCLUSIVE
    elif result.complete and not result.stats.clipped:
        found.exit = Exit.VACUOUS
        if weigh_guards:
            weighed, _, early = guards(bound, result.model_sha256, options, progress)
            found.guards = [g for g in weighed if g.falls]
            if not early:
                found.guards_left = sum(g.verdict in ("undecided", "raises") for g in weighed)


def _lowered(bound: BoundModel) -> LoweredModel:
    """The lowered model; `Failure` where it, or the expression, is outside the language."""
    try:
        return lower_model(bound)
    except SubsetError as error:
        code = Exit.USAGE if all(Path(r.file).stem == NAME for r in error.refusals) else Exit.MODEL
        text = f"outside the language: {as_written(str(error))}"
        raise Failure(code, f"{text}; {NAMES}" if "is not defined" in text and code is Exit.USAGE else text) from None
