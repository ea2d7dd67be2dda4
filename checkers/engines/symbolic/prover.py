"""`prove`: claims for every reachable state, however long the run, with Z3 and the same model.

A method (bounded search, k-induction, induction with lemmas, property-directed reachability) returns an answer for each
claim. A counterexample is replayed in plain Python before it is reported. A proof counts when it has been checked: what
it rests on is settled by a fresh solver, and the formulas are compared with plain Python on drawn states. Steps that
leave a bound are excluded: that none is reachable is proved too, or the report says that it is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from reassure.checkers.engines.symbolic import certificate
from reassure.checkers.engines.symbolic.bmc import bounded_search, k_induction
from reassure.checkers.engines.symbolic.certificate import Certificate
from reassure.checkers.engines.symbolic.cross_check import CrossCheck
from reassure.checkers.engines.symbolic.houdini import Houdini, given_the_others, induction, own_lemmas
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.linear_invariants import SideConditions, side_conditions
from reassure.checkers.engines.symbolic.pdr import pdr
from reassure.checkers.engines.symbolic.scout import Scout, promising
from reassure.checkers.engines.symbolic.solver import ProofClock, interruptible, prepare_z3
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import (
    Claims,
    Invariant,
    ProofResult,
    inductive,
    never_raises,
    refuted,
    within_bounds,
)
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import (
    MODEL_RAISES,
    Ending,
    Stop,
    StopReason,
    depth_reached,
)
from reassure.checkers.request.engine_results import (
    CoverResult,
    EngineResult,
    Evidence,
    ProofSummary,
    PropertyFact,
    SearchStatistics,
)
from reassure.checkers.request.options import ProofOptions, SearchOptions, SimulationOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.result import RAISES, PropertyStatus
from reassure.checkers.traces.reconstruct import (
    Disagreement,
    note_in,
    raised_in,
    replayed_trace,
    step_between,
    steps_between,
)
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

COVER_WALKS = SimulationOptions(4_000, 100, 1)
DEEPEST = 200
"""The depth, in states, to which a run is searched that Spacer reports."""
QUICK_DEPTH = 6
"""The depth, in states, to which `auto` searches for a counterexample before it tries to prove."""
BMC_DEPTH, K_DEPTH = 20, 4
TOGETHER = "by induction, together with the others"


@dataclass(frozen=True)
class CheckedProof:
    """Proofs that passed their check. open_bounds: bounds that a step may leave; whether the model declares them."""

    names: frozenset[str]
    """Of the properties."""
    certificate: Certificate | None
    open_bounds: Mapping[str, bool]


@dataclass
class Prover:
    """One model under proof.

    say: reports progress, and raises when the budget is over; begin: the same of work that may take long.
    seconds_left: None for no limit.
    """

    bound: BoundModel
    lowered: LoweredModel
    proof: ProofOptions
    say: Callable[[str], None]
    begin: Callable[[str], None]
    seconds_left: Callable[[], float | None]
    digest: str
    config: dict[str, object]
    wants: Callable[[str], bool]
    """The properties and covers that are asked for."""
    other_invariants: list[Lemma] = field(default_factory=list)
    """The model's invariants that are not asked for, as candidate lemmas."""
    machine: Machine = field(init=False)
    results: dict[str, ProofResult] = field(default_factory=dict)
    """The answers so far; other claims are open."""
    houdini: Houdini | None = None
    other_lemmas: list[Invariant] = field(default_factory=list)
    """Lemmas that are inductive beside those of `houdini`."""
    given: dict[str, ProofResult] = field(default_factory=dict)
    """Why a claim was not proved although every other invariant of the model was assumed."""
    kept: CheckedProof | None = None
    """What was checked so far; the end of the budget does not take it back."""
    _kept_with: Houdini | None = None
    """The lemmas that `kept` was checked with."""
    _scout: Scout | None = None

    def __post_init__(self) -> None:
        self.machine = Machine(self.lowered)

    @property
    def scout(self) -> Scout:
        if self._scout is None:
            self.say("compiling")
            self._scout = Scout(self.bound, self.lowered, self.wants, lambda what: self.say(what))
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
            self._induction(claims, [], TOGETHER)
            self._explain(claims)
        elif method == "k-induction":
            for name, result in k_induction(self.machine, claims, depth or K_DEPTH, self.say, self.seconds_left):
                self.results[name] = result
        elif method == "pdr":
            self._pdr(claims)
        else:
            self._auto(claims, depth or QUICK_DEPTH)

    def _auto(self, claims: Claims, depth: int) -> None:
        """Induction over the model's own invariants; for what is left a short search for violations, then induction
        with further lemmas, then Spacer if there is a budget."""
        self.begin("induction over the properties")
        self._induction(claims, [], TOGETHER)
        self.keep(search_sums=False)
        not_inductive = self._open(claims)
        if not self.scout.finds_nothing(depth, not_inductive.names()):
            self._search(not_inductive, depth)
        if RAISES in self.results:
            return
        self._explain(claims)
        # A proof by lemmas is preferred to one by the end of all runs: it leaves a certificate.
        ended = {name: self.results.pop(name) for name in self.proved() if name in not_inductive.names()}
        if self._open(claims).names() or (self.kept is not None and self.kept.open_bounds):
            self.other_lemmas, self.houdini = self.lemmas(), None
            self._induction(self._open(claims), promising(self.scout), "by induction, with lemmas")
        open_claims = self._open(claims).without(ended)
        if open_claims.states and self.seconds_left() is not None:
            self._pdr(open_claims)
        self.results |= {name: self.results[name] if name in self.proved() else ended[name] for name in ended}

    def spacer_is_left(self, waiting: list[str]) -> bool:
        """Whether `auto` has left out Spacer, which may not end by itself, for want of a budget."""
        over_states = any(p.name in waiting and not p.over_steps for p in self.bound.properties)
        return self.proof.method == "auto" and self.seconds_left() is None and over_states

    def _open(self, claims: Claims) -> Claims:
        """The claims without an answer."""
        return claims.without(n for n, r in self.results.items() if r.status is not PropertyStatus.UNKNOWN)

    def _search(self, claims: Claims, depth: int) -> None:
        for name, result in bounded_search(self.machine, claims, depth, self.say, self.seconds_left):
            self.results[name] = result

    def _induction(self, claims: Claims, templates: list[Lemma], note: str) -> None:
        own = [*own_lemmas(claims), *self.other_invariants]
        taken = {lemma.node for lemma in own}
        more = [lemma for lemma in templates if lemma.node not in taken]
        self.houdini = Houdini(self.machine, self.scout, self.invariants(), [*own, *more], self.say, self.seconds_left)
        self.results |= induction(self.houdini, claims, note)

    def _explain(self, claims: Claims) -> None:
        """Asks of the claims that are open what breaks them where every invariant of the model holds."""
        states = {name: self.results[name].counterexample_to_induction for name in self.results}
        initially_false = [name for name in claims.states if (pair := states.get(name)) and pair[0] == pair[-1]]
        waiting = self._open(claims).without(initially_false)
        violated = [name for name, r in self.results.items() if r.status is PropertyStatus.VIOLATED]
        known = Claims(claims.without([*violated, *initially_false, *waiting.states]).states)
        lemmas = [*own_lemmas(waiting), *own_lemmas(known), *self.other_invariants]
        if waiting.names():
            proved = [*self.proved(), *(i.text for i in self.lemmas())]
            houdini = Houdini(self.machine, self.scout, self.invariants(), lemmas, self.say, self.seconds_left)
            self.given = given_the_others(houdini, waiting, proved)

    def _pdr(self, claims: Claims) -> None:
        """Decides claims over states by Spacer; claims over steps stay unknown."""
        for name in claims.steps:
            self.results.setdefault(
                name,
                ProofResult(
                    PropertyStatus.UNKNOWN, "about steps: pdr decides properties of states, `--method auto` both"
                ),
            )
        self.other_lemmas, self.houdini = self.lemmas(), None
        for name, f in claims.states.items():
            self.begin(f"{name}: Spacer")
            result = pdr(self.machine, f, self.invariants(), self.seconds_left())
            if result.status is PropertyStatus.VIOLATED:
                self.results[name] = ProofResult(PropertyStatus.UNKNOWN, f"{result.note}, by a run that was not found")
                self._search(Claims({name: f}), DEEPEST)
            else:
                self.results[name] = result
                self.other_lemmas += result.lemmas

    # -- what is proved ---------------------------------------------------------------------------------

    def proved(self) -> list[str]:
        return [name for name, r in self.results.items() if r.status is PropertyStatus.PROVED]

    def lemmas(self) -> list[Invariant]:
        """Invariants that are inductive together, given `established`."""
        used = self.houdini.used() if self.houdini is not None else []
        return [*self.other_lemmas, *(Invariant(lemma.text, self.machine.terms(0)(lemma.node)) for lemma in used)]

    def established(self) -> list[Invariant]:
        """The claims over states that were proved by obligations of their own."""
        names = [name for name in self.proved() if self.results[name].obligations]
        return [Invariant(name, self.machine.holds(f, 0)) for name, f in Claims.of(self.lowered, names).states.items()]

    def invariants(self) -> list[Invariant]:
        """Invariants, each true in every reachable state."""
        return [*self.established(), *self.lemmas()]

    def side_conditions(self, search_sums: bool) -> SideConditions:
        """The bounds that steps might leave, and the actions and claims that might raise."""
        if self.houdini is None:
            self.houdini = Houdini(self.machine, self.scout, self.invariants(), [], self.say, self.seconds_left)
        return side_conditions(
            self.machine, Claims.of(self.lowered, self.proved()), self.houdini, self.say, search_sums
        )

    def certificate(self) -> Certificate | None:
        """The lemmas, with the properties that they imply; None if nothing was proved by lemmas."""
        by_lemmas = [name for name in self.proved() if not self.results[name].obligations]
        if not by_lemmas:
            return None
        return Certificate.of(self.machine, self.digest, self.config, by_lemmas, self.lemmas())

    # -- checks -----------------------------------------------------------------------------------------

    def keep(self, search_sums: bool = True) -> None:
        """Takes back the proofs that rest on an action or claim that may raise, checks the others and keeps them.
        search_sums: as `side_conditions`. Raises as `check`."""
        if self.kept is not None and self.kept.names == set(self.proved()) and self._kept_with is self.houdini:
            return
        if not self.proved():
            return
        conditions = self.side_conditions(search_sums)
        for name in self.proved():
            doubt = ""
            if conditions.raising_actions:
                doubt = f"proved, but that {conditions.raising_actions[0]} raises nowhere was not"
            elif name in conditions.raising_claims:
                doubt = "proved, but that it raises nowhere was not"
            if doubt:
                self.results[name] = ProofResult(PropertyStatus.UNKNOWN, doubt)
        if self.proved():
            certificate = self.certificate()
            self.check(certificate, conditions)
            self.kept = CheckedProof(frozenset(self.proved()), certificate, conditions.open_bounds)
            self._kept_with = self.houdini

    def check(self, inductive_proof: Certificate | None, conditions: SideConditions) -> None:
        """Checks every proof. Raises `Disagreement` with what is wrong, `Interrupted` where Z3 gives no answer."""
        machine, claims, lemmas = Machine(self.lowered), Claims.of(self.lowered, self.proved()), self.invariants()
        obligations = [o for name in self.proved() for o in self.results[name].obligations]
        if inductive_proof is not None:
            wrong = certificate.verify(inductive_proof, self.lowered, self.seconds_left, self.say)
        else:
            wrong = []
            obligations += inductive(machine, self.lemmas(), self.established())
        others = claims.without(inductive_proof.properties if inductive_proof is not None else [])
        if others.names():
            obligations += never_raises(machine, lemmas, others)
        obligations += within_bounds(machine, lemmas, except_for=conditions.open_bounds)
        wrong += refuted(obligations, self.seconds_left(), self.say)
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
        CrossCheck(self.machine, claims, self.say, self.seconds_left).run(self.lemmas(), self.established())


def prove(prepared: Prepared, options: SearchOptions, progress: Progress, proof: ProofOptions) -> EngineResult:
    """Proves or refutes every property of states and steps that is asked for, with the certificate of what was proved
    by lemmas."""
    bound = prepared.bound
    lowered = prepared.lowered.only(options.wants)
    others = [p.name for p in bound.properties if p.kind == "invariant" and not options.wants(p.name)]
    other_invariants = own_lemmas(Claims.of(prepared.lowered, others))

    clock = ProofClock(options.budget, progress)
    prepare_z3(proof.seed)
    prover = Prover(bound, lowered, proof, clock.say, clock.begin, clock.seconds_left, prepared.sha256,
                    prepared.config, options.wants, other_invariants)  # fmt: skip
    names = [p.name for p in bound.properties if not p.temporal and options.wants(p.name)]
    covers: list[CoverResult] = []
    finished = False
    with Ending() as ending, interruptible():
        prover.run(Claims.of(lowered, names))
        proved, any_cover = bool(prover.proved()), any(options.wants(p.name) for p in bound.covers)
        prover.keep()
        if proved or (any_cover and prover.searched()):  # walks may find why a proof was taken back
            covers = covers_by_walks(prover.scout, options)
        prover.compare_searched()
        finished = True
    stopped = clock.cause(ending.stop)
    prover.say = progress.proof  # a counterexample is told also when the time is up
    checked = prover.kept
    if checked is not None and not covers and stopped and stopped.reason in (StopReason.BUDGET, StopReason.SOLVER):
        covers = covers_by_walks(prover.scout, options)
    facts = {name: _fact(prover, name, finished, stopped) for name in names}
    facts |= {p.name: PropertyFact(Evidence.LEFT_OUT) for p in bound.properties if p.temporal}
    facts["deadlock"] = PropertyFact(Evidence.LEFT_OUT, note="`check` decides it")
    raised = _raised(prover, options)
    stopped = stopped or (MODEL_RAISES if raised is not None else _end(prover, facts))
    summary, stats = ProofSummary(proof.method), SearchStatistics()
    if checked is not None:
        summary.certificate, summary.bounds_open = checked.certificate, sorted(checked.open_bounds)
        summary.lemmas = [lemma["text"] for lemma in checked.certificate.lemmas] if checked.certificate else []
        stats.undeclared = int(not all(checked.open_bounds.values()))
    stats.seconds["search"] = time.monotonic() - clock.began
    return EngineResult(
        summary, stats, stopped, stopped.reason is StopReason.COMPLETE, facts, tuple(covers), raised=raised
    )


def _end(prover: Prover, facts: Mapping[str, PropertyFact]) -> Stop:
    """The end of a proof that nothing ended early: how far bounded search came, or what is not decided."""
    open_claims = [name for name, fact in facts.items() if fact.evidence is Evidence.OPEN]
    if prover.searched():
        return depth_reached(prover.proof.depth or BMC_DEPTH)
    if open_claims:
        hint = "; with a --budget Spacer is tried" if prover.spacer_is_left(open_claims) else ""
        return Stop(StopReason.OPEN, f"not decided: {', '.join(open_claims)}{hint}")
    return Stop(StopReason.COMPLETE, "everything asked for is decided")


def _raised(prover: Prover, options: SearchOptions) -> tuple[Trace, str] | None:
    """A run into a state in which the model raises, if one was found, and what raises there."""
    result, bound = prover.results.get(RAISES), prover.bound
    if result is None:
        return prover.raised_seen
    states = list(result.counterexample)
    steps = [step_between(bound, before, after) for before, after in pairwise(states)]
    raised = raised_in(bound, states[-1], options.wants)
    if raised.step is not None:
        states, steps = [*states, raised.step.after], [*steps, raised.step]
    trace = replayed_trace(bound, states, steps)
    note_in(trace, raised)
    return trace, raised.text


def _fact(prover: Prover, name: str, finished: bool, stopped: Stop | None) -> PropertyFact:
    """The fact about one property. A proof counts once it was checked, a bounded search once it was compared.

    stopped: what ended the work early.
    """
    result, bound = prover.results.get(name), prover.bound
    if name in prover.given and (result is None or result.status is PropertyStatus.UNKNOWN):
        result = result if result is not None and result.note.startswith("proved,") else prover.given[name]
    if result is None:
        return PropertyFact(Evidence.OPEN)
    if result.status is PropertyStatus.VIOLATED:
        states, prop = list(result.counterexample), next(p for p in bound.properties if p.name == name)
        trace = replayed_trace(bound, states, steps_between(bound, prop, states))
        prover.scout.confirm(prop, states)
        return PropertyFact(Evidence.COUNTEREXAMPLE, trace, result.note)
    if result.status is PropertyStatus.PROVED:
        if prover.kept is not None and name in prover.kept.names:
            return PropertyFact(Evidence.PROOF, note=result.note)
        why = f": {stopped.text}" if stopped is not None else ""
        more = "; give more --budget" if stopped is not None and stopped.reason is StopReason.BUDGET else ""
        return PropertyFact(Evidence.OPEN, note=f"proved, but the proof was not checked{why}{more}")
    searched = result.status is PropertyStatus.HOLDS_TO_DEPTH and finished
    evidence = Evidence.NONE_TO_DEPTH if searched else Evidence.OPEN
    return PropertyFact(
        evidence, note=result.note, counterexample_to_induction=tuple(result.counterexample_to_induction)
    )


def covers_by_walks(scout: Scout, options: SearchOptions) -> list[CoverResult]:
    """Covers, by random walks: properties of states that nothing reaches are proved vacuously."""
    seen = scout.hits(COVER_WALKS)
    flags = scout.kernel.model.flags()
    covers = []
    for p in (p for p in scout.bound.covers if options.wants(p.name)):
        flag = flags.get(p.name)
        hits = int(seen.hits[flag]) if flag else 0
        depth = int(seen.best[flag][0]) + 1 if flag and hits else None
        covers.append(CoverResult(p.name, depth, walks=hits or None))
    return covers
