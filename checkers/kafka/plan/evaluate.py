"""`reassure plan`: what a reassignment passes through, at its real size, and what could break on the way.

Which replica sets a protocol passes through is calculated for each partition (`PROTOCOLS`); then each single broker and
each single rack fails at each of them. Only replicas that are certainly in sync count: all were before the move, and
what is added is once the protocol goes on to its next stage, since it waits for that. A promise is broken where it was
kept before the move. The protocols themselves are checked by `reassure check`; this checks a plan.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from reassure.checkers.kafka.plan.kafka_json import Assignment, ClusterFile, Partition
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.placement import PlacementError, RackMode, assign

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

    replicas: tuple[int, ...]
    certain: frozenset[int]
    """The brokers that are certainly in sync from the stage's beginning to its end."""
    leader: int
    adding: tuple[int, ...] = ()
    moves_leader: bool = False
    """Whether another broker leads once what is added is in sync."""
    follows: bool = False
    """Whether it is under way, or comes by itself when what was added is in sync; else a batch makes room for it."""


Path = tuple[Stage, ...]
"""All stages of a partition: the first is before the move, the last is the target."""


def beginning(current: tuple[int, ...]) -> Stage:
    """Before the move: all in sync, and the preferred leader leads."""
    return Stage(current, frozenset(current), current[0])


def _union(current: tuple[int, ...], target: tuple[int, ...], grown: tuple[int, ...], leader: int) -> Path:
    """Grow to the union, wait until all of the target is in sync, be the target."""
    adding = tuple(b for b in target if b not in current)
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


def kraft(current: tuple[int, ...], target: tuple[int, ...], rules: PlanRules) -> Path:
    """KRaft (K1 to K3): the target and what is to be removed, then the target. The leader stays if it can."""
    removing = sorted(set(current) - set(target))
    leader = current[0] if current[0] in target else target[0]
    return _union(current, target, (*target, *removing), leader)


def classic(current: tuple[int, ...], target: tuple[int, ...], rules: PlanRules) -> Path:
    """The 12 steps (B8, B9): the original replicas and what is to be added, then the target."""
    leader = current[0] if current[0] in target else target[0]
    return _union(current, target, (*current, *(b for b in target if b not in current)), leader)


def batching(current: tuple[int, ...], target: tuple[int, ...], rules: PlanRules) -> Path:
    """KIP-435 repaired (B2 to B5), as the model `batching` has it, while nothing fails.

    The new leader first, unless everything fits into one step; then R go in each step, as many come as the target
    needs, and nothing is dropped before what is added is in sync. The first step may exceed R to reach MinISR.
    """
    return _batching(current, target, rules, in_order)


def batching_by_rack(current: tuple[int, ...], target: tuple[int, ...], rules: PlanRules) -> Path:
    """As `batching`, but no rack is given up before all is added: our answer to X1, in no document.

    The price: where the target is in other racks, the old replicas stay until all new ones are in sync.
    """
    return _batching(current, target, rules, sharing_racks)


def in_order(there: tuple[int, ...], excess: tuple[int, ...], count: int, rules: PlanRules) -> tuple[int, ...]:
    """KIP-435's choice of what to drop while others are still to be added (2c): the first ones."""
    return excess[:count]


def sharing_racks(there: tuple[int, ...], excess: tuple[int, ...], count: int, rules: PlanRules) -> tuple[int, ...]:
    """Only those whose racks others are in too."""
    used = Counter(rules.racks.get(b) for b in there)
    dropping: list[int] = []
    for b in excess:
        if len(dropping) < count and used[rules.racks.get(b)] > 1:
            dropping.append(b)
            used[rules.racks.get(b)] -= 1
    return tuple(dropping)


Choice = Callable[[tuple[int, ...], tuple[int, ...], int, PlanRules], tuple[int, ...]]


def _step(
    have: tuple[int, ...], target: tuple[int, ...], rules: PlanRules, choose: Choice
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The replicas that the next step adds, and those that it drops once the new ones are in sync."""
    most = rules.limits.replicas
    absent = tuple(b for b in target if b not in have)
    excess = tuple(b for b in have if b not in target)
    short = max(rules.min_isr - len(have), 0)
    if len(absent) > most and target[0] in absent:
        return absent[: max(short, 1)], ()
    leaving = min(most, len(excess))
    adding = absent[: min(max(most, short), max(len(target) - len(have) + leaving, short, 0))]
    spare = min(leaving, max(len(have) + len(adding) - len(target), 0))
    if adding == absent:
        return adding, excess[:spare]
    dropping = choose((*have, *adding), excess, spare, rules)
    return (adding, dropping) if adding or dropping else (absent[:most], ())


def _batching(current: tuple[int, ...], target: tuple[int, ...], rules: PlanRules, choose: Choice) -> Path:
    stages = [beginning(current)]
    have, leader = current, current[0]
    while have != target:
        adding, dropping = _step(have, target, rules, choose)
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


PROTOCOLS: dict[str, Callable[[tuple[int, ...], tuple[int, ...], PlanRules], Path]] = {
    "kraft": kraft,
    "batching": batching,
    "batching-by-rack": batching_by_rack,
    "classic": classic,
}

Batch = list[tuple[Partition, int]]
"""Partitions with the number of the stage that they enter together."""


def copies(path: Path) -> list[int]:
    """The stages that a batch must make room for."""
    return [i for i, stage in enumerate(path) if i and not stage.follows]


def batches(paths: dict[Partition, Path], limits: PlanLimits) -> list[Batch]:
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


# -- promises -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Break:
    """A promise that is broken: where, under which failure if any, and what is left."""

    partition: Partition
    stage: int
    failure: str
    text: str


@dataclass
class Promise:
    """A promise with what was found. before: partitions that broke it before the move already."""

    name: str
    text: str
    kind: str = "step"
    breaks: list[Break] = field(default_factory=list)
    before: int = 0
    checked: bool = True

    @property
    def status(self) -> str:
        return "violated" if self.breaks else "holds" if self.checked else "not_checked"


RACK_PROMISES = ("partitions_survive_a_rack", "producers_survive_a_rack", "stays_spread")


def promises(racked: int, brokers: int, unknown: bool = False) -> dict[str, Promise]:
    """The promises that apply to so many brokers, so many of them with a rack.

    The first five are those of `spec.kafka.shared_properties`, of one plan instead of all runs. Those about racks do
    not apply where no broker has one, and are not checked where some have none or where nothing says (unknown).
    """
    all_promises = [
        Promise("own_steps_keep_min_isr", "min.insync.replicas are in sync, if nothing fails"),
        Promise("own_steps_keep_a_leader", "a replica in sync leads"),
        Promise("own_steps_keep_an_in_sync_copy", "a replica in sync is kept"),
        Promise("moves_end_as_wanted", "the last stage is the target, order included"),
        Promise("limits_are_kept", "batches are within the limits, and every stage is in one", "invariant"),
        Promise("partitions_survive_a_broker", "any one broker may fail, and a replica in sync is left"),
        Promise("producers_survive_a_broker", "any one broker may fail, and min.insync.replicas are left"),
        Promise("partitions_survive_a_rack", "any one rack may fail, and a replica in sync is left"),
        Promise("producers_survive_a_rack", "any one rack may fail, and min.insync.replicas are left"),
        Promise("stays_spread", "replicas in sync are in as many racks as before, or as in the target if fewer"),
        Promise("cordoned_brokers_are_spared", "no request is refused for a cordoned broker, and none gets a replica"),
    ]
    for p in all_promises:
        p.checked = p.name not in RACK_PROMISES or racked == brokers
    return {p.name: p for p in all_promises if p.name not in RACK_PROMISES or racked or unknown}


@dataclass
class JudgedPlan:
    """A plan with everything found about it."""

    paths: dict[Partition, Path]
    batches: list[Batch]
    promises: dict[str, Promise]
    racked: bool
    unmoved: int
    fewest_racks: int | None = None
    """Of replicas in sync, over all partitions that move and all stages."""
    moved: int = 0
    """Replicas added in all."""
    busiest: list[int] = field(default_factory=list)
    """For each batch: the most replicas that one broker receives, or sends as a leader, in it."""
    replaced: int = 0
    """Partitions of which the plan replaces a target that is under way."""
    given_up: int = 0
    """Replicas that are being copied for these targets, and are given up."""
    too_few: int = 0
    """Partitions whose target has fewer replicas than min.insync.replicas."""

    @property
    def not_applicable(self) -> list[str]:
        """The promises that do not apply."""
        return [name for name in RACK_PROMISES if name not in self.promises]

    @property
    def complete(self) -> bool:
        """Whether every promise that applies was checked."""
        return all(p.checked for p in self.promises.values())

    def exit(self) -> Exit:
        """12 for a broken promise; 5 if one was not checked."""
        if any(p.breaks for p in self.promises.values()):
            return Exit.SAFETY
        return Exit.OK if self.complete else Exit.INCONCLUSIVE

    def seconds(self, size: int, throttle: int) -> float:
        """The seconds of copying if each partition has this size, at this rate on each broker and side."""
        return sum(self.busiest) * size / throttle


def judge(
    cluster: ClusterFile, current: Assignment, proposed: Assignment, protocol: str, limits: PlanLimits,
    running: Mapping[Partition, tuple[int, ...]] = MappingProxyType({}),
) -> JudgedPlan:  # fmt: skip
    """Everything about a plan on top of the targets that are running; `Failure` if it moves nothing that there is."""
    proposed = {**running, **proposed}
    strange = [p for p in proposed if p not in current]
    if strange:
        raise Failure(Exit.CONFIG, f"{strange[0][0]}-{strange[0][1]} is proposed, and not among the current partitions")
    calculate = PROTOCOLS[protocol]
    paths = {
        p: calculate(current[p], target, PlanRules(limits, cluster.enough(p[0]), cluster.racks))
        for p, target in proposed.items()
        if current[p] != target
    }
    if not paths:
        raise Failure(Exit.NOTHING, "the proposal changes nothing")
    replaced = {p: t for p, t in running.items() if p in paths and t not in (current[p], proposed[p])}
    for p, target in replaced.items():
        if (under_way := kraft(current[p], target, PlanRules())[1]).adding:
            paths[p] = (paths[p][0], replace(under_way, follows=True), *paths[p][1:])
    concerned = {b for path in paths.values() for stage in path for b in stage.replicas}
    racked = sum(cluster.racks[b] is not None for b in concerned)
    judged = JudgedPlan(
        paths,
        batches(paths, limits),
        promises(racked, len(concerned), cluster.described or any(cluster.racks.values())),
        racked == len(concerned),
        len(current) - len(paths),
        given_up=sum(len(set(t) - set(current[p]) - set(proposed[p])) for p, t in replaced.items()),
        replaced=len(replaced),
        too_few=sum(len(proposed[p]) < cluster.enough(p[0]) for p in paths),
    )
    for partition, path in paths.items():
        _judge_path(judged, cluster, partition, path, proposed[partition])
        _judge_cordoned(judged, cluster, partition, path)
    _judge_limits(judged, cluster, limits)
    _loads(judged)
    return judged


def lost(certain: frozenset[int], enough: int) -> str:
    """The single brokers whose failure leaves fewer than so many, in words; empty if there are none."""
    if len(certain) - 1 >= enough:
        return ""
    return _fails("broker", [str(b) for b in sorted(certain)])


def lost_with_a_rack(cluster: ClusterFile, certain: frozenset[int], enough: int) -> str:
    """As `lost`, for racks."""
    there = Counter(str(cluster.racks[b]) for b in certain)
    return _fails("rack", [rack for rack in sorted(there) if len(certain) - there[rack] < enough])


def _fails(what: str, names: list[str]) -> str:
    return f"{what} {' or '.join(names)} fails" if names else ""


def _judge_path(
    judged: JudgedPlan, cluster: ClusterFile, partition: Partition, path: Path, target: tuple[int, ...]
) -> None:
    min_isr = cluster.enough(partition[0])
    first_holds: dict[str, bool] = {}
    spread = min(len(cluster.rack_of(path[0].replicas)), len(cluster.rack_of(target)))

    def promise(name: str, stage: int, holds: bool, failure: str, text: str) -> None:
        p = judged.promises[name]
        if stage == 0:
            first_holds[name] = holds
            p.before += not holds
        elif not holds and first_holds[name]:
            p.breaks.append(Break(partition, stage, failure, text))

    for i, stage in enumerate(path):
        certain = stage.certain
        in_sync = f"{len(certain)} certainly in sync ({', '.join(str(b) for b in sorted(certain))})"
        promise("own_steps_keep_min_isr", i, len(certain) >= min_isr, "", f"{in_sync}, MinISR {min_isr}")
        promise("own_steps_keep_a_leader", i, stage.leader in certain, "", f"{stage.leader} leads, {in_sync}")
        promise("own_steps_keep_an_in_sync_copy", i, bool(certain), "", in_sync)
        if not certain:
            continue
        for prefix, enough, text in (
            ("partitions_", 1, in_sync),
            ("producers_", min_isr, f"{in_sync}, MinISR {min_isr}"),
        ):
            failure = lost(certain, enough)
            promise(f"{prefix}survive_a_broker", i, not failure, failure, text)
            if judged.racked:
                failure = lost_with_a_rack(cluster, certain, enough)
                promise(f"{prefix}survive_a_rack", i, not failure, failure, text)
        if judged.racked:
            racks = len(cluster.rack_of(certain))
            promise("stays_spread", i, i == 0 or racks >= spread, "", f"{in_sync}, in {racks} of {spread} racks")
            judged.fewest_racks = racks if judged.fewest_racks is None else min(judged.fewest_racks, racks)
    if path[-1].replicas != target:
        text = f"ends as {list(path[-1].replicas)}, not {list(target)}"
        judged.promises["moves_end_as_wanted"].breaks.append(Break(partition, len(path) - 1, "", text))


def _judge_cordoned(judged: JudgedPlan, cluster: ClusterFile, partition: Partition, path: Path) -> None:
    """KIP-1066: a cordoned broker gets no new replica; Kafka 4.4 refuses one that stays, too."""
    breaks = judged.promises["cordoned_brokers_are_spared"].breaks
    before, target = path[0].replicas, path[-1].replicas
    for b in sorted(cluster.cordoned & set(target)):
        where = f"all log directories of broker {b} are cordoned"
        if cluster.refuses_cordoned:
            stays = ", where the replica is already" if b in before else ""
            breaks.append(Break(partition, len(path) - 1, "", f"{where}{stays}: INVALID_REPLICA_ASSIGNMENT"))
        elif b not in before:
            breaks.append(Break(partition, len(path) - 1, "", f"{where}, and it gets a replica"))


def _judge_limits(judged: JudgedPlan, cluster: ClusterFile, limits: PlanLimits) -> None:
    """From the batches alone, not from how they were made."""
    broken = judged.promises["limits_are_kept"].breaks
    at: dict[Partition, list[int]] = {p: [] for p in judged.paths}
    for number, batch in enumerate(judged.batches, 1):
        leaders = sum(judged.paths[p][i].moves_leader for p, i in batch)
        if len(batch) > limits.partitions or leaders > limits.leaders or len(dict(batch)) < len(batch):
            text = f"batch {number}: {len(batch)} partitions, {leaders} leader movements"
            broken.append(Break(batch[0][0], batch[0][1], "", text))
        for partition, i in batch:
            path = judged.paths[partition]
            at[partition].append(i)
            first = max(limits.replicas, cluster.enough(partition[0]) - len(path[0].replicas)) if i == 1 else 0
            if len(path[i].adding) > max(limits.replicas, first):
                broken.append(Break(partition, i, "", f"{len(path[i].adding)} replicas are added at once"))
    for partition, stages in at.items():
        if stages != copies(judged.paths[partition]):
            broken.append(Break(partition, 0, "", f"stages {stages} are in batches"))


def _loads(judged: JudgedPlan) -> None:
    for batch in judged.batches:
        receives: Counter[int] = Counter()
        sends: Counter[int] = Counter()
        for partition, i in batch:
            stage = judged.paths[partition][i]
            judged.moved += len(stage.adding)
            receives.update(stage.adding)
            sends[stage.leader] += len(stage.adding)
        judged.busiest.append(max((*receives.values(), *sends.values()), default=0))


# -- proposing ------------------------------------------------------------------------------------------------


def propose(
    cluster: ClusterFile,
    current: Assignment,
    brokers: list[int],
    replication_factor: int | None,
    *,
    ignore_racks: bool = False,
    start_index: int = 0,
) -> Assignment:
    """A rack-aware target for all partitions (KIP-36), topic after topic, each beginning where the last one ended.

    replication_factor: None keeps each topic's own. A broker whose log directories are all cordoned gets nothing.
    """
    unknown = [b for b in brokers if b not in cluster.racks]
    if unknown:
        raise Failure(Exit.CONFIG, f"broker {unknown[0]} is not in the cluster")
    cordoned = [b for b in brokers if b in cluster.cordoned]
    if cordoned:
        raise Failure(Exit.CONFIG, f"all log directories of broker {cordoned[0]} are cordoned")
    racks = {b: cluster.racks[b] for b in sorted(brokers or set(cluster.racks) - cluster.cordoned)}
    if not racks:
        raise Failure(Exit.CONFIG, "all log directories of every broker are cordoned")
    proposal: Assignment = {}
    for topic in sorted({t for t, _ in current}):
        mine = sorted(p for p in current if p[0] == topic)
        factors = {len(current[p]) for p in mine}
        if replication_factor is None and len(factors) > 1:
            several = " and ".join(str(f) for f in sorted(factors))
            raise Failure(Exit.CONFIG, f"partitions of {topic} have {several} replicas; give --replication-factor")
        mode = RackMode.IGNORE if ignore_racks else RackMode.REFUSE_SOME
        placed = start_index + len(proposal)
        try:
            assigned = assign(
                racks,
                len(mine),
                replication_factor or factors.pop(),
                start_index=placed % len(racks),
                shift=placed // len(racks),
                mode=mode,
            )
        except PlacementError as error:
            hint = "; --ignore-racks places without racks" if "no rack" in str(error) else ""
            raise Failure(Exit.CONFIG, f"{topic}: {error}{hint}") from None
        proposal |= {p: assigned[i] for i, p in enumerate(mine)}
    return proposal
