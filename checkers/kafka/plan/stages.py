"""The replica sets that each protocol passes through, and KIP-435's batches."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reassure.checkers.kafka.plan.cluster_file import Replicas
from reassure.checkers.kafka.printed.shell_output import Key
from reassure.spec.kafka.partition import Partition

UNLIMITED = 1 << 31


@dataclass(frozen=True)
class PlanLimits:
    """KIP-435's limits: replicas of one partition, partitions, and leader movements at once (B1)."""

    replicas: int = UNLIMITED
    partitions: int = UNLIMITED
    leaders: int = UNLIMITED


@dataclass(frozen=True)
class Stage:
    """A replica set that a partition passes through."""

    replicas: Replicas
    certain: frozenset[int]
    """The brokers that are certainly in sync from the stage's beginning to its end."""
    leader: int | None
    adding: Replicas = ()
    moves_leader: bool = False
    """Whether another broker leads once what is added is in sync."""
    follows: bool = False
    """Whether it is under way, or comes by itself when what was added is in sync; else a batch makes room for it."""


Path = tuple[Stage, ...]
"""All stages of a partition: the first is before the move, the last is the target."""


def beginning(current: Replicas) -> Stage:
    """Before the move: all in sync, and the preferred leader leads."""
    return Stage(current, frozenset(current), current[0])


def stage_of(p: Partition) -> Stage:
    """A partition as it is: its ISR is in sync."""
    leader, adding = None if p.leader is None else int(p.leader), tuple(int(b) for b in p.replicas if b in p.adding)
    return Stage(tuple(map(int, p.replicas)), frozenset(map(int, p.isr)), leader, adding)


def _union(current: Replicas, target: Replicas, grown: Replicas) -> Path:
    """Grow to the union, wait until all of the target is in sync, be the target. The leader stays if it can."""
    adding = tuple(b for b in target if b not in current)
    leader = current[0] if current[0] in target else target[0]
    moves, start = leader != current[0], beginning(current)
    if not adding:
        return (start, Stage(target, frozenset(target), leader, moves_leader=moves))
    growing = Stage(grown, frozenset(current), current[0], adding, moves)
    return (start, growing, Stage(target, frozenset(target), leader, follows=True))


@dataclass(frozen=True)
class PlanRules:
    """The parameters of a protocol for a partition."""

    limits: PlanLimits = PlanLimits()
    min_isr: int = 1
    racks: Mapping[int, str | None] = field(default_factory=dict)


def kraft(current: Replicas, target: Replicas, rules: PlanRules) -> Path:
    """KRaft (K1 to K3): the target and what is to be removed, then the target."""
    return _union(current, target, (*target, *sorted(set(current) - set(target))))


def classic(current: Replicas, target: Replicas, rules: PlanRules) -> Path:
    """The 12 steps (B8, B9): the original replicas and what is to be added, then the target."""
    return _union(current, target, (*current, *(b for b in target if b not in current)))


def batching(current: Replicas, target: Replicas, rules: PlanRules, by_rack: bool = False) -> Path:
    """KIP-435 repaired (B2 to B5), as the model `batching` has it, while nothing fails.

    The new leader first, unless everything fits into one step; then R go in each step, as many come as the target
    needs, and nothing is dropped before what is added is in sync. The first step may exceed R to reach MinISR.
    """
    stages = [beginning(current)]
    have, leader = current, current[0]
    while have != target:
        adding, dropping = _step(have, target, rules, by_rack)
        rest = tuple(b for b in have if b not in target)
        grown = (*(b for b in target if b in have or b in adding), *rest)
        after = tuple(b for b in grown if b not in dropping)
        brings = target[0] in adding
        moves = leader not in target and (leader in dropping or brings)
        if adding:
            stages.append(Stage(grown, frozenset(have), leader, adding, moves))
        if moves:
            leader = target[0] if target[0] in after else after[0]
        if not adding or after != grown or after == target:
            follows = bool(adding)
            stages.append(Stage(after, frozenset(after), leader, (), moves and not follows, follows))
        have = after
    return tuple(stages)


def batching_by_rack(current: Replicas, target: Replicas, rules: PlanRules) -> Path:
    """As `batching`, but no rack is given up before all is added: our answer to X1, in no document.

    The price: where the target is in other racks, the old replicas stay until all new ones are in sync.
    """
    return batching(current, target, rules, by_rack=True)


def _step(have: Replicas, target: Replicas, rules: PlanRules, by_rack: bool) -> tuple[Replicas, Replicas]:
    """The replicas that the next step adds, and those that it drops once the new ones are in sync.

    While others are still to be added, the first ones are dropped (KIP-435, 2c). by_rack: only those with others in
    their racks.
    """
    most = rules.limits.replicas
    absent = tuple(b for b in target if b not in have)
    excess = tuple(b for b in have if b not in target)
    short = max(rules.min_isr - len(have), 0)
    if len(absent) > most and target[0] in absent:
        return absent[: max(short, 1)], ()
    leaving = min(most, len(excess))
    adding = absent[: min(max(most, short), max(len(target) - len(have) + leaving, short, 0))]
    spare = min(leaving, max(len(have) + len(adding) - len(target), 0))
    if by_rack and adding != absent:
        dropping = _sharing_racks((*have, *adding), excess, spare, rules.racks)
    else:
        dropping = excess[:spare]
    return (adding, dropping) if adding or dropping else (absent[:most], ())


def _sharing_racks(there: Replicas, excess: Replicas, count: int, racks: Mapping[int, str | None]) -> Replicas:
    """Only those whose racks others are in too."""
    used = Counter(racks.get(b) for b in there)
    dropping: list[int] = []
    for b in excess:
        if len(dropping) < count and used[racks.get(b)] > 1:
            dropping.append(b)
            used[racks.get(b)] -= 1
    return tuple(dropping)


PROTOCOLS: dict[str, Callable[[Replicas, Replicas, PlanRules], Path]] = {
    "kraft": kraft,
    "batching": batching,
    "batching-by-rack": batching_by_rack,
    "classic": classic,
}

Batch = list[tuple[Key, int]]
"""Partitions with the number of the stage that they enter together."""


def copies(path: Path) -> list[int]:
    """The stages that a batch must make room for."""
    return [i for i, stage in enumerate(path) if i and not stage.follows]


def batches(paths: dict[Key, Path], limits: PlanLimits) -> list[Batch]:
    """KIP-435's batches, repaired (B5): leader movements up to L, then others, P in all, in the order of the plan.

    A batch ends before the next begins. Without limits everything moves in step.
    """
    order = list(paths)
    todo = [copies(paths[p]) for p in order]
    done = [0] * len(order)
    queues: tuple[list[int], list[int]] = ([], [])

    def waiting(i: int) -> None:
        if done[i] < len(todo[i]):
            heapq.heappush(queues[not paths[order[i]][todo[i][done[i]]].moves_leader], i)

    for i in range(len(order)):
        waiting(i)
    batches = []
    while queues[0] or queues[1]:
        leading = min(limits.leaders, limits.partitions, len(queues[0]))
        picked = [heapq.heappop(queues[0]) for _ in range(leading)]
        picked += [heapq.heappop(queues[1]) for _ in range(min(limits.partitions - leading, len(queues[1])))]
        batches.append([(order[i], todo[i][done[i]]) for i in picked])
        for i in picked:
            done[i] += 1
            waiting(i)
    return batches
