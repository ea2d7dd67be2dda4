"""`prove`: claims for every reachable state, however long the run, with Z3 and the same model.

Invariants are proved by an inductive invariant: of the model's own properties and lemmas found among templates
(`houdini`), or by property-directed reachability (Z3's Spacer). Properties of steps are one query each over all states
that satisfy it. What falls is refuted by bounded search, shortest first; every state of it is decoded, and replayed in
plain Python. Steps that leave a bound are no steps here: that none is reachable is proved too, or said not to be.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import z3

from reassure.checkers.base.options import ProofOptions, SearchOptions, SimulationOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import LIVENESS_NOTE, CheckResult, CoverResult, PropertyResult, PropertyStatus
from reassure.checkers.base.stop import BY_USER, Interrupted, Stop, StopReason, budget_ended, depth_reached
from reassure.checkers.native.results import explain
from reassure.checkers.native.search import RaisedAt
from reassure.checkers.symbolic.certificate import Certificate
from reassure.checkers.symbolic.houdini import Goal, Houdini, Scout, promising
from reassure.checkers.symbolic.lemma_templates import Lemma
from reassure.checkers.symbolic.linear_invariants import Potentials
from reassure.checkers.symbolic.pdr import spacer
from reassure.checkers.symbolic.transition_system import Machine
from reassure.checkers.symbolic.unanswered import unanswered
from reassure.checkers.traces.reconstruct import steps_between, told
from reassure.spec.frontend.lowering import Formula, LoweredModel
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel

COVER_WALKS = SimulationOptions(4_000, 100, 1)
DEEPEST = 200
"""How deep a run is looked for that Spacer says is there."""
SUMS = 60
"""Inequalities that are tried for a counter."""
QUICK_DEPTH = 6
"""How deep `auto` looks for a counterexample before it tries to prove."""


@dataclass
class Prover:
    """One model under proof."""

    bound: BoundModel
    machine: Machine
    verdict: CheckResult
    proof: ProofOptions
    options: SearchOptions
    say: Callable[[str], None]
    """Reports progress, and raises when the budget is over."""
    left: Callable[[], float | None]
    digest: str
    lemmas: list[Lemma] = field(default_factory=list)
    """What is known to hold in every reachable state."""
    known: list[Formula] = field(default_factory=list)
    """Invariants that are proved."""
    weeding: Houdini | None = None
    bounded: bool = False
    """Whether it was settled which bounds a step might leave."""
    _scout: Scout | None = None

    @property
    def scout(self) -> Scout:
        if self._scout is None:
            self.say("compiling")
            self._scout = Scout(self.bound, self.machine.model, self.digest)
        return self._scout

    def open(self) -> list[PropertyResult]:
        return [p for p in self.verdict.properties if p.status is PropertyStatus.UNKNOWN]

    def over_states(self) -> dict[str, Formula]:
        """The invariants that are asked for and not decided."""
        names = {p.name for p in self.open()}
        return {f.name: f for f in self.machine.model.states if f.name in names}

    def over_steps(self) -> dict[str, list[tuple[int, Formula]]]:
        """Likewise the step properties, with the actions that they are about."""
        names = {p.name for p in self.open()}
        found: dict[str, list[tuple[int, Formula]]] = {}
        for number, formulas in enumerate(self.machine.model.steps):
            for f in formulas:
                if f.name in names:
                    found.setdefault(f.name, []).append((number, f))
        return found

    def finding(self, name: str) -> PropertyResult:
        return next(p for p in self.verdict.properties if p.name == name)

    # -- bounded search -------------------------------------------------------------------------------

    def bmc(self, depth: int) -> None:
        """Shortest violations of up to `depth` states."""
        machine, solver = self.machine, z3.SolverFor("QF_FD")
        solver.add(machine.initial())
        for k in range(depth):
            self.say(f"bounded search, {k + 1} states")
            for name, f in self.over_states().items():
                if self._sat(solver, z3.Not(machine.holds(f, k))):
                    self._violated(name, solver.model(), k + 1)
            steps = self.over_steps()
            if not steps and not self.over_states():
                return
            if k + 1 == depth:
                return
            solver.add(machine.step(k))
            if not self._sat(solver, z3.BoolVal(True)):
                for p in self.open():
                    p.status, p.note = PropertyStatus.PROVED, f"no run has more than {k + 1} states"
                return
            for name, where in steps.items():
                broken = [z3.And(machine.steps(k)[n].taken, z3.Not(machine.holds(f, k))) for n, f in where]
                if self._sat(solver, z3.Or(*broken)):
                    self._violated(name, solver.model(), k + 2)

    def _sat(self, solver: z3.Solver, condition: z3.BoolRef) -> bool:
        rest = self.left()
        if rest is not None:
            solver.set(timeout=max(1, int(1000 * rest)))
        answer = solver.check(condition)
        if answer == z3.unknown:
            self.say("Z3 gave no answer")  # raises when the budget is over
            raise unanswered(solver.reason_unknown())
        return bool(answer == z3.sat)

    def _violated(self, name: str, model: z3.ModelRef, count: int) -> None:
        claim = next(p for p in self.bound.properties if p.name == name)
        states = [self.machine.decoded(k, model) for k in range(count)]
        finding = self.finding(name)
        finding.trace = told(self.bound, states, steps_between(self.bound, claim, states))
        self.scout.confirm(claim, states)
        finding.status, finding.depth = PropertyStatus.VIOLATED, count

    # -- induction ------------------------------------------------------------------------------------

    def own(self) -> list[Lemma]:
        """The invariants themselves, as lemmas."""
        return [Lemma(name, f.condition) for name, f in self.over_states().items()]

    def houdini(self, templates: bool) -> None:
        """Induction over the properties together, and with lemmas from templates if asked for; then their steps."""
        own, machine = self.own(), self.machine
        more: list[Lemma] = []
        if templates:
            self.say("looking for lemmas")
            taken = {lemma.node for lemma in own}
            more = [lemma for lemma in promising(self.scout) if lemma.node not in taken]
        self.weeding = weeding = Houdini(machine, self.scout, [*own, *more], self.say)
        invariants = weeding.goals[: len(own)]
        steps = {
            name: [weeding.goal(f"{name} of {machine.steps(0)[n].name}", self._broken(n, f)) for n, f in where]
            for name, where in self.over_steps().items()
        }
        weeding.run([*(g for goals in steps.values() for g in goals), *invariants])
        self.lemmas = weeding.used()
        how = "with lemmas" if templates else "together with the others"
        for goal in invariants:
            self._decided(goal.name, [goal], f"by induction, {how}")
        for name, goals in steps.items():
            self._decided(name, goals, "for every step from a state that satisfies the lemmas")

    def _broken(self, number: int, f: Formula) -> z3.BoolRef:
        return z3.And(self.machine.steps(0)[number].taken, z3.Not(self.machine.holds(f, 0)))

    def _decided(self, name: str, goals: list[Goal], how: str) -> None:
        assert self.weeding is not None
        finding = self.finding(name)
        open_ = [g for g in goals if g not in self.weeding.cores]
        if not open_:
            finding.status, finding.note = PropertyStatus.PROVED, how
        elif open_[0].name in self.weeding.lost:
            before, after = self.weeding.lost[open_[0].name]
            finding.note, finding.counterexample_to_induction = "not inductive", [before, after]

    def k_induction(self, depth: int) -> None:
        """Each property from `depth` states without a violation, all different, to the next."""
        self.bmc(depth + 1)  # the base, also for claims over the step that follows
        for name, f in self.over_states().items():
            if self._k_inductive(name, depth, [], f):
                self.known.append(f)
        for name, where in self.over_steps().items():
            self._k_inductive(name, depth, where, None)

    def _k_inductive(
        self,
        name: str,
        depth: int,
        where: list[tuple[int, Formula]],
        invariant: Formula | None,
    ) -> bool:
        """Whether so many states and steps that satisfy it are followed by one that does.

        where: of a step property, the actions that it is about.
        """
        machine, solver = self.machine, z3.SolverFor("QF_FD")

        def broken(k: int) -> z3.BoolRef:
            """By the step from copy k."""
            if invariant is not None:
                return z3.Not(machine.holds(invariant, k + 1))
            return z3.Or(*(z3.And(machine.steps(k)[n].taken, z3.Not(machine.holds(f, k))) for n, f in where))

        for k in range(depth):
            self.say(f"{name}: {k + 1} states")
            solver.add(machine.well_formed(k), *(machine.holds(f, k) for f in self.known), machine.step(k))
            if invariant is not None:
                solver.add(machine.holds(invariant, k))
                solver.add(*(machine.differ(j, k + 1) for j in range(k + 1)))
            else:
                solver.add(*(machine.differ(j, k) for j in range(k)))
            if not self._sat(solver, broken(k)):
                self.finding(name).status, self.finding(name).note = PropertyStatus.PROVED, f"by {k + 1}-induction"
                return True
            found = solver.model()
            solver.add(z3.Not(broken(k)))
        states = [machine.decoded(k, found) for k in range(depth + 1)]
        self.finding(name).note, self.finding(name).counterexample_to_induction = f"not {depth}-inductive", states
        return False

    def pdr(self) -> None:
        """What is left, by Spacer, the lemmas known."""
        for name, f in self.over_states().items():
            self.say(f"{name}: Spacer")
            answer, why = spacer(self.machine, [f], self.lemmas, self.left())
            if answer == z3.unsat:
                self.finding(name).status, self.finding(name).note = (
                    PropertyStatus.PROVED,
                    "by property-directed reachability",
                )
                self.lemmas += [Lemma(name, f.condition)]
            elif answer == z3.sat:
                self.finding(name).note = "Spacer: it can be violated, by a run that bounded search has yet to find"
                self.bmc(DEEPEST)
            else:
                self.finding(name).note = f"Spacer gave no answer ({why})"

    def bounds(self) -> None:
        """Whether a step might leave a bound, or raise: proofs are then not of all runs."""
        if self.weeding is None:
            self.weeding = Houdini(self.machine, self.scout, self.lemmas, self.say)
        machine, weeding = self.machine, self.weeding
        goals: dict[Goal, tuple[str, bool]] = {}
        for step, outcome in zip(machine.steps(0), machine.model.actions, strict=True):
            if not z3.is_false(z3.simplify(step.error)):
                goals[weeding.goal(f"{step.name} raises", step.error)] = ("", False)
            for path, condition, declared in outcome.clips:
                leaves = z3.And(step.enabled, machine.terms(0)(condition))
                goals[weeding.goal(f"{step.name} leaves {path}", leaves)] = (path, declared)
        for number, f in [*((-1, f) for f in machine.model.states), *self._formulas()]:
            for check in f.checks:
                wrong = z3.Not(machine.terms(0)(check.condition))
                if number >= 0:
                    wrong = z3.And(machine.steps(0)[number].taken, wrong)
                goals[weeding.goal(f"{f.name} raises", wrong)] = ("", False)
        weeding.run(list(goals), steps=False)
        self.bounded = True
        for path in {
            p: None for goal, (p, declared) in goals.items() if p and not declared and goal not in weeding.cores
        }:
            if self._paid_for(path):
                weeding.run([goal for goal in goals if goal not in weeding.cores], steps=False)
        left = {where: declared for goal, (where, declared) in goals.items() if goal not in weeding.cores}
        if "" in left:
            self.verdict.stopped = Stop(StopReason.OPEN, "that nothing raises was not proved")
        paths = {path: declared for path, declared in left.items() if path}
        if paths:
            for p in self.verdict.properties:
                if p.status is PropertyStatus.PROVED:
                    p.status = PropertyStatus.HOLDS_WITHIN_BOUNDS
            self.verdict.bounds_open = sorted(paths)
            self.verdict.stats.undeclared += not all(paths.values())

    def _paid_for(self, path: str) -> bool:
        """Whether a sum was found that bounds a counter, and that every step respects."""
        assert self.weeding is not None
        try:
            sums = Potentials(self.scout, path, self.scout.reachable())
        except LookupError:
            return False
        for number in range(SUMS):
            self.say(f"sums that bound {path}: {number + 1}")
            lemma = sums.next()
            if lemma is None:
                return False
            goal = self.weeding.add(lemma)
            self.weeding.run([goal])
            if goal in self.weeding.cores:
                return True
            if lemma.text not in self.weeding.lost:
                return False
            sums.learn(*self.weeding.lost[lemma.text])
        return False

    def _formulas(self) -> list[tuple[int, Formula]]:
        """Every claim over steps, with its action."""
        return [(n, f) for n, formulas in enumerate(self.machine.model.steps) for f in formulas]

    def covers(self) -> None:
        """Covers, by random walks: what nothing reaches proves nothing."""
        wanted = [p for p in self.bound.covers if self.options.wants(p.name)]
        seen, _ = self.scout.walks(COVER_WALKS)
        flags = self.scout.kernel.model.flags()
        for p in wanted:
            flag = flags.get(p.name)
            hits = int(seen.hits[flag]) if flag else 0
            depth = int(seen.best[flag][0]) + 1 if flag and hits else None
            self.verdict.covers.append(CoverResult(p.name, depth, walks=hits or None))
        self.verdict.exhaustive = False

    def certificate(self) -> Certificate | None:
        """The lemmas that what was proved needs."""
        proved = [
            p.name
            for p in self.verdict.properties
            if p.status in (PropertyStatus.PROVED, PropertyStatus.HOLDS_WITHIN_BOUNDS)
        ]
        if self.weeding is None or not proved:
            return None
        used = self.weeding.used()
        self.verdict.lemmas = [lemma.text for lemma in used]
        return Certificate.of(self.machine, self.digest, self.verdict.config, proved, used)


def prove(
    bound: BoundModel,
    lowered: LoweredModel,
    options: SearchOptions,
    verdict: CheckResult,
    progress: Progress,
    proof: ProofOptions,
) -> tuple[CheckResult, Certificate | None]:
    """Proves or refutes; fills in and returns the verdict, and the certificate of what was proved by induction."""
    began = time.monotonic()

    def left() -> float | None:
        return None if options.budget is None else options.budget - (time.monotonic() - began)

    def say(what: str) -> None:
        progress.proof(what)
        rest = left()
        if options.budget is not None and rest is not None and rest <= 0:
            raise budget_ended(options.budget)

    verdict.properties = [_finding(p) for p in bound.properties if options.wants(p.name)]
    if bound.model.deadlock and options.wants("deadlock"):
        verdict.properties.append(
            PropertyResult("deadlock", "deadlock", PropertyStatus.NOT_CHECKED, note="`check` decides it")
        )
    for name in ("sat.random_seed", "smt.random_seed"):
        z3.set_param(name, proof.seed)
    prover = Prover(bound, Machine(lowered), verdict, proof, options, say, left, verdict.model_sha256)
    certificate: Certificate | None = None
    verdict.stopped = None
    verdict.stats.workers = 1
    try:
        _by_method(prover)
        if any(p.status is PropertyStatus.PROVED for p in verdict.properties):
            prover.bounds()
            prover.covers()
        if proof.method in ("auto", "induction"):
            certificate = prover.certificate()
        waiting = [p.name for p in prover.open()]
        verdict.complete = not waiting and verdict.stopped is None
        if verdict.stopped is None and waiting:
            verdict.stopped = Stop(StopReason.OPEN, f"not decided: {', '.join(waiting)}")
        elif verdict.stopped is None:
            verdict.stopped = Stop(StopReason.COMPLETE, "everything asked for is decided")
    except KeyboardInterrupt:
        verdict.stopped = BY_USER
    except z3.Z3Exception as error:
        stopped = any(word in str(error) for word in ("cancel", "interrupt"))
        verdict.stopped = BY_USER if stopped else Stop(StopReason.SOLVER, f"Z3: {error}")
    except RaisedAt as raised:  # in a reachable state
        explain(bound, options, prover.scout.layout.decode(raised.row.reshape(-1).view("uint64")))
    except Interrupted as end:
        verdict.stopped = end.stop
    if not prover.bounded:
        for p in verdict.properties:
            if p.status is PropertyStatus.PROVED:
                p.status, p.note = (
                    PropertyStatus.UNKNOWN,
                    "proved, but that no step leaves a bound or raises was not settled",
                )
        certificate = None
    verdict.stats.seconds["search"] = time.monotonic() - began
    return verdict, certificate


def _by_method(prover: Prover) -> None:
    method, depth = prover.proof.method, prover.proof.depth
    if method == "bmc":
        prover.bmc(depth or 20)
        for p in prover.open():
            p.status, p.note = PropertyStatus.HOLDS_TO_DEPTH, f"no violation of up to {depth or 20} states"
            prover.verdict.stopped = depth_reached(depth or 20)
    elif method == "induction":
        prover.houdini(templates=False)
    elif method == "k-induction":
        prover.k_induction(depth or 4)
    elif method == "pdr":
        prover.pdr()
    else:
        prover.bmc(depth or QUICK_DEPTH)
        prover.houdini(templates=True)
        if prover.over_states() and prover.left() is not None:
            prover.pdr()


def _finding(p: Property) -> PropertyResult:
    if p.kind == "leads_to":
        return PropertyResult(p.name, p.kind, PropertyStatus.NOT_CHECKED, note=LIVENESS_NOTE)
    return PropertyResult(p.name, p.kind, PropertyStatus.UNKNOWN)


__all__ = ["prove"]
