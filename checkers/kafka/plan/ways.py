"""The ways that a move may take from the present state, by the releases and settings that the input leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.checkers.kafka.plan.courses import Course, MoveRules
from reassure.checkers.kafka.plan.kafka_json import Assignment, Partition
from reassure.checkers.kafka.plan.older_courses import course, missing_rule
from reassure.checkers.kafka.plan.present import Present, PresentState
from reassure.checkers.kafka.plan.stages import PROTOCOLS, Path, PlanLimits, PlanRules, Stage


@dataclass(frozen=True)
class Way:
    """A way that a move may take. blocked: why it does not end. where: the releases and settings, if others differ.

    open: why its promises are not decided.
    """

    path: Path
    blocked: str = ""
    where: str = ""
    open: str = ""
    ends_open: str = ""
    """Why it is not known whether it ends."""


@dataclass
class Ways:
    """The ways that the moves of a plan take from the present state."""

    cluster: ClusterFile
    current: Assignment
    protocol: str
    limits: PlanLimits
    running: Mapping[Partition, tuple[int, ...]]
    present: Present
    rules: MoveRules | None = None

    def of(self, p: Partition, target: tuple[int, ...]) -> list[Way]:
        """Every way that the releases and settings take which the input leaves open; at least one."""
        cluster, before = self.cluster, self.current[p]
        state = self.present.state_of(p, before, cluster.faults)
        rules = PlanRules(self.limits, cluster.enough(p[0]), cluster.racks)
        usual = PROTOCOLS[self.protocol](before, target, rules)
        faulty = [b for b in target if b in cluster.faults]
        if self.protocol != "kraft":
            if state.healthy and not faulty:
                return [Way(usual)]
            moves = self.running.get(p, target) != target
            missing = missing_rule(self.protocol, state, moves, cluster.allows_unclean(p[0]))
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
        if state.healthy and not faulty and self.running.get(p, target) == target:
            return [Way(usual, ends_open=ends_open)]
        self.rules = self.rules or MoveRules(cluster.releases)
        under_way = self.running.get(p)
        if under_way is not None and not state.moving:
            state = replace(state, partition=self.rules.after_request(state.partition, under_way))
        zero = len(self.current.get((p[0], 0), before))
        least = cluster.least(p[0])
        courses = self.rules.of_move(
            state,
            target,
            cluster.faults,
            None if least is None else min(least, zero),
            cluster.allows_unclean(p[0]),
            True if state.elr else cluster.elr,
        )
        several = len(courses) > 1
        return [
            Way(_path_of(before, state, target, c), c.blocked, c.words if several else "", ends_open=ends_open)
            for c in sorted(courses, key=lambda c: not c.blocked)
        ]


def _path_of(before: tuple[int, ...], state: PresentState, target: tuple[int, ...], course: Course) -> Path:
    """The stages of a move from the present state."""
    p = state.partition
    isr, leader = frozenset(map(int, p.isr)), None if p.leader is None else int(p.leader)
    new = frozenset(map(int, p.adding)) - frozenset(before)
    stages = [Stage(before, isr - new, leader)]
    if state.moving and state.target != target and p.adding:
        adding = tuple(int(b) for b in p.replicas if b in p.adding)
        stages.append(Stage(tuple(map(int, p.replicas)), isr, leader, adding, follows=True))
    for number, step in enumerate(course.steps):
        adding = tuple(b for b in step.adding if b not in step.isr)
        moves = course.steps[-1].leader != leader and number == 0
        stages.append(Stage(step.replicas, step.isr, step.leader, adding, moves, follows=number > 0))
    return tuple(stages)
