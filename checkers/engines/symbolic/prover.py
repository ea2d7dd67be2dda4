"""`prove`: claims for every reachable state, however long the run, with Z3 and the same model.

A method (bounded search, k-induction, induction with lemmas, property-directed reachability) returns an answer for each
claim. A counterexample is replayed in plain Python before it is reported. A proof counts when it has been checked: what
it rests on is settled by a fresh solver, and the formulas are compared with plain Python on drawn states. Steps that
leave a bound are no steps here: that none is reachable is proved too, or said not to be.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import z3

from reassure.checkers.base.engine_results import ProofSummary
from reassure.checkers.base.options import ProofOptions, SearchOptions, SimulationOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import (
    LIVENESS_NOTE,
    RAISES,
    CheckResult,
    CoverResult,
    PropertyResult,
    PropertyStatus,
)
from reassure.checkers.base.stop import (
    BY_USER,
    MODEL_RAISES,
    Interrupted,
    Stop,
    StopReason,
    budget_ended,
    depth_reached,
)
from reassure.checkers.engines.symbolic import certificate
from reassure.checkers.engines.symbolic.bmc import bounded_search
from reassure.checkers.engines.symbolic.certificate import Certificate
from reassure.checkers.engines.symbolic.cross_check import CrossCheck
from reassure.checkers.engines.symbolic.houdini import Houdini
from reassure.checkers.engines.symbolic.induction import induction, own_lemmas
from reassure.checkers.engines.symbolic.k_induction import k_induction
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.pdr import pdr
from reassure.checkers.engines.symbolic.proof_result import Claims, Invariant, ProofResult, restricted
from reassure.checkers.engines.symbolic.scout import Scout, promising
from reassure.checkers.engines.symbolic.side_conditions import SideConditions, side_conditions
from reassure.checkers.engines.symbolic.solver import seed_z3, unanswered
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import inductive, never_raises, refuted, within_bounds
from reassure.checkers.traces.raising import note_in, raised_in
from reassure.checkers.traces.reconstruct import Disagreement, step_between, steps_between, told
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

COVER_WALKS = SimulationOptions(4_000, 100, 1)
DEEPEST = 200
"""How deep a run is looked for that Spacer says is there."""
QUICK_DEPTH = 6
"""How deep `auto` looks for a counterexample before it tries to prove."""
BMC_DEPTH, K_DEPTH = 20, 4


@dataclass
class Prover:
    """One model under proof.

    say: reports progress, and raises when the budget is over. left: the seconds left, None for no limit.
    """

    bound: BoundModel
    lowered: LoweredModel
    proof: ProofOptions
    say: Callable[[str], None]
    left: Callable[[], float | None]
    digest: str
    wants: Callable[[str], bool]
    """The properties and covers that are asked for."""
    machine: Machine = field(init=False)
    results: dict[str, ProofResult] = field(default_factory=dict)
    """The answers so far; other claims are open."""
    houdini: Houdini | None = None
    kept: list[Invariant] = field(default_factory=list)
    """Lemmas that are inductive beside those of `houdini`."""
    _scout: Scout | None = None

    def __post_init__(self) -> None:
        self.machine = Machine(self.lowered)

    @property
    def scout(self) -> Scout:
        if self._scout is None:
            self.say("compiling")
            self._scout = Scout(self.bound, self.lowered, self.wants)
        return self._scout

    @property
    def raised_seen(self) -> tuple[Trace, str] | None:
        """A run, seen by search or walks, into a state in which the model raises; and what raises there."""
        return self._scout.raised if self._scout is not None else None

    # -- methods --------------------------------------------------------------------------------------

    def run(self, claims: Claims) -> None:
        """Answers the claims by the method asked for."""
        method, depth = self.proof.method, self.proof.depth
        if method == "bmc":
            self._search(claims, depth or BMC_DEPTH)
            note = f"no violation of up to {depth or BMC_DEPTH} states"
            if RAISES in self.results:
                return
            for name in self._open(claims).names():
                self.results[name] = ProofResult(PropertyStatus.HOLDS_TO_DEPTH, note)
        elif method == "induction":
            self._induction(claims, [], "by induction, together with the others")
        elif method == "k-induction":
            for name, result in k_induction(self.machine, claims, depth or K_DEPTH, self.say, self.left):
                self.results[name] = result
        elif method == "pdr":
            self._pdr(claims)
        else:
            self._auto(claims, depth or QUICK_DEPTH)

    def _auto(self, claims: Claims, depth: int) -> None:
        """A short search for violations, then induction with lemmas, then Spacer if there is a budget."""
        self._search(claims, depth)
        if RAISES in self.results:
            return
        # A proof by lemmas is preferred to one by the end of all runs: it leaves a certificate.
        ended = {name: self.results.pop(name) for name in self.proved()}
        self.say("looking for lemmas")
        self._induction(self._open(claims), promising(self.scout), "by induction, with lemmas")
        left = self._open(claims).without(ended)
        if left.states and self.left() is not None:
            self._pdr(left)
        self.results |= {name: self.results[name] if name in self.proved() else ended[name] for name in ended}

    def spacer_is_left(self, waiting: list[str]) -> bool:
        """Whether `auto` has left out Spacer, which may not end by itself, for want of a budget."""
        over_states = any(p.name in waiting and not p.over_steps for p in self.bound.properties)
        return self.proof.method == "auto" and self.left() is None and over_states

    def _open(self, claims: Claims) -> Claims:
        """The claims without an answer."""
        return claims.without(n for n, r in self.results.items() if r.status is not PropertyStatus.UNKNOWN)

    def _search(self, claims: Claims, depth: int) -> None:
        for name, result in bounded_search(self.machine, claims, depth, self.say, self.left):
            self.results[name] = result

    def _induction(self, claims: Claims, templates: list[Lemma], note: str) -> None:
        if not claims.names():
            return
        own = own_lemmas(claims)
        taken = {lemma.node for lemma in own}
        more = [lemma for lemma in templates if lemma.node not in taken]
        self.houdini = Houdini(self.machine, self.scout, self.known(), [*own, *more], self.say, self.left)
        self.results |= induction(self.houdini, claims, note)

    def _pdr(self, claims: Claims) -> None:
        """What is left of the claims over states; of those over steps nothing."""
        for name in claims.steps:
            self.results.setdefault(
                name,
                ProofResult(
                    PropertyStatus.UNKNOWN, "about steps: pdr decides properties of states, `--method auto` both"
                ),
            )
        self.kept, self.houdini = self.lemmas(), None
        for name, f in claims.states.items():
            self.say(f"{name}: Spacer")
            found = pdr(self.machine, f, self.known(), self.left())
            if found.status is PropertyStatus.VIOLATED:
                self.results[name] = ProofResult(PropertyStatus.UNKNOWN, f"{found.note}, by a run that was not found")
                self._search(Claims({name: f}), DEEPEST)
            else:
                self.results[name] = found
                self.kept += found.lemmas

    # -- what is proved ---------------------------------------------------------------------------------

    def proved(self) -> list[str]:
        return [name for name, r in self.results.items() if r.status is PropertyStatus.PROVED]

    def lemmas(self) -> list[Invariant]:
        """Invariants that are inductive together, given `established`."""
        used = self.houdini.used() if self.houdini is not None else []
        return [*self.kept, *(Invariant(lemma.text, self.machine.terms(0)(lemma.node)) for lemma in used)]

    def established(self) -> list[Invariant]:
        """The claims over states that were proved by obligations of their own."""
        names = [name for name in self.proved() if self.results[name].obligations]
        return [Invariant(name, self.machine.holds(f, 0)) for name, f in Claims.of(self.lowered, names).states.items()]

    def known(self) -> list[Invariant]:
        """What is true in every reachable state."""
        return [*self.established(), *self.lemmas()]

    def side_conditions(self) -> SideConditions:
        """Which bounds steps might leave, and what might raise."""
        if self.houdini is None:
            self.houdini = Houdini(self.machine, self.scout, self.known(), [], self.say, self.left)
        return side_conditions(self.machine, Claims.of(self.lowered, self.proved()), self.houdini, self.say)

    def certificate(self, config: dict[str, object]) -> Certificate | None:
        """The lemmas, with the properties that they imply; None if nothing was proved by lemmas."""
        by_lemmas = [name for name in self.proved() if not self.results[name].obligations]
        if not by_lemmas:
            return None
        return Certificate.of(self.machine, self.digest, config, by_lemmas, self.lemmas())

    # -- checks -----------------------------------------------------------------------------------------

    def check(self, found: Certificate | None, conditions: SideConditions) -> None:
        """Checks every proof. Raises `Disagreement` with what is wrong, `Interrupted` where Z3 gives no answer."""
        machine, claims, lemmas = Machine(self.lowered), Claims.of(self.lowered, self.proved()), self.known()
        obligations = [o for name in self.proved() for o in self.results[name].obligations]
        if found is not None:
            wrong = certificate.verify(found, self.lowered, self.left, self.say)
        else:
            wrong = []
            obligations += inductive(machine, self.lemmas(), self.established())
        others = claims.without(found.properties if found is not None else [])
        if others.names():
            obligations += never_raises(machine, lemmas, others)
        obligations += within_bounds(machine, lemmas, except_for=conditions.open_bounds)
        wrong += refuted(obligations, self.left(), self.say)
        if wrong:
            raise Disagreement(f"a proof did not pass its check: {'; '.join(wrong)}")
        self.compare(claims)

    def compare_searched(self) -> None:
        """Compares what bounded search found no violation of."""
        if self.searched():
            self.compare(Claims.of(self.lowered, self.searched()))

    def searched(self) -> list[str]:
        return [name for name, r in self.results.items() if r.status is PropertyStatus.HOLDS_TO_DEPTH]

    def compare(self, claims: Claims) -> None:
        """Compares what was asked of Z3 with plain Python on drawn states. Raises `Disagreement`."""
        CrossCheck(self.machine, claims, self.say, self.left).run(self.lemmas(), self.established())


def prove(
    bound: BoundModel,
    lowered: LoweredModel,
    options: SearchOptions,
    verdict: CheckResult,
    progress: Progress,
    proof: ProofOptions,
) -> CheckResult:
    """Proves or refutes; fills in and returns the verdict, with the certificate of what was proved by lemmas."""
    began = time.monotonic()

    def left() -> float | None:
        return None if options.budget is None else options.budget - (time.monotonic() - began)

    def say(what: str) -> None:
        progress.proof(what)
        rest = left()
        if options.budget is not None and rest is not None and rest <= 0:
            raise budget_ended(options.budget)

    verdict.properties = [_open_result(p) for p in bound.properties if options.wants(p.name)]
    if bound.model.deadlock and options.wants("deadlock"):
        note = "`check` decides it"
        verdict.properties.append(PropertyResult("deadlock", "deadlock", PropertyStatus.NOT_CHECKED, note=note))
    seed_z3(proof.seed)
    prover = Prover(bound, restricted(lowered, options.wants), proof, say, left, verdict.model_sha256, options.wants)
    summary = ProofSummary(proof.method)
    verdict.found = summary
    verdict.stopped, verdict.stats.workers = None, 1
    try:
        try:
            prover.run(Claims.of(lowered, [p.name for p in verdict.properties if p.status is PropertyStatus.UNKNOWN]))
        finally:
            _report(prover, verdict)
        proved, covers = bool(prover.proved()), any(options.wants(p.name) for p in bound.covers)
        if proved:
            _settle(prover, verdict, summary)
        if proved or (covers and prover.searched()):  # walks may find why a proof was taken back
            _covers(prover, verdict, options)
        prover.compare_searched()
        _conclude(prover, verdict)
        _tell_raised(prover, verdict, options)
    except KeyboardInterrupt:
        verdict.stopped = BY_USER
    except z3.Z3Exception as error:
        ended = unanswered(str(error)).stop
        verdict.stopped = ended if ended == BY_USER else Stop(StopReason.SOLVER, f"Z3: {error}")
    except Interrupted as end:
        rest = left()
        over = options.budget is not None and rest is not None and rest <= 0 and end.stop != BY_USER
        verdict.stopped = budget_ended(options.budget).stop if over and options.budget else end.stop
    verdict.stats.seconds["search"] = time.monotonic() - began
    return verdict


def _conclude(prover: Prover, verdict: CheckResult) -> None:
    """Says of what bounded search found no violation of how far it came, and why the run ended."""
    searched = prover.searched()
    for p in verdict.properties:
        if p.name in searched:
            p.status = PropertyStatus.HOLDS_TO_DEPTH
    waiting = [p.name for p in verdict.properties if p.status is PropertyStatus.UNKNOWN]
    verdict.complete = not waiting and not searched
    if searched:
        verdict.stopped = depth_reached(prover.proof.depth or BMC_DEPTH)
    elif waiting:
        hint = "; with a --budget Spacer is tried" if prover.spacer_is_left(waiting) else ""
        verdict.stopped = Stop(StopReason.OPEN, f"not decided: {', '.join(waiting)}{hint}")
    else:
        verdict.stopped = Stop(StopReason.COMPLETE, "everything asked for is decided")


def _tell_raised(prover: Prover, verdict: CheckResult, options: SearchOptions) -> None:
    """The run into a state in which the model raises, if one was found."""
    found, bound = prover.results.get(RAISES), prover.bound
    seen = prover.raised_seen
    if found is None and seen is None:
        return
    if found is not None:
        states = list(found.counterexample)
        steps = [step_between(bound, before, after) for before, after in pairwise(states)]
        raised = raised_in(bound, states[-1], options.wants)
        if raised.step is not None:
            states, steps = [*states, raised.step.after], [*steps, raised.step]
        trace = told(bound, states, steps)
        note_in(trace, raised)
        verdict.add_raised(trace, raised.text)
    elif seen is not None:
        verdict.add_raised(*seen)
    verdict.complete, verdict.stopped = False, MODEL_RAISES


def _report(prover: Prover, verdict: CheckResult) -> None:
    """What the methods found, into the verdict: a proof as unknown still, for nothing has checked it."""
    claims = {p.name: p for p in prover.bound.properties}
    for finding in verdict.properties:
        result = prover.results.get(finding.name)
        if result is None:
            continue
        finding.note, finding.counterexample_to_induction = result.note, list(result.counterexample_to_induction)
        if result.status is PropertyStatus.VIOLATED:
            states, claim = list(result.counterexample), claims[finding.name]
            finding.trace = told(prover.bound, states, steps_between(prover.bound, claim, states))
            prover.scout.confirm(claim, states)
            finding.status, finding.depth = PropertyStatus.VIOLATED, len(states)
        elif result.status is PropertyStatus.PROVED:
            finding.note = "proved, but its check did not end"


def _settle(prover: Prover, verdict: CheckResult, summary: ProofSummary) -> None:
    """Checks the proofs, and gives each claim its status; the summary gets lemmas, open bounds and certificate."""
    conditions = prover.side_conditions()
    for name in prover.proved():
        why = ""
        if conditions.raising_actions:
            why = f"proved, but that {conditions.raising_actions[0]} raises nowhere was not"
        elif name in conditions.raising_claims:
            why = "proved, but that it raises nowhere was not"
        if why:
            prover.results[name] = ProofResult(PropertyStatus.UNKNOWN, why)
            next(p for p in verdict.properties if p.name == name).note = why
    if not prover.proved():
        return
    found = prover.certificate(verdict.config)
    prover.check(found, conditions)
    summary.lemmas = [lemma["text"] for lemma in found.lemmas] if found else []
    for p in verdict.properties:
        if p.name in prover.proved():
            p.status = PropertyStatus.HOLDS_WITHIN_BOUNDS if conditions.open_bounds else PropertyStatus.PROVED
            p.note = prover.results[p.name].note
    summary.bounds_open = sorted(conditions.open_bounds)
    verdict.stats.undeclared += not all(conditions.open_bounds.values())
    summary.certificate = found


def _covers(prover: Prover, verdict: CheckResult, options: SearchOptions) -> None:
    """Covers, by random walks: what nothing reaches proves nothing."""
    seen = prover.scout.hits(COVER_WALKS)
    flags = prover.scout.kernel.model.flags()
    for p in (p for p in prover.bound.covers if options.wants(p.name)):
        flag = flags.get(p.name)
        hits = int(seen.hits[flag]) if flag else 0
        depth = int(seen.best[flag][0]) + 1 if flag and hits else None
        verdict.covers.append(CoverResult(p.name, depth, walks=hits or None))


def _open_result(p: Property) -> PropertyResult:
    if p.temporal:
        return PropertyResult(p.name, p.kind, PropertyStatus.NOT_CHECKED, note=LIVENESS_NOTE)
    return PropertyResult(p.name, p.kind, PropertyStatus.UNKNOWN)


__all__ = ["prove"]
