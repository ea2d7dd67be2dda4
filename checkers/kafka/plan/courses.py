"""The ways that a move may take from the present state: to its end, or to what it waits for.

The rules of Kafka's controller are those of `models/kraft/kafka_controller.py`. Every release, MinISR and setting that
the input leaves open is tried. A broker that is being added and has no known fault is assumed to catch up; no other one
that is out of sync.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from reassure.checkers.kafka.audit.ending import UNREGISTERED, named_brokers, row, waits_for
from reassure.checkers.kafka.plan.cluster_file import Assignment, ClusterFile, Replicas
from reassure.checkers.kafka.plan.older_courses import course, missing_rule
from reassure.checkers.kafka.plan.present import Present, PresentState, brokers
from reassure.checkers.kafka.plan.stages import PROTOCOLS, Path, PlanLimits, PlanRules, Stage, stage_of
from reassure.checkers.kafka.printed.shell_output import Key
from reassure.checkers.request.model_loader import function
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, members, reassigning

CONTROLLER = "kraft.kafka_controller"


@dataclass(frozen=True)
class Course:
    """Where some releases lead a move. steps: from the request to the end. blocked: why it does not end, or "".

    words: the releases, and what the course supposes of the settings that the input leaves open.
    """

    steps: Path
    blocked: str
    words: str


class MoveSettings(NamedTuple):
    """What a file may say of a topic; None of what none says. least: MinISR of partition 0. elr: whether it is on."""

    least: int | None
    unclean: bool | None
    elr: bool | None


class _Case(NamedTuple):
    """A move with small numbers of brokers. faults: of brokers."""

    p: Partition
    target: tuple[Broker, ...]
    faults: tuple[tuple[int, str], ...]
    gone: Brokers
    settings: MoveSettings


@dataclass
class MoveRules:
    """The rules of Kafka's controller, for moves of one cluster. Moves that differ in brokers' numbers are run once."""

    releases: tuple[str, ...]
    rules: Any = field(init=False)
    courses: dict[_Case, list[Course]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rules = sys.modules[function(f"{CONTROLLER}:built").__module__]

    def after_request(self, p: Partition, target: Replicas) -> Partition:
        """The partition after a request that all releases answer alike: of one that nothing was under way of."""
        rules, of = self.rules, self.rules.switches(self.rules.PUBLISHED[-1])
        asked = rules.asked(p, tuple(Broker(b) for b in target), of)
        done = rules.built(p, asked, members(p) | brokers(target), NOBODY, 1, of).partition
        assert isinstance(done, Partition)
        return done

    def of_move(
        self, state: PresentState, target: Replicas, faults: Mapping[int, str], settings: MoveSettings
    ) -> list[Course]:
        """The courses of a move, one for each different outcome. faults: of brokers."""
        p = state.partition
        named = {b for b in (p.leader, p.last_known_leader) if b is not None}
        every = sorted({int(b) for b in members(p) | p.isr | p.elr | p.adding | p.removing | named} | set(target))
        small = {b: Broker(i) for i, b in enumerate(every, 1)}
        some_faults = tuple((int(small[b]), faults[b]) for b in every if b in faults)
        gone = frozenset(small[b] for b in state.gone if b in small)
        case = _Case(_renamed(p, small), tuple(small[b] for b in target), some_faults, gone, settings)
        if case not in self.courses:
            self.courses[case] = self._courses(case)
        back = {int(s): b for b, s in small.items()}
        return [_with_names(course, back) for course in self.courses[case]]

    def _courses(self, case: _Case) -> list[Course]:
        rules, (least, unclean, elr) = self.rules, case.settings
        leasts = tuple(range(1, len(case.p.replicas) + len(case.target) + 1)) if least is None else (least,)
        elrs, losses = (False, True) if elr is None else (elr,), (False, True) if unclean is None else (unclean,)
        named = [release for release in rules.PUBLISHED if release.value in self.releases]
        outcomes: dict[tuple[Path, str], list[tuple[str, bool, bool, int]]] = {}
        for release, has_elr, min_isr, loss in itertools.product(named, elrs, leasts, losses):
            w = rules.switches(release, rules.Features(elr=has_elr))
            outcome = self._run(case, min_isr, loss, w)
            outcomes.setdefault(outcome, []).append((release.value, has_elr, loss, min_isr))
        courses = []
        for (steps, blocked), supposed in outcomes.items():
            releases, has_elrs, unclean_ones, min_isrs = (set(values) for values in zip(*supposed, strict=True))
            words = [f"Kafka {row([name for name in self.releases if name in releases])}"]
            words += [
                f"{what} {'on' if True in values else 'off'}"
                for what, values, tried in (("unclean election", unclean_ones, losses), ("ELR", has_elrs, elrs))
                if len(values) < len(tried)
            ]
            if len(min_isrs) < len(leasts):
                words.append(f"MinISR {min(min_isrs)} to {max(min_isrs)}")
            courses.append(Course(steps, blocked, ", ".join(words)))
        return courses

    def _run(self, case: _Case, min_isr: int, unclean: bool, w: Any) -> tuple[Path, str]:
        """The states after the request, and what the move waits for; "" if it ends."""
        rules, p, target, faults, gone = self.rules, case.p, case.target, dict(case.faults), case.gone
        added_before, usual = p.adding, rules.Election.UNCLEAN if unclean else rules.Election.ONLINE
        if unknown := [b for b in target if faults.get(int(b)) == UNREGISTERED]:
            return (), f"Kafka answers INVALID_REPLICA_ASSIGNMENT: {named_brokers(unknown, _called)} is {UNREGISTERED}"
        if p.leader is None and unclean:
            gone |= members(p)  # otherwise one of them would have been elected by now
        alive = (members(p) | p.isr | p.elr | frozenset(target)) - gone - brokers(faults)
        if p.last_known_leader is not None and p.leader is not None:
            alive |= {p.last_known_leader} - gone - brokers(faults)
        asked = rules.built(p, rules.asked(p, target, w), alive, NOBODY, min_isr, w)
        if asked.throws:
            return (), "Kafka answers UNKNOWN_SERVER_ERROR: it would elect a broker that is no replica"
        p, steps = asked.partition, [stage_of(asked.partition)]
        if p.leader is None and unclean:
            p = rules.built(p, rules.unchanged(p, usual), alive, NOBODY, min_isr, w).partition
            steps.append(stage_of(p))
        # what an earlier request adds goes on being copied, but counts as in sync only where the move waits for it
        for joining in (p.adding, p.adding | added_before):
            if not reassigning(p) or p.leader is None:
                break
            request = replace(rules.unchanged(p, usual), isr=p.isr | (joining & members(p) & alive))
            answer = rules.built(p, request, alive, NOBODY, min_isr, w)
            if answer.throws:
                return tuple(steps), "Kafka answers UNKNOWN_SERVER_ERROR to the leader: it would elect no replica"
            p = answer.partition
            if not reassigning(p):
                steps.append(stage_of(p))
        return tuple(steps), waits_for(p, w.completes_with_added, faults, gone, _called) if reassigning(p) else ""


def _called(broker: Broker) -> str:
    """A broker in a text, to be named later."""
    return f"<{int(broker)}>"


def _renamed(p: Partition, small: Mapping[int, Broker]) -> Partition:
    """A partition with other numbers of brokers; its epochs play no part."""
    isr, elr, adding, removing = (brokers(small[b] for b in some) for some in (p.isr, p.elr, p.adding, p.removing))
    leader, last = (None if b is None else small[b] for b in (p.leader, p.last_known_leader))
    replicas = tuple(small[b] for b in p.replicas)
    return Partition(replicas, isr, elr, adding, removing, leader, 0, 0, p.recovering, last, p.last_known_is_nobody)


def _with_names(course: Course, back: Mapping[int, int]) -> Course:
    """A course with the brokers' own numbers."""
    text = course.blocked
    for small in sorted(back, reverse=True):
        text = text.replace(f"<{small}>", str(back[small]))
    steps = []
    for s in course.steps:
        replicas, adding = (tuple(back[b] for b in some) for some in (s.replicas, s.adding))
        leader = None if s.leader is None else back[s.leader]
        steps.append(Stage(replicas, frozenset(back[b] for b in s.certain), leader, adding))
    return replace(course, steps=tuple(steps), blocked=text)


@dataclass(frozen=True)
class Way:
    """A way that a move may take. blocked: why it does not end. where: the releases and settings, if others differ.

    open: why its promises are not decided. ends_open: why it is not known whether it ends.
    """

    path: Path
    blocked: str = ""
    where: str = ""
    open: str = ""
    ends_open: str = ""


@dataclass
class Ways:
    """The ways that the moves of a plan take from the present state."""

    cluster: ClusterFile
    current: Assignment
    protocol: str
    limits: PlanLimits
    running: Assignment
    present: Present

    def __post_init__(self) -> None:
        self.rules: MoveRules | None = None

    def of(self, p: Key, target: Replicas) -> list[Way]:
        """Every way that the releases and settings take which the input leaves open; at least one."""
        cluster, before = self.cluster, self.current[p]
        state = self.present.state_of(p, before, cluster.faults)
        rules = PlanRules(self.limits, cluster.enough(p[0]), cluster.racks)
        usual = PROTOCOLS[self.protocol](before, target, rules)
        under_way = self.running.get(p, target)
        as_usual = state.healthy and not any(b in cluster.faults for b in target)
        if self.protocol != "kraft":
            if as_usual:
                return [Way(usual)]
            missing = missing_rule(self.protocol, state, under_way != target, cluster.allows_unclean(p[0]))
            if not missing and self.protocol == "batching" and cluster.least(p[0]) is None:
                missing = "its MinISR is in no file (--min-isr N), which the steps of batching go by"
            path, blocked = (usual, "") if missing else course(self.protocol, state, target, cluster.faults, rules)
            return [Way(path, blocked, open=missing)]
        if state.observers:
            some = ", ".join(map(str, sorted(state.observers)))
            return [Way(usual, open=f"it has observers ({some}), of which the rules are not known")]
        added = set(target) - set(before)
        doubts = [f"broker {b} is {why}" for b, why in sorted(self.present.suspects.items()) if b in added]
        ends_open = "; ".join(doubts)
        if as_usual and under_way == target:
            return [Way(usual, ends_open=ends_open)]
        self.rules = self.rules or MoveRules(cluster.releases)
        if p in self.running and not state.moving:
            state = replace(state, partition=self.rules.after_request(state.partition, under_way))
        least, zero = cluster.least(p[0]), len(self.current.get((p[0], 0), before))
        settings = MoveSettings(
            None if least is None else min(least, zero),
            cluster.allows_unclean(p[0]),
            True if state.elr else cluster.elr,
        )
        courses = self.rules.of_move(state, target, cluster.faults, settings)
        return [
            Way(_path_of(before, state, target, c), c.blocked, c.words * (len(courses) > 1), ends_open=ends_open)
            for c in sorted(courses, key=lambda c: not c.blocked)
        ]


def _path_of(before: Replicas, state: PresentState, target: Replicas, course: Course) -> Path:
    """The stages of a move from the present state."""
    p, now = state.partition, stage_of(state.partition)
    new = frozenset(map(int, p.adding)) - frozenset(before)
    stages = [Stage(before, now.certain - new, now.leader)]
    if state.moving and state.target != target and p.adding:
        stages.append(replace(now, follows=True))
    for number, step in enumerate(course.steps):
        adding = tuple(b for b in step.adding if b not in step.certain)
        moves = course.steps[-1].leader != now.leader and number == 0
        stages.append(replace(step, adding=adding, moves_leader=moves, follows=number > 0))
    return tuple(stages)
