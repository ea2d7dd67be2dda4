"""`prove --any-number`: properties for every number of members of the sorts, and every value of the free numbers.

Candidate lemmas come from the templates of `prove`; what a reachable state of a small configuration refutes is none. A
proof counts when it has been checked: a fresh solver settles what it rests on, and the translations are compared with
plain Python on states of small configurations. What is not proved is searched for in small configurations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from typing import Any

from reassure.checkers.engines.native import engine as native
from reassure.checkers.engines.symbolic.any_number.certificate import certificate_of
from reassure.checkers.engines.symbolic.any_number.counterexamples import Counterexamples, SmallStep
from reassure.checkers.engines.symbolic.any_number.cross_check import Fixed, compare_initial, compare_steps, sorts
from reassure.checkers.engines.symbolic.any_number.induction import (
    EFFORT,
    GOAL_EFFORT,
    LONG_EFFORT,
    AnyGoal,
    AnyInduction,
    Goals,
    own_lemmas,
    script,
    z3_settles,
)
from reassure.checkers.engines.symbolic.any_number.samples import (
    Samples,
    instance_of,
    nearby_configurations,
    promising_for_any_number,
    with_fewer,
    with_members,
)
from reassure.checkers.engines.symbolic.any_number.system import System
from reassure.checkers.engines.symbolic.any_number.terms import NoTranslation
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.prover import covers_by_walks
from reassure.checkers.engines.symbolic.scout import Scout
from reassure.checkers.engines.symbolic.solver import EFFORT_USED, ProofClock, interruptible, prepare_z3
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import MODEL_RAISES, Ending, Interrupted, Stop, StopReason
from reassure.checkers.request.engine_results import (
    CoverResult,
    EngineResult,
    Evidence,
    ProofSummary,
    PropertyFact,
    SearchStatistics,
)
from reassure.checkers.request.options import ProofOptions, SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.run_identity import AnyNumberRecord
from reassure.checkers.request.vacuity import settings_read
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.symbolic_values import scalar_leaves
from reassure.spec.language.types import ANY, IntType, SeqType
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel, Step
from reassure.spec.semantics.trace import Trace

STEPS_COMPARED = 12
"""States of each configuration whose steps are compared with Python's."""
SEARCHED_FOR = 4.0
"""Seconds of a search for violations in one configuration, at most."""
MEMORY = 1 << 30
OTHERS = 4
"""Other configurations that are searched, at most."""


@dataclass
class AnyNumberProver:
    """One model under proof for any number. say: reports progress, and raises when the budget is over."""

    system: System
    samples: Samples
    proof: ProofOptions
    say: Callable[[str], None]
    seconds_left: Callable[[], float | None]
    goals: Goals = field(init=False)
    broken: dict[str, BoundModel] = field(default_factory=dict)
    """Configurations in which a step breaks a property, from a state that is perhaps not reachable."""
    suspect: list[str] = field(default_factory=list)
    """Properties that a configuration of few members may violate."""
    unchecked: dict[str, str] = field(default_factory=dict)
    """Why the proof of a property was not checked."""
    _sizes: set[Node] = field(init=False)
    """What the model compares with numbers of members."""
    _checked: set[tuple[Any, frozenset[int]]] = field(default_factory=set)
    """Goals that a fresh solver has settled, with their lemmas."""
    _compared: set[Node] = field(default_factory=set)
    """Conditions whose values in plain Python the formulas admit."""
    _fixed: list[tuple[Fixed, Any]] = field(default_factory=list)
    """A state of each configuration."""

    def __post_init__(self) -> None:
        self._sizes = self.system.graph.compared_with("card")  # by the text: goals compare further numbers
        own = own_lemmas(self.system.claims()[0])
        self.goals = Goals(AnyInduction(self.system, own, self.say, self.seconds_left))

    @property
    def induction(self) -> AnyInduction:
        return self.goals.induction

    def add_templates(self) -> None:
        """Makes the lemmas of the templates candidates, beside the invariants of the model."""
        taken = {lemma.node for lemma in self.induction.lemmas}
        self.induction.add(one for one in promising_for_any_number(self.samples, self._sizes) if one.node not in taken)

    def run(self, names: list[str], effort: int = GOAL_EFFORT) -> None:
        """Tries every goal of these properties; at the end again, as a lemma that went may have proved some.

        effort: for each goal, as of `AnyInduction.run`.
        """
        induction = self.induction
        for name in names:
            induction.run(self.goals.of[name], effort)
        induction.run(self.goals.sides(), effort)
        induction.run((goal for name in names for goal in self.goals.of[name]), effort)

    def proved(self, name: str) -> bool:
        """Whether a property is proved, and that it and the actions raise nowhere."""
        return self.induction.are_proved(self.goals.basis([name]))

    def is_complete(self, names: list[str]) -> bool:
        """Whether the properties are proved, and that no step leaves a bound."""
        return all(self.proved(name) for name in names) and not self.open_bounds()

    def doubt(self, name: str) -> PropertyFact:
        """A property that is not proved, with the reason: a step that breaks it, perhaps not reachable."""
        if name in self.unchecked:
            return PropertyFact(Evidence.OPEN, note=f"proved, but the proof was not checked: {self.unchecked[name]}")
        open_goals = [goal for goal in self.goals.of[name] if goal not in self.induction.cores]
        if not open_goals:
            raising = next(g.name for g in self.goals.basis([name]) if g not in self.induction.cores)
            return PropertyFact(Evidence.OPEN, note=f"proved, but not that nothing raises: {raising}, perhaps")
        self.say(f"{name}: counterexample to induction")
        small, why = self.small_step(name, open_goals)
        if small is None:
            if why or any(goal.session not in self.induction.steps for goal in open_goals):
                self.suspect.append(name)
            return PropertyFact(Evidence.OPEN, note=self._no_small_step(open_goals, why))
        self.suspect.append(name)
        self.broken[name] = small.bound
        params = ", ".join(f"{key}={plain(value)}" for key, value in small.step.params.items())
        note = f"{small.step.action.name}({params}) breaks it from a state that satisfies all lemmas"
        changed = _settings_of(self.system, small.bound)
        note += f", with {changed}" if changed else ""
        return PropertyFact(Evidence.OPEN, note=note, counterexample_to_induction=(small.before, small.step.after))

    def _no_small_step(self, goals: list[AnyGoal], why: str) -> str:
        """What is known of a property that no small step breaks. why: Z3 did not answer whether each step does."""
        induction = self.induction
        asked = [goal for goal in goals if goal in induction.failed or goal in induction.unanswered]
        goal = (asked or goals)[0]
        move, unanswered = induction.sessions[goal.session].move, induction.unanswered.get(goal, "")
        note = f"no proof that {move.name if move else 'each step'} keeps it" + (
            f" ({unanswered})" if unanswered else ""
        )
        step = "no step breaks it" if not why else f"no step was found that breaks it ({why})"
        return f"{note}; with {self.small_steps.most()} {step} from a state that satisfies all lemmas"

    def small_step(self, name: str, goals: list[AnyGoal]) -> tuple[SmallStep | None, str]:
        """A step that violates a property, from a state of a configuration that satisfies all lemmas.

        If there is none: why it is not known of each step that it does not, or "".
        """

        def violated(bound: BoundModel, before: Any, step: Step) -> bool:
            p = next(p for p in bound.properties if p.name == name)
            return not (bound.holds_on(p, before, step) if p.over_steps else bound.holds(p, step.after))

        return self.small_steps.of(goals, violated)

    @property
    def small_steps(self) -> Counterexamples:
        return Counterexamples(self.induction, self.seconds_left, sorts(self.system))

    def open_bounds(self) -> dict[str, bool]:
        """Bounds that steps may leave, as far as is proved; whether each is a declared one."""
        bounds: dict[str, bool] = {}
        for path, declared, goal in self.goals.exits:
            if not self.induction.are_proved([goal]):
                bounds[path] = declared and bounds.get(path, True)
        return bounds

    def used(self, names: list[str]) -> list[int]:
        """The numbers of the lemmas that the proofs of properties need, and that no step leaves a bound."""
        within = [goal for _, _, goal in self.goals.exits if self.induction.are_proved([goal])]
        own = {number for number, name in enumerate(self.system.claims()[0]) if name in names}
        return sorted(own.union(self.induction.used([*self.goals.basis(names), *within])))

    def lemmas(self, names: list[str]) -> list[Lemma]:
        """The lemmas that the proofs of properties need."""
        return [self.induction.lemmas[i] for i in self.used(names)]

    # -- checks -----------------------------------------------------------------------------------------------

    def settled(self, names: list[str]) -> list[str]:
        """The properties whose proofs a fresh solver settles and plain Python agrees with. Raises `Disagreement`."""
        proved = [name for name in names if self.proved(name)]
        if proved and not self._passed(proved):
            proved = [name for name in proved if self._passed([name])]
        if proved:
            self.induction.kept.update(self.used(proved))
        return proved

    def _passed(self, names: list[str]) -> bool:
        """Whether the proofs pass their check; if Z3 does not answer, `unchecked` says so. Raises as `check`."""
        try:
            self.check(names)
        except Interrupted as error:
            left = self.seconds_left()
            if error.stop.reason is not StopReason.SOLVER or (left is not None and left <= 0):
                raise
            self.unchecked |= dict.fromkeys(names, error.stop.text)
            return False
        for name in names:
            self.unchecked.pop(name, None)
        return True

    def check(self, names: list[str]) -> None:
        """Settles every goal by a fresh solver, and compares with plain Python. Raises `Disagreement`."""
        induction = self.induction
        goals = [g for i in self.used(names) for g in induction.goals_of(i)] + self.goals.basis(names)
        for goal in dict.fromkeys(goals):
            core = induction.cores[goal]
            if (goal.key, frozenset(core)) not in self._checked:
                self.say(f"checking: {goal.name}")
                if not z3_settles(script(induction, goal, core), self.seconds_left(), LONG_EFFORT):
                    raise Disagreement(f"a proof did not pass its check: {goal.name}")
                self._checked.add((goal.key, frozenset(core)))
        self.compare(names)

    def compare(self, names: list[str]) -> None:
        """Compares nodes and formulas with plain Python. Raises `Disagreement`."""
        if not self._fixed:
            self._compare_steps()
        conditions = [f.condition for f in self.system.lowered.state_formulas if f.name in names]
        conditions += [lemma.node for lemma in self.lemmas(names)]
        for condition in dict.fromkeys(conditions):
            for fixed, state in self._fixed if condition not in self._compared else ():
                self.say("checking against plain Python")
                if not fixed.possible(condition):
                    raise Disagreement(f"the formulas exclude the value of {condition} in {state}")
            self._compared.add(condition)

    def _compare_steps(self) -> None:
        for bound, states in self.samples.states:
            self.say("checking against plain Python")
            some = self.samples.rng.sample(states, min(STEPS_COMPARED, len(states)))
            compare_initial(self.system, bound)
            compare_steps(self.system, bound, some, STEPS_COMPARED)
            self._fixed.append((Fixed(self.system, instance_of(self.system, bound, some[0])), some[0]))


class Round(Enum):
    """What is tried in turn; what is proved in one is checked and kept before the next, which may take all the time."""

    QUICK = 0
    """Goals that Z3 answers soon, by the invariants of the model alone."""
    INVARIANTS = 1
    """All goals by these."""
    TEMPLATES = 2
    """With the candidates of the templates as well."""
    LONG = 3
    """Again with more effort for each goal, where it was used up for one."""

    @property
    def effort(self) -> int:
        """Z3's units of work for each goal."""
        return {Round.QUICK: EFFORT, Round.LONG: LONG_EFFORT}.get(self, GOAL_EFFORT)


def _apply_everywhere(bound: BoundModel, options: SearchOptions, free: frozenset[str]) -> None:
    """`Failure` if a property applies to some values of the free numbers alone."""
    for p in bound.model.properties:
        decided = not p.temporal and p.kind != "cover" and options.wants(p.name)
        read = settings_read(p.when, bound.config) & free if p.when is not None and decided else set()
        if read:
            which = ", ".join(sorted(read))
            text = f"the `when` of {p.name} reads {which}, which is any number here: set it with --set"
            raise Failure(Exit.USAGE, f"{text}, or name other properties by --property")


def prove_for_any_number(
    prepared: Prepared, options: SearchOptions, progress: Progress, proof: ProofOptions
) -> EngineResult:
    """Proves properties of states and steps for every value of the numbers that were not set.

    Raises `Failure` where a construct has no translation.
    """
    bound, clock = prepared.bound, ProofClock(options.budget, progress)
    say = clock.say
    prepare_z3(proof.seed)
    system = _system(prepared, options, clock.look)
    _apply_everywhere(bound, options, system.any_number.free)
    names = [p.name for p in bound.properties if not p.temporal and options.wants(p.name)]
    prover: AnyNumberProver | None = None
    facts: dict[str, PropertyFact] = {}
    summary = ProofSummary("any-number", any_number=_of_any_number(system))
    covers: list[CoverResult] = []
    raised: tuple[Trace | None, str] | None = None
    try:
        with Ending() as ending, interruptible():
            near = list(islice(nearby_configurations(bound, system.any_number.free), 1 + OTHERS))
            found, raised = _violations(prepared, system, options, names, near[:1], say)
            facts |= found
            waiting = [name for name in names if name not in facts]
            if waiting:
                prover = AnyNumberProver(system, Samples(system, say), proof, say, clock.seconds_left)
                for turn in Round:
                    if turn is Round.TEMPLATES:
                        prover.add_templates()
                    if turn is Round.LONG:
                        if EFFORT_USED not in prover.induction.unanswered.values():
                            break
                        prover.induction.add([])
                    prover.run(waiting, turn.effort)
                    if proved := prover.settled(waiting):
                        covers = covers or covers_by_walks(Scout(bound, prepared.lowered, options.wants, say), options)
                        summary.lemmas = [lemma.text for lemma in prover.lemmas(proved)]
                        summary.bounds_open = sorted(prover.open_bounds())
                        used, digest = prover.used(proved), prepared.sha256
                        summary.certificate = certificate_of(prover.goals, proved, used, digest, prepared.config)
                        facts |= {name: PropertyFact(Evidence.PROOF, note="for every such number") for name in proved}
                    if prover.is_complete(waiting):
                        break
                waiting = [name for name in waiting if name not in facts]
                for name in waiting:
                    fact = prover.doubt(name)
                    its = _under(prepared, system, prover.broken.get(name, bound))
                    facts[name] = fact if its is prepared else replace(fact, elsewhere=its)
                facts |= _violations(prepared, system, options, waiting, [*prover.broken.values(), *near[1:]], say)[0]
                suspect = [name for name in prover.suspect if facts[name].evidence is Evidence.OPEN]
                if suspect:
                    others = with_members(bound, prover.small_steps.numbers())
                    fresh = [one for one in others if one.config not in [other.config for other in near]]
                    facts |= _violations(prepared, system, options, suspect, fresh, say)[0]
            facts |= _with_fewest_members(prepared, system, options, facts, say)
    except NoTranslation as error:
        raise Failure(Exit.MODEL, f"{bound.model.name}: {error} has no translation for any number") from None
    stopped = clock.cause(ending.stop)
    why = f"not decided: {stopped.text}" if stopped is not None else ""
    facts |= {name: PropertyFact(Evidence.OPEN, note=why) for name in names if name not in facts}
    facts |= {p.name: PropertyFact(Evidence.LEFT_OUT) for p in bound.properties if p.temporal}
    facts["deadlock"] = PropertyFact(Evidence.LEFT_OUT, note="`check` decides it")
    waiting = [name for name in names if facts[name].evidence is Evidence.OPEN]
    stopped = stopped or (MODEL_RAISES if raised is not None else None)
    if stopped is None and waiting:
        stopped = Stop(StopReason.OPEN, f"not decided: {', '.join(waiting)}")
    stopped = stopped or Stop(StopReason.COMPLETE, "everything asked for is decided")
    stats = SearchStatistics()
    if prover is not None:
        stats.undeclared = int(not all(prover.open_bounds().values()))
    stats.seconds["search"] = time.monotonic() - clock.began
    complete = stopped.reason is StopReason.COMPLETE
    return EngineResult(summary, stats, stopped, complete, facts, tuple(covers), raised=raised)


def _system(prepared: Prepared, options: SearchOptions, look: Callable[[], None]) -> System:
    """The model for any number. `Failure` where it has none."""
    chosen = [pair.partition("=")[0] for pair in prepared.settings]
    any_number = free_numbers(prepared.bound, chosen)
    if not any_number.free:
        why = "".join(f"; {reason}, which is proved with one number alone" for reason in any_number.held)
        raise Failure(Exit.USAGE, f"--any-number: no number of the configuration is left that is not set{why}")
    try:
        lowered, relations = lower_for_any_number(prepared.bound, any_number, options.wants)
    except SubsetError as error:
        count = len(error.refusals)
        what = f"{count} construct{'s' * (count > 1)} without a translation for any number"
        raise Failure(Exit.MODEL, f"{what}\n{error}") from None
    return System(lowered, relations, any_number, look)


def _of_any_number(system: System) -> AnyNumberRecord:
    """The free numbers, the bounds that are lifted, and what the formulas take to be more than it is."""
    declared = dict(scalar_leaves(system.lowered.bound.type))
    lifted = []
    for path, kind in system.scalars:
        number = isinstance(kind, IntType) and (kind.high == ANY or kind.low == -ANY) and "#" not in path
        if number or (isinstance(kind, SeqType) and kind.length == ANY and path in declared):
            lifted.append(path)
    operations = {node.op for node in system.graph.nodes()}
    return {
        "free": {name: kind.low for name, kind in system.config},
        "lifted": lifted,
        "remarks": [remark for op, remark in REMARKS.items() if op in operations],
    }


REMARKS = {
    "total": "a sum over a sort is some number",
    "seq_get": "an item at a place is some item of the sequence",
}
"""Operations whose formulas admit more than the operation does."""


def _violations(
    prepared: Prepared,
    system: System,
    options: SearchOptions,
    names: list[str],
    near: list[BoundModel],
    say: Callable[[str], None],
) -> tuple[dict[str, PropertyFact], tuple[Trace | None, str] | None]:
    """Violations that a short search finds in some configurations, each with a trace.

    Also a run into a state in which the model raises, in the configuration at hand.
    """
    facts: dict[str, PropertyFact] = {}
    raised: tuple[Trace | None, str] | None = None
    for number, bound in enumerate(near):
        waiting = [name for name in names if name not in facts]
        if not waiting or bound.config in [other.config for other in near[:number]]:
            continue
        changed = _settings_of(system, bound)
        say(f"search for violations {changed}")
        its_options = replace(options, properties=waiting, budget=SEARCHED_FOR, memory=MEMORY, workers=1)
        its = _under(prepared, system, bound)
        try:
            wanted = its.only(its_options.wants)
        except (SubsetError, LanguageError):  # the text names more members than it has, or it is too large
            continue
        result = native.check(wanted, its_options, Progress(quiet=True))
        for name in waiting:
            fact = result.facts.get(name)
            if fact is not None and fact.trace is not None:
                facts[name] = replace(fact, note=f"with {changed}", elsewhere=its) if changed else fact
        raised = raised or (None if changed else result.raised)
    return facts, raised


def _under(prepared: Prepared, system: System, bound: BoundModel) -> Prepared:
    """The model under another configuration, or as it is at hand."""
    pairs = tuple(pair for pair in _settings_of(system, bound).split() if pair != "--set")
    return replace(prepared, bound=bound, restricted=None, settings=(*prepared.settings, *pairs)) if pairs else prepared


def _with_fewest_members(
    prepared: Prepared,
    system: System,
    options: SearchOptions,
    facts: dict[str, PropertyFact],
    say: Callable[[str], None],
) -> dict[str, PropertyFact]:
    """The violated properties, each with the fewest members of the sorts with which a short search violates it."""
    fallen = {name: fact for name, fact in facts.items() if fact.evidence is Evidence.COUNTEREXAMPLE}
    where = {name: fact.elsewhere.bound if fact.elsewhere else prepared.bound for name, fact in fallen.items()}
    counts = sorted({str(sort.sort.size) for sort in sorts(system)})
    for bound in {str(one.config): one for one in where.values()}.values():
        names = [name for name, its in where.items() if its.config == bound.config]
        smaller = [one for count in counts for one in with_fewer(system, bound, count)]
        fallen |= _violations(prepared, system, options, names, smaller, say)[0]
    for name, fact in fallen.items():
        config = (fact.elsewhere or prepared).bound.config
        fewest = ", ".join(f"the fewest {count} found: {getattr(config, count)}" for count in counts)
        fallen[name] = replace(fact, note=f"{fact.note}; {fewest}" if fact.note else fewest)
    return fallen


def _settings_of(system: System, bound: BoundModel) -> str:
    """The free numbers of a configuration that differ from those at hand, as options."""
    at_hand, config = system.lowered.bound.config, bound.config
    names = (name for name in sorted(system.any_number.free) if getattr(config, name) != getattr(at_hand, name))
    return " ".join(f"--set {name}={getattr(config, name)}" for name in names)
