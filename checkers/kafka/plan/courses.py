"""Where Kafka's controller leads a move from the present state: to its end, or to what it waits for.

The rules are those of `models/kraft/kafka_controller.py`. Every release, MinISR and setting that the input leaves open
is tried. A broker that is being added and has no known fault is assumed to catch up; no other one that is out of sync.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reassure.checkers.kafka.audit.ending import row
from reassure.checkers.kafka.audit.waiting import UNREGISTERED, named_brokers, waits_for
from reassure.checkers.kafka.plan.present import PresentState, brokers
from reassure.checkers.request.model_loader import function
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, members, reassigning

CONTROLLER = "kraft.kafka_controller"


@dataclass(frozen=True)
class CourseStep:
    """A state on the way of a move."""

    replicas: tuple[int, ...]
    isr: frozenset[int]
    leader: int | None
    adding: tuple[int, ...]


@dataclass(frozen=True)
class Course:
    """Where some releases lead a move. steps: from the request to the end. blocked: why it does not end, or "".

    releases: the names of their rules.
    """

    steps: tuple[CourseStep, ...]
    blocked: str
    releases: tuple[str, ...] = ()
    settings: str = ""
    """What the input leaves open, and this course supposes."""

    @property
    def words(self) -> str:
        """The releases and settings, for people."""
        return ", ".join(part for part in (f"Kafka {row(list(self.releases))}", self.settings) if part)


@dataclass
class MoveRules:
    """The rules of Kafka's controller, for moves of one cluster. Moves that differ in brokers' numbers are run once."""

    releases: tuple[str, ...]
    rules: Any = field(init=False)
    courses: dict[Any, tuple[Course, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        built = function(f"{CONTROLLER}:built")
        self.rules = sys.modules[built.__module__]

    def after_request(self, p: Partition, target: tuple[int, ...]) -> Partition:
        """The partition after a request that all releases answer alike: of one that nothing was under way of."""
        rules, of = self.rules, self.rules.switches(self.rules.PUBLISHED[-1])
        asked = rules.asked(p, tuple(Broker(b) for b in target), of)
        done = rules.built(p, asked, members(p) | brokers(target), NOBODY, 1, of).partition
        assert isinstance(done, Partition)
        return done

    def of_move(
        self,
        state: PresentState,
        target: tuple[int, ...],
        faults: Mapping[int, str],
        least: int | None,
        unclean: bool | None,
        elr: bool | None,
    ) -> tuple[Course, ...]:
        """The courses of a move, one for each different outcome. faults: of brokers. least: MinISR of partition 0."""
        p = state.partition
        named = {b for b in (p.leader, p.last_known_leader) if b is not None}
        every = sorted({int(b) for b in members(p) | p.isr | p.elr | p.adding | p.removing | named} | set(target))
        small = {b: Broker(i) for i, b in enumerate(every, 1)}
        some_faults = tuple((int(small[b]), faults[b]) for b in every if b in faults)
        gone = frozenset(small[b] for b in state.gone if b in small)
        case = _renamed(p, small), tuple(small[b] for b in target), some_faults, gone, least, unclean, elr
        if case not in self.courses:
            self.courses[case] = tuple(self._courses(*case))
        back = {int(s): b for b, s in small.items()}
        return tuple(_with_names(course, back) for course in self.courses[case])

    def _courses(
        self,
        p: Partition,
        target: tuple[Broker, ...],
        faults: tuple[tuple[int, str], ...],
        gone: Brokers,
        least: int | None,
        unclean: bool | None,
        elr: bool | None,
    ) -> list[Course]:
        rules = self.rules
        leasts = tuple(range(1, len(p.replicas) + len(target) + 1)) if least is None else (least,)
        elrs, losses = (False, True) if elr is None else (elr,), (False, True) if unclean is None else (unclean,)
        named = [release for release in rules.PUBLISHED if release.value in self.releases]
        outcomes: dict[tuple[tuple[CourseStep, ...], str], list[tuple[str, bool, bool, int]]] = {}
        for release, has_elr, min_isr, loss in itertools.product(named, elrs, leasts, losses):
            w = rules.switches(release, rules.Features(elr=has_elr))
            outcome = self._run(p, target, dict(faults), gone, min_isr, loss, w)
            outcomes.setdefault(outcome, []).append((release.value, has_elr, loss, min_isr))
        courses = []
        for (steps, blocked), supposed in outcomes.items():
            releases, has_elrs, unclean_ones, min_isrs = (set(values) for values in zip(*supposed, strict=True))
            words = [
                f"{what} {'on' if True in values else 'off'}"
                for what, values, tried in (("unclean election", unclean_ones, losses), ("ELR", has_elrs, elrs))
                if len(values) < len(tried)
            ]
            if len(min_isrs) < len(leasts):
                words.append(f"MinISR {min(min_isrs)} to {max(min_isrs)}")
            names = tuple(name for name in self.releases if name in releases)
            courses.append(Course(steps, blocked, names, ", ".join(words)))
        return courses

    def _run(
        self,
        p: Partition,
        target: tuple[Broker, ...],
        faults: dict[int, str],
        gone: Brokers,
        min_isr: int,
        unclean: bool,
        w: Any,
    ) -> tuple[tuple[CourseStep, ...], str]:
        """The states after the request, and what the move waits for; "" if it ends."""
        rules, added_before = self.rules, p.adding
        usual = rules.Election.UNCLEAN if unclean else rules.Election.ONLINE
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
        p, steps = asked.partition, [_step(asked.partition)]
        if p.leader is None and unclean:
            p = rules.built(p, rules.unchanged(p, usual), alive, NOBODY, min_isr, w).partition
            steps.append(_step(p))
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
                steps.append(_step(p))
        return tuple(steps), waits_for(p, w.completes_with_added, faults, gone, _called) if reassigning(p) else ""


def _called(broker: Broker) -> str:
    """A broker in a text, to be named later."""
    return f"<{int(broker)}>"


def _step(p: Partition) -> CourseStep:
    return CourseStep(
        tuple(map(int, p.replicas)),
        frozenset(map(int, p.isr)),
        None if p.leader is None else int(p.leader),
        tuple(int(b) for b in p.replicas if b in p.adding),
    )


def _renamed(p: Partition, small: Mapping[int, Broker]) -> Partition:
    """A partition with other numbers of brokers; its epochs play no part."""

    def all_of(some: Brokers) -> Brokers:
        return frozenset(small[int(b)] for b in some)

    return replace(
        p,
        replicas=tuple(small[int(b)] for b in p.replicas),
        isr=all_of(p.isr),
        elr=all_of(p.elr),
        adding=all_of(p.adding),
        removing=all_of(p.removing),
        leader=None if p.leader is None else small[int(p.leader)],
        last_known_leader=None if p.last_known_leader is None else small[int(p.last_known_leader)],
        leader_epoch=0,
        partition_epoch=0,
    )


def _with_names(course: Course, back: Mapping[int, int]) -> Course:
    """A course with the brokers' own numbers."""
    text = course.blocked
    for small in sorted(back, reverse=True):
        text = text.replace(f"<{small}>", str(back[small]))
    steps = tuple(
        CourseStep(
            tuple(back[b] for b in s.replicas),
            frozenset(back[b] for b in s.isr),
            None if s.leader is None else back[s.leader],
            tuple(back[b] for b in s.adding),
        )
        for s in course.steps
    )
    return replace(course, steps=steps, blocked=text)
