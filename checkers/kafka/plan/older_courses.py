"""Where the protocols of controllers with ZooKeeper lead a move from the present state: the twelve steps, and batching.

The rules are those of `models/kip435_batching/`: `reassignment_classic`, `batching` with its calculation `repaired`.
A broker that is being added and has no known fault is assumed to catch up; no other one that is out of sync.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reassure.checkers.kafka.audit.ending import named_brokers, waits_for, waits_for_brokers
from reassure.checkers.kafka.plan.cluster_file import Replicas
from reassure.checkers.kafka.plan.present import PresentState, brokers
from reassure.checkers.kafka.plan.stages import Path, PlanRules, Stage
from reassure.checkers.request.model_loader import function
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, last_stays, members

CALCULATION = "kip435_batching.rules:repaired"
MOVES_LEADER = "kip435_batching.rules:moves_leader"
Row = tuple[Broker, ...]


def missing_rule(protocol: str, state: PresentState, moves: bool, unclean: bool | None) -> str:
    """The rule without which a move from this state is not judged; "" if all are known.

    moves: another reassignment of the partition is under way.
    """
    p, rule = state.partition, ""
    if protocol == "batching-by-rack":
        rule = "which replicas go first while some are out of sync"
    elif state.observers:
        rule = f"when observers ({', '.join(map(str, sorted(state.observers)))}) come in sync"
    elif moves or state.moving:
        rule = "what becomes of the reassignment that is under way"
    elif p.elr:
        rule = "what eligible leader replicas do: controllers with ZooKeeper have none"
    elif p.leader is None and unclean is not False:
        rule = "whom an unclean election makes the leader"
    return f"{protocol} has no rule here for this state: {rule}" if rule else ""


def course(
    protocol: str, state: PresentState, target: Replicas, faults: Mapping[int, str], rules: PlanRules
) -> tuple[Path, str]:
    """The stages of a move from a state of which `missing_rule` misses none, and what it waits for; "" if it ends."""
    p, wanted = state.partition, tuple(map(Broker, target))
    dead = brokers(faults) | brokers(state.gone)
    move = _Move(p.replicas, p.isr - dead, p.leader, (members(p) | brokers(target)) - dead)
    move.add(move.have)
    if p.leader is None:
        return tuple(move.stages), waits_for(p, False, faults, brokers(state.gone))
    blocked = ""
    while move.have != wanted and not blocked:
        if protocol == "classic":  # the twelve steps are one: everything new is awaited with all that stays
            blocked = move.step(wanted, (*move.have, *(b for b in wanted if b not in move.have)), wanted, False, None)
        else:
            blocked = _batching(move, wanted, rules)
    return tuple(move.stages), waits_for_brokers(move.waits, faults, dead) if move.waits else blocked


@dataclass
class _Move:
    """A partition on its way. waits: the brokers that its step needs in sync, and that do not come."""

    have: Row
    isr: Brokers
    leader: Broker | None
    alive: Brokers
    stages: list[Stage] = field(default_factory=list)
    waits: Brokers = NOBODY

    def add(self, replicas: Row, adding: Row = (), moves: bool = False, follows: bool = False) -> None:
        """Adds a stage of these replicas, by the present ISR and leader."""
        leader, isr = None if self.leader is None else int(self.leader), frozenset(map(int, self.isr))
        self.stages.append(Stage(tuple(map(int, replicas)), isr, leader, tuple(map(int, adding)), moves, follows))

    def step(self, goal: Row, grown: Row, wanted: Row, leads: bool, min_isr: int | None) -> str:
        """A step to `goal`, through the list `grown`: what is new comes in sync, the leader moves, the rest goes.

        leads: the wanted preferred leader is to lead. min_isr: must stay in sync without what goes (None: need not).
        """
        adding, dropping = tuple(b for b in goal if b not in self.have), frozenset(grown) - frozenset(goal)
        after = self.isr | (frozenset(adding) & self.alive)
        self.waits = (frozenset(goal) & frozenset(wanted)) - after
        able = frozenset(goal) & after & self.alive
        leader = self.leader if self.leader in able else next((b for b in goal if b in able), None)
        if leads and wanted[0] in goal and wanted[0] in able:
            leader = wanted[0]
        moves = leader != self.leader
        if adding or self.waits:
            self.add(grown, adding, moves)
        if self.waits:
            return "waits"
        if leader is None:
            return "waits for a replica of the target that may lead"
        if min_isr is not None and after & dropping and len(after - dropping) < min_isr:
            return f"waits: without {named_brokers(dropping)} fewer than MinISR are in sync"
        self.have, self.leader, self.isr = goal, leader, last_stays(after, dropping, leader)
        if not adding or goal != grown or goal == wanted:
            self.add(goal, (), moves and not adding, bool(adding))
        return ""


def _batching(move: _Move, wanted: Row, rules: PlanRules) -> str:
    """The next step of KIP-435's batching, repaired."""
    goal: Row = function(CALCULATION)(wanted, move.have, move.isr, move.alive, rules.limits.replicas, rules.min_isr)
    if goal == move.have:
        move.waits = frozenset(b for b in wanted if b not in move.alive or (b in move.have and b not in move.isr))
        return "waits"
    leads: bool = function(MOVES_LEADER)(wanted, move.have, goal, move.leader)
    there = frozenset(move.have) | frozenset(goal)
    listed = (*wanted, *(b for b in move.have if b not in wanted))
    return move.step(goal, tuple(b for b in listed if b in there), wanted, leads, rules.min_isr)
