"""Where the protocols of controllers with ZooKeeper lead a move from the present state: the twelve steps, and batching.

The rules are those of `models/kip435_batching/`: `reassignment_classic`, `batching` with its calculation `repaired`.
A broker that is being added and has no known fault is assumed to catch up; no other one that is out of sync.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reassure.checkers.kafka.audit.waiting import OFFLINE, OUT_OF_SYNC, named_brokers, waits_for
from reassure.checkers.kafka.plan.present import PresentState, brokers
from reassure.checkers.kafka.plan.stages import Path, PlanRules, Stage
from reassure.checkers.request.model_loader import function
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, last_stays, members

CALCULATION = "kip435_batching.rules:repaired"
MOVES_LEADER = "kip435_batching.rules:moves_leader"


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
    protocol: str, state: PresentState, target: tuple[int, ...], faults: Mapping[int, str], rules: PlanRules
) -> tuple[Path, str]:
    """The stages of a move from a state of which `missing_rule` misses none, and what it waits for; "" if it ends."""
    p, wanted = state.partition, tuple(Broker(b) for b in target)
    dead = brokers(faults) | brokers(state.gone)
    move = _Move(p.replicas, p.isr - dead, p.leader, (members(p) | brokers(target)) - dead)
    move.stages.append(move.stage(move.have))
    if p.leader is None:
        text = waits_for(p, False, faults, brokers(state.gone), lambda b: str(int(b)))
        return tuple(move.stages), text
    blocked = ""
    while move.have != wanted and not blocked:
        blocked = _classic(move, wanted) if protocol == "classic" else _batching(move, wanted, rules)
    reasons = {int(b): faults.get(int(b), OFFLINE if b in dead else OUT_OF_SYNC) for b in move.waits}
    if move.waits:
        blocked = f"waits for {named_brokers(move.waits, lambda b: str(int(b)), reasons)}"
    return tuple(move.stages), blocked


@dataclass
class _Move:
    """A partition on its way. waits: the brokers that its step needs in sync, and that do not come."""

    have: tuple[Broker, ...]
    isr: Brokers
    leader: Broker | None
    alive: Brokers
    stages: list[Stage] = field(default_factory=list)
    waits: Brokers = NOBODY

    def stage(
        self, replicas: tuple[Broker, ...], adding: tuple[Broker, ...] = (), moves: bool = False, follows: bool = False
    ) -> Stage:
        """A stage of these replicas, by the present ISR and leader."""
        leader = None if self.leader is None else int(self.leader)
        isr = frozenset(map(int, self.isr))
        return Stage(tuple(map(int, replicas)), isr, leader, tuple(map(int, adding)), moves, follows)

    def step(
        self,
        goal: tuple[Broker, ...],
        grown: tuple[Broker, ...],
        wanted: tuple[Broker, ...],
        leads: bool,
        min_isr: int | None,
    ) -> str:
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
            self.stages.append(self.stage(grown, adding, moves))
        if self.waits:
            return "waits"
        if leader is None:
            return "waits for a replica of the target that may lead"
        if min_isr is not None and after & dropping and len(after - dropping) < min_isr:
            return f"waits: without {named_brokers(dropping, lambda b: str(int(b)))} fewer than MinISR are in sync"
        self.have, self.leader, self.isr = goal, leader, last_stays(after, dropping, leader)
        if not adding or goal != grown or goal == wanted:
            self.stages.append(self.stage(goal, (), moves and not adding, bool(adding)))
        return ""


def _classic(move: _Move, wanted: tuple[Broker, ...]) -> str:
    """The twelve steps are one: everything new is added, and awaited with all that stays."""
    grown = (*move.have, *(b for b in wanted if b not in move.have))
    return move.step(wanted, grown, wanted, False, None)


def _batching(move: _Move, wanted: tuple[Broker, ...], rules: PlanRules) -> str:
    """The next step of KIP-435's batching, repaired."""
    repaired: Callable[..., Any] = function(CALCULATION)
    moves_leader: Callable[..., Any] = function(MOVES_LEADER)
    goal = repaired(wanted, move.have, move.isr, move.alive, rules.limits.replicas, rules.min_isr)
    if goal == move.have:
        move.waits = frozenset(b for b in wanted if b not in move.alive or (b in move.have and b not in move.isr))
        return "waits"
    leads = moves_leader(wanted, move.have, goal, move.leader)
    there = frozenset(move.have) | frozenset(goal)
    listed = (*wanted, *(b for b in move.have if b not in wanted))
    return move.step(goal, tuple(b for b in listed if b in there), wanted, leads, rules.min_isr)
