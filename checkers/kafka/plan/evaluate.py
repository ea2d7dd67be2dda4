"""`reassure plan`: what a reassignment passes through, at its real size, and what could break on the way.

Which replica sets a protocol passes through is calculated for each partition (`PROTOCOLS`); then each single broker and
each single rack fails at each of them. Only replicas that are certainly in sync count: all were before the move, and
what is added is once the protocol goes on to its next stage, since it waits for that. A promise is broken where it was
kept before the move. The protocols themselves are checked by `reassure check`; this checks a plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from reassure.checkers.kafka.plan.cluster_file import Assignment, ClusterFile, Replicas
from reassure.checkers.kafka.plan.courses import Way, Ways
from reassure.checkers.kafka.plan.kafka_json import partition_name
from reassure.checkers.kafka.plan.present import Present
from reassure.checkers.kafka.plan.stages import Batch, Path, PlanLimits, batches, copies
from reassure.checkers.kafka.printed.shell_output import Key
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress

PROMISES = (
    "own_steps_keep_min_isr",  # min.insync.replicas are in sync, if nothing fails
    "own_steps_keep_a_leader",  # a replica in sync leads
    "own_steps_keep_an_in_sync_copy",  # a replica in sync is kept
    "moves_end_as_wanted",  # the last stage is the target, order included, and nothing is waited for
    "limits_are_kept",  # batches are within the limits, and every stage is in one
    "partitions_survive_a_broker",  # any one broker may fail, and a replica in sync is left
    "producers_survive_a_broker",  # any one broker may fail, and min.insync.replicas are left
    "partitions_survive_a_rack",  # any one rack may fail, and a replica in sync is left
    "producers_survive_a_rack",  # any one rack may fail, and min.insync.replicas are left
    "stays_spread",  # replicas in sync are in as many racks as before, or as in the target if fewer
    "cordoned_brokers_are_spared",  # no request is refused for a cordoned broker, and none gets a replica
)
"""The first five are those of `spec.kafka.shared_properties`, of one plan instead of all runs."""
ENDS, LIMITS, CORDONED = "moves_end_as_wanted", "limits_are_kept", "cordoned_brokers_are_spared"
OF_MIN_ISR = ("own_steps_keep_min_isr", "producers_survive_a_broker", "producers_survive_a_rack")
RACK_PROMISES = ("partitions_survive_a_rack", "producers_survive_a_rack", "stays_spread")


@dataclass(frozen=True)
class Break:
    """A promise that is broken: where, under which failure if any, and what is left."""

    partition: Key
    stage: int
    failure: str
    text: str
    promise: str = ""


@dataclass
class Promise:
    """A promise with what was found. before: partitions that broke it before the move already.

    checked: False of one about racks where some have none. open: the reasons why it was not decided, by the topic or
    partition that they are about.
    """

    name: str
    checked: bool = True
    breaks: list[Break] = field(default_factory=list)
    before: int = 0
    open: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return "invariant" if self.name == LIMITS else "step"

    @property
    def decided(self) -> bool:
        """Whether every partition was judged."""
        return self.checked and not self.open

    @property
    def status(self) -> str:
        return "violated" if self.breaks else "holds" if self.decided else "not_checked"


@dataclass
class JudgedPlan:
    """A plan with everything found about it."""

    cluster: ClusterFile
    protocol: str
    limits: PlanLimits
    paths: dict[Key, Path]
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
    blocked: dict[Key, str] = field(default_factory=dict)
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
    running: Assignment | None = None,
    present: Present | None = None,
    progress: Progress | None = None,
) -> JudgedPlan:
    """Everything about a plan on top of the targets that are running; `Failure` if it moves nothing that there is.

    present: what the files say of the state of partitions; without it all replicas are taken to be in sync.
    """
    running, present, progress = running or {}, present or Present(), progress or Progress(quiet=True)
    proposed = {**running, **proposed}
    if strange := [p for p in proposed if p not in current]:
        raise Failure(Exit.CONFIG, f"{partition_name(strange[0])} is proposed, and not among the current partitions")
    running = {**running, **{p: state.target for p, state in present.states.items() if state.moving}}
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
        cluster,
        protocol,
        limits,
        paths,
        batches(paths, limits),
        _promises(racked, len(concerned), cluster.described or any(cluster.racks.values())),
        racked == len(concerned),
        len(current) - len(paths),
        given_up=sum(len(set(t) - set(current[p]) - set(proposed[p])) for p, t in replaced.items()),
        replaced=len(replaced),
        too_few=sum(len(proposed[p]) < cluster.enough(p[0]) for p in paths),
        blocked={p: some[0].blocked for p, some in courses.items() if some[0].blocked},
        assumed_in_sync=sum(p not in present.states for p in paths),
        assumed_min_isr=sorted({t for t, _ in paths if cluster.takes_default and t not in cluster.topics}),
    )
    for number, partition in enumerate(paths):
        progress.proof(f"judging the moves: {number:,} of {len(paths):,} partitions")
        _judge_move(judged, partition, courses[partition], proposed[partition])
        _judge_cordoned(judged, partition, proposed[partition])
    _judge_limits(judged)
    _loads(judged)
    return judged


def _promises(racked: int, brokers: int, unknown: bool) -> dict[str, Promise]:
    """The promises that apply to so many brokers, so many of them with a rack.

    Those about racks do not apply where no broker has one, and are not checked where some have none or where nothing
    says (unknown).
    """
    names = [name for name in PROMISES if name not in RACK_PROMISES or racked or unknown]
    return {name: Promise(name, name not in RACK_PROMISES or racked == brokers) for name in names}


def _lost(what: str, places: Sequence[int | str], enough: int) -> str:
    """The single brokers or racks whose failure leaves fewer than so many, in words; "" if there are none.

    places: of the replicas that are certainly in sync.
    """
    there = Counter(places)
    names = [str(place) for place in dict.fromkeys(places) if len(places) - there[place] < enough]
    return f"{what} {' or '.join(names)} fails" if names else ""


def _judge_move(judged: JudgedPlan, partition: Key, ways: list[Way], target: Replicas) -> None:
    """What the ways of a move keep and break. A promise is broken if every way breaks it, open if only some do."""
    broken: dict[str, list[list[Break]]] = {}
    for number, way in enumerate(ways):
        if way.open:
            for p in judged.promises.values():
                if p.name not in (LIMITS, CORDONED):
                    p.open[partition_name(partition)] = way.open
            return
        breaks = _judge_path(judged, partition, way, target, first=number == 0)
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
    if judged.cluster.least(partition[0]) is None:
        for promise in judged.promises.keys() & OF_MIN_ISR:
            judged.promises[promise].open[partition[0]] = "its MinISR is in no file (--min-isr N)"


def _judge_path(judged: JudgedPlan, partition: Key, way: Way, target: Replicas, first: bool) -> list[Break]:
    """What a way breaks of the promises that were kept before. first: count those that were broken before."""
    path, cluster = way.path, judged.cluster
    least, min_isr = cluster.least(partition[0]), cluster.enough(partition[0])
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
        racks = sorted(str(cluster.racks[b]) for b in certain)
        for prefix, enough, text in (
            ("partitions", 1, in_sync),
            ("producers", min_isr, f"{in_sync}, MinISR {min_isr}"),
        ):
            failure = _lost("broker", sorted(certain), enough)
            promise(f"{prefix}_survive_a_broker", i, not failure and bool(certain), failure, text)
            if judged.racked:
                failure = _lost("rack", racks, enough)
                promise(f"{prefix}_survive_a_rack", i, not failure and bool(certain), failure, text)
        if judged.racked:
            count = len(set(racks))
            promise("stays_spread", i, count >= max(spread, 1), "", f"{in_sync}, in {count} of {spread} racks")
            judged.fewest_racks = count if judged.fewest_racks is None else min(judged.fewest_racks, count)
    if way.blocked:
        breaks.append(Break(partition, len(path) - 1, "", where + way.blocked, ENDS))
    elif path[-1].replicas != target:
        text = f"ends as {list(path[-1].replicas)}, not {list(target)}"
        breaks.append(Break(partition, len(path) - 1, "", text, ENDS))
    return breaks


def _judge_cordoned(judged: JudgedPlan, partition: Key, target: Replicas) -> None:
    """KIP-1066: a cordoned broker gets no new replica; Kafka 4.4 refuses one that stays, too."""
    promise, path, cluster = judged.promises[CORDONED], judged.paths[partition], judged.cluster
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


def _judge_limits(judged: JudgedPlan) -> None:
    """From the batches alone, not from how they were made."""
    broken, limits = judged.promises[LIMITS].breaks, judged.limits
    at: dict[Key, list[int]] = {p: [] for p in judged.paths}
    for number, batch in enumerate(judged.batches, 1):
        leaders = sum(judged.paths[p][i].moves_leader for p, i in batch)
        if len(batch) > limits.partitions or leaders > limits.leaders or len(dict(batch)) < len(batch):
            text = f"batch {number}: {len(batch)} partitions, {leaders} leader movements"
            broken.append(Break(batch[0][0], batch[0][1], "", text))
        for partition, i in batch:
            path = judged.paths[partition]
            at[partition].append(i)
            first = max(limits.replicas, judged.cluster.enough(partition[0]) - len(path[0].replicas)) if i == 1 else 0
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
