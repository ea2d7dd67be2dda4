"""`reassure plan`: what a reassignment passes through, at its real size, and what could break on the way.

Which replica sets a protocol passes through is calculated for each partition (`PROTOCOLS`); then each single broker and
each single rack fails at each of them. Only replicas that are certainly in sync count: all were before the move, and
what is added is once the protocol goes on to its next stage, since it waits for that. A promise is broken where it was
kept before the move. The protocols themselves are checked by `reassure check`; this checks a plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.checkers.kafka.plan.kafka_json import Assignment, Partition, partition_name
from reassure.checkers.kafka.plan.present import Present
from reassure.checkers.kafka.plan.promises import ENDS, OF_MIN_ISR, RACK_PROMISES, Break, Promise, promises
from reassure.checkers.kafka.plan.stages import Batch, Path, PlanLimits, batches, copies
from reassure.checkers.kafka.plan.ways import Way, Ways
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress


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
    blocked: dict[Partition, str] = field(default_factory=dict)
    """The moves that do not end, by every release or by some, with what they wait for: their paths have no target."""
    assumed_in_sync: int = 0
    """Partitions that move, of which no file says who is in sync: all replicas are taken to be."""
    assumed_min_isr: list[str] = field(default_factory=list)
    """Topics that move, of which no file has MinISR: Kafka's default is taken."""

    @property
    def not_applicable(self) -> list[str]:
        """The promises that do not apply."""
        return [name for name in RACK_PROMISES if name not in self.promises]

    @property
    def complete(self) -> bool:
        """Whether every promise that applies was decided."""
        return all(p.decided for p in self.promises.values())

    def exit(self) -> Exit:
        """12 for a broken promise; 13 if only moves do not end; 5 if a promise was not decided."""
        broken = {p.name for p in self.promises.values() if p.breaks}
        if broken:
            return Exit.LIVENESS if broken == {ENDS} else Exit.SAFETY
        return Exit.OK if self.complete else Exit.INCONCLUSIVE

    def seconds(self, size: int, throttle: int) -> float:
        """The seconds of copying if each partition has this size, at this rate on each broker and side."""
        return sum(self.busiest) * size / throttle


def judge_plan(
    cluster: ClusterFile,
    current: Assignment,
    proposed: Assignment,
    protocol: str,
    limits: PlanLimits,
    running: Mapping[Partition, tuple[int, ...]] = MappingProxyType({}),
    present: Present | None = None,
    progress: Progress | None = None,
) -> JudgedPlan:
    """Everything about a plan on top of the targets that are running; `Failure` if it moves nothing that there is.

    present: what the files say of the state of partitions; without it all replicas are taken to be in sync.
    """
    present, progress = present or Present(), progress or Progress(quiet=True)
    proposed = {**running, **proposed}
    strange = [p for p in proposed if p not in current]
    if strange:
        raise Failure(Exit.CONFIG, f"{strange[0][0]}-{strange[0][1]} is proposed, and not among the current partitions")
    going_on = {p: state.target for p, state in present.states.items() if state.moving}
    running = {**running, **going_on}
    ways = Ways(cluster, current, protocol, limits, running, present)
    moves = {p: t for p, t in proposed.items() if current[p] != t or running.get(p, t) != t}
    if not moves:
        raise Failure(Exit.NOTHING, "the proposal changes nothing")
    courses = {}
    for number, (partition, target) in enumerate(moves.items()):
        progress.proof(f"calculating the moves: {number:,} of {len(moves):,} partitions")
        courses[partition] = ways.of(partition, target)
    paths = {p: some[0].path for p, some in courses.items()}
    replaced = {p: t for p, t in running.items() if p in paths and t not in (current[p], proposed[p])}
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
        blocked={p: some[0].blocked for p, some in courses.items() if some[0].blocked},
        assumed_in_sync=sum(p not in present.states for p in paths),
        assumed_min_isr=sorted({t for t, _ in paths if cluster.takes_default and t not in cluster.topics}),
    )
    for number, (partition, path) in enumerate(paths.items()):
        progress.proof(f"judging the moves: {number:,} of {len(paths):,} partitions")
        _judge_move(judged, cluster, partition, courses[partition], proposed[partition])
        _judge_cordoned(judged, cluster, partition, path, proposed[partition])
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


def _judge_move(
    judged: JudgedPlan, cluster: ClusterFile, partition: Partition, ways: list[Way], target: tuple[int, ...]
) -> None:
    """What the ways of a move keep and break. A promise is broken if every way breaks it, open if only some do."""
    broken: dict[str, list[list[Break]]] = {}
    for number, way in enumerate(ways):
        if way.open:
            for p in judged.promises.values():
                if p.name not in ("limits_are_kept", "cordoned_brokers_are_spared"):
                    p.open[partition_name(partition)] = way.open
            return
        breaks = _judge_path(judged, cluster, partition, way, target, first=number == 0)
        for promise in judged.promises:
            broken.setdefault(promise, []).append([b for b in breaks if b.promise == promise])
    for promise, of_ways in broken.items():
        every = [b for breaks in of_ways for b in breaks]
        if all(of_ways):
            judged.promises[promise].breaks += dict.fromkeys(every)
        elif every:
            holding = ", ".join(w.where for w, breaks in zip(ways, of_ways, strict=True) if not breaks)
            texts = "; ".join(dict.fromkeys(b.text for b in every))
            judged.promises[promise].open[partition_name(partition)] = f"{texts}; {holding}: holds"
        elif promise == ENDS and ways[0].ends_open:
            judged.promises[promise].open[partition_name(partition)] = ways[0].ends_open
    if cluster.least(partition[0]) is None:
        for promise in OF_MIN_ISR:
            if promise in judged.promises:
                judged.promises[promise].open[partition[0]] = "its MinISR is in no file (--min-isr N)"


def _judge_path(
    judged: JudgedPlan, cluster: ClusterFile, partition: Partition, way: Way, target: tuple[int, ...], first: bool
) -> list[Break]:
    """What a way breaks of the promises that were kept before. first: count those that were broken before."""
    path, least = way.path, cluster.least(partition[0])
    min_isr = cluster.enough(partition[0])
    first_holds: dict[str, bool] = {}
    spread = min(len(cluster.rack_of(path[0].certain)), len(cluster.rack_of(target)))
    where = f"{way.where}: " if way.where else ""
    breaks: list[Break] = []

    def promise(name: str, stage: int, holds: bool, failure: str, text: str) -> None:
        if least is None and name in OF_MIN_ISR:
            return
        if stage == 0:
            first_holds[name] = holds
            judged.promises[name].before += first and not holds
        elif not holds and first_holds[name]:
            breaks.append(Break(partition, stage, failure, where + text, name))

    for i, stage in enumerate(path):
        certain = stage.certain
        in_sync = f"{len(certain)} certainly in sync ({', '.join(str(b) for b in sorted(certain))})"
        leads = "nobody" if stage.leader is None else stage.leader
        promise("own_steps_keep_min_isr", i, len(certain) >= min_isr, "", f"{in_sync}, MinISR {min_isr}")
        promise("own_steps_keep_a_leader", i, stage.leader in certain, "", f"{leads} leads, {in_sync}")
        promise("own_steps_keep_an_in_sync_copy", i, bool(certain), "", in_sync)
        if not certain and i:
            continue
        for prefix, enough, text in (
            ("partitions_", 1, in_sync),
            ("producers_", min_isr, f"{in_sync}, MinISR {min_isr}"),
        ):
            failure = lost(certain, enough)
            promise(f"{prefix}survive_a_broker", i, not failure and bool(certain), failure, text)
            if judged.racked:
                failure = lost_with_a_rack(cluster, certain, enough)
                promise(f"{prefix}survive_a_rack", i, not failure and bool(certain), failure, text)
        if judged.racked:
            racks = len(cluster.rack_of(certain))
            promise("stays_spread", i, racks >= max(spread, 1), "", f"{in_sync}, in {racks} of {spread} racks")
            judged.fewest_racks = racks if judged.fewest_racks is None else min(judged.fewest_racks, racks)
    if way.blocked:
        breaks.append(Break(partition, len(path) - 1, "", where + way.blocked, ENDS))
    elif path[-1].replicas != target:
        text = f"ends as {list(path[-1].replicas)}, not {list(target)}"
        breaks.append(Break(partition, len(path) - 1, "", text, ENDS))
    return breaks


def _judge_cordoned(
    judged: JudgedPlan, cluster: ClusterFile, partition: Partition, path: Path, target: tuple[int, ...]
) -> None:
    """KIP-1066: a cordoned broker gets no new replica; Kafka 4.4 refuses one that stays, too."""
    promise = judged.promises["cordoned_brokers_are_spared"]
    breaks, before = promise.breaks, path[0].replicas
    for b in sorted(cluster.cordoned & set(target)):
        where = f"all log directories of broker {b} are cordoned"
        stays = ", where the replica is already" if b in before else ""
        if cluster.refuses_cordoned:
            breaks.append(Break(partition, len(path) - 1, "", f"{where}{stays}: INVALID_REPLICA_ASSIGNMENT"))
        elif b not in before:
            breaks.append(Break(partition, len(path) - 1, "", f"{where}, and it gets a replica"))
        elif cluster.refuses_cordoned is None:
            text = f"{where}{stays}: Kafka 4.4 answers INVALID_REPLICA_ASSIGNMENT, releases before it do not"
            promise.open[partition_name(partition)] = text


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
            if stage.leader is not None:
                sends[stage.leader] += len(stage.adding)
        judged.busiest.append(max((*receives.values(), *sends.values()), default=0))
