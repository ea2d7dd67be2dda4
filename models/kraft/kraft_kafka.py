"""KRaft partition reassignment by the rules of Kafka's controller, release by release, with the properties of `kraft`.

The rules are in `kafka_controller`; they are tested against Kafka's own classes, of each release. Every change runs the
completion check, then recomputes the ELR, then elects; elections take the first valid replica in list order, so nothing
is left open. A property that is violated here and not in `kraft` shows where the code differs from the document.

What each action is on a real cluster: `start` and `retarget` are AlterPartitionReassignments with the target in
ascending order, `cancel` the same with null, `alter_partition` is AlterPartition, version 3, as the leader sends it.
`fence` is a session that expires, `unfence` a heartbeat that ends fencing, `shut_down_uncleanly` the registration of a
new incarnation that does not prove a clean shutdown, `elect_unclean` the controller's own `maybeElectUncleanLeaders`,
`elect_preferred` its balancing of leaders, or ElectLeaders.

An exception inside the controller: a reassignment is answered UNKNOWN_SERVER_ERROR and nothing is written. In an event
of a broker it is a fault, and the active controller resigns: here the step is taken and leaves everything as it was,
which violates `broker_events_are_carried_out`.

Left out, besides what `kraft` leaves out: log directories. `kraft_kafka_ordered` has targets in another order than
ascending, `kraft_kafka_operated` restarts that lose nothing, controlled shutdowns and changes of the configuration.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import Range, action, cover, every, invariant, replace, require, step_property
from reassure.models.kraft import kraft, state
from reassure.models.kraft.kafka_answers import controller_answer as controller_answer
from reassure.models.kraft.kafka_controller import (
    Built,
    Change,
    Election,
    Error,
    Features,
    Release,
    asked,
    built,
    cancelled,
    effective_min_isr,
    features,
    reverted,
    switches,
    unchanged,
    validated,
)
from reassure.models.kraft.kafka_steps import Held as Held
from reassure.models.kraft.kafka_steps import controller_step as controller_step
from reassure.models.kraft.protocol import committed, decided
from reassure.models.kraft.state import AlterPartition, Cluster
from reassure.spec.kafka.partition import (
    NOBODY,
    Broker,
    Brokers,
    Partition,
    Replicas,
    ended,
    members,
    reassigning,
    target_of,
)


class MetadataVersion(Enum):
    """A metadata version: the newest of the release, or the newest one that lacks a rule."""

    NEWEST = "newest"
    V3_7 = "3.7-IV1"
    """Without log directories."""
    V3_5 = "3.5-IV2"
    """A shrink of the ISR raises the leader epoch."""
    V3_3 = "3.3-IV2"
    """A broker's controlled shutdown is not recorded. Kafka 3.9 only."""
    V3_1 = "3.1-IV0"
    """Without the leader recovery state. Kafka 3.9 only."""


@dataclass(frozen=True)
class Config(state.Config):
    release: Release = Release.V4_4
    """Release of Kafka."""
    elr: bool = True
    """Eligible leader replicas; off by default in 4.0, and in 3.9 always off outside of tests."""
    metadata_version: MetadataVersion = MetadataVersion.NEWEST
    """The cluster's metadata version; one older than the release's newest needs elr=false."""
    replicas_of_partition_zero: Annotated[int, Range(0, 8)] = 0
    """Replicas of the topic's partition 0, which MinISR is limited to for every partition; 0: this is partition 0."""
    balancing: bool = False
    """Whether preferred leaders are elected, by the balancing of leaders or at an administrator's request."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.metadata_version.value
        if self.elr and self.metadata_version != MetadataVersion.NEWEST:
            raise ValueError(f"metadata_version={name} has no eligible leader replicas: set elr=false")
        if self.release != Release.V3_9 and self.metadata_version in (MetadataVersion.V3_3, MetadataVersion.V3_1):
            raise ValueError(f"Kafka {self.release.value} cannot run with metadata_version={name}: set release=3.9")

    @property
    def features(self) -> Features:
        """The rules that metadata version and features switch on; ELR in 3.9 needs a metadata version of its tests."""
        if self.metadata_version != MetadataVersion.NEWEST:
            major, minor, level = self.metadata_version.value.replace("-IV", ".").split(".")
            return features((int(major), int(minor), int(level)), self.elr)
        in_production = self.release == Release.V3_9 and not self.elr
        return features((3, 9, 0) if in_production else (4, 0, 1), self.elr)


class Cause(Enum):
    """What made a broker eligible that is not a replica."""

    NOTHING = "nothing"
    CANCELLATION = "cancellation"
    COMPLETION = "completion"


@dataclass(frozen=True)
class Kafka(Cluster):
    strays: Cause = Cause.NOTHING
    """Ghost: which step last left a broker in the ELR that is not a replica."""
    shutting_down: Brokers = NOBODY
    """Brokers in controlled shutdown, until they register anew: `kraft_kafka_operated` has it."""


def active(s: Kafka) -> Brokers:
    """Who may lead and be in the ISR: neither fenced nor in controlled shutdown."""
    return s.unfenced - s.shutting_down


def mode(s: Cluster) -> Election:
    """What a change elects with, where the topic's configuration counts."""
    return Election.UNCLEAN if s.unclean else Election.ONLINE


def changed(s: Kafka, c: Config, change: Change, lost: Brokers) -> Built:
    """The partition after a change, brokers being as they are."""
    return built(s.partition, change, active(s), lost, enough(s, c), switches(c.release, c.features))


def enough(s: Kafka, c: Config) -> int:
    """The effective MinISR."""
    counted = c.replicas_of_partition_zero if c.replicas_of_partition_zero > 0 else len(s.partition.replicas)
    return effective_min_isr(s.min_isr, counted)


def written(s: Kafka, p: Partition, cause: Cause) -> Kafka:
    """The record is written; an election that Kafka itself calls unclean may lose what the new leader lacks."""
    old = s.partition
    if p == old:
        return s
    strayed = p.elr - members(p) != NOBODY and not p.elr - members(p) <= old.elr - members(old)
    noted = replace(s, strays=cause) if strayed else s
    after: Kafka = decided(noted, p)  # type: ignore[assignment]
    if p.leader is None or p.leader == old.leader or p.leader in s.complete:
        return after
    if p.recovering and p.leader not in old.isr | old.elr:
        return replace(after, complete=NOBODY | {p.leader})
    return after


def told(s: Kafka, wish: Replicas, original: Replicas, outcome: Built, cause: Cause) -> Kafka:
    """A request of the administrator, answered; refused with UNKNOWN_SERVER_ERROR if the controller throws."""
    counted = replace(s, asked=s.asked + 1)
    if outcome.throws:
        return counted
    return written(replace(counted, wanted=wish, original=original), outcome.partition, cause)


def reassigned(s: Kafka, c: Config, target: Replicas) -> Kafka:
    """AlterPartitionReassignments with a target: the list is the target, then what is to be removed."""
    p = s.partition
    original = s.original if reassigning(p) else p.replicas
    change = asked(p, target, switches(c.release, c.features))
    return told(s, target, original, changed(s, c, change, NOBODY), Cause.COMPLETION)


@action(who="admin", tags=["start"])
def start(s: Kafka, c: Config, target: Brokers) -> Kafka:
    """A target is asked for while nothing goes on."""
    require(not reassigning(s.partition) and s.asked < c.admin_requests)
    require(target != NOBODY and target != members(s.partition))
    return reassigned(s, c, tuple(sorted(target)))


@action(who="admin", tags=["retarget"])
def retarget(s: Kafka, c: Config, target: Brokers) -> Kafka:
    """The same while a reassignment goes on: intermediate replicas stay, as brokers to be removed."""
    require(reassigning(s.partition) and s.asked < c.admin_requests)
    require(target != NOBODY and target != target_of(s.partition))
    return reassigned(s, c, tuple(sorted(target)))


@action(who="admin", tags=["cancel"])
def cancel(s: Kafka, c: Config) -> Kafka:
    """Goes back to what is left without `adding`; refused only if none of these replicas is in sync."""
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    if reverted(p).unclean and not s.unclean:
        return replace(s, asked=s.asked + 1)
    return told(s, s.original, s.original, changed(s, c, cancelled(p, mode(s)), NOBODY), Cause.CANCELLATION)


@action(who="leader")
def commit(s: Kafka) -> Kafka:
    """As the original, but a partition of fewer replicas than MinISR commits with all of them."""
    require(len(s.leader_isr) >= min(s.min_isr, len(s.partition.replicas)))
    return committed(s, s.leader_isr | s.proposed)  # type: ignore[return-value]


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Kafka, c: Config, request: AlterPartition) -> Kafka:
    """AlterPartition: validated, then the ISR is written, with completion, ELR and election as in any change."""
    return altered(s, c, request, request.broker_epochs[request.source] == s.broker_epochs[request.source])


def altered(s: Kafka, c: Config, request: AlterPartition, known_sender: bool) -> Kafka:
    """The outcome of an AlterPartition request. known_sender: as of `validated`."""
    p = s.partition
    handled = replace(s, requests=s.requests - {request})
    living = frozenset(b for b in active(s) if request.broker_epochs[b] == s.broker_epochs[b])
    error = validated(
        p,
        request.source,
        known_sender,
        request.leader_epoch,
        request.partition_epoch,
        request.isr,
        False,
        living,
        True,
    )
    if error != Error.NONE:
        return handled
    outcome = changed(s, c, replace(unchanged(p, mode(s)), isr=request.isr, recovering=False), NOBODY)
    return written(handled, outcome.partition, Cause.COMPLETION)


@action(who="controller")
def fence(s: Kafka, c: Config, broker: Broker) -> Kafka:
    """`handleBrokerFenced`: the broker leaves the ISRs that it is in."""
    require(broker in s.unfenced and s.disturbed < c.disturbances)
    return left(s, replace(s, unfenced=s.unfenced - {broker}, disturbed=s.disturbed + 1), c, broker)


def left(s: Kafka, gone: Kafka, c: Config, broker: Broker) -> Kafka:
    """`broker`, which is active no longer in `gone`, leaves the ISR; `s` if the controller throws."""
    p = s.partition
    if broker not in p.isr:
        return gone
    outcome = changed(gone, c, replace(unchanged(p, mode(s)), isr=p.isr - {broker}), NOBODY)
    return s if outcome.throws else written(gone, outcome.partition, Cause.COMPLETION)


@action(who="controller", fair="weak", fair_each=("broker",))
def unfence(s: Kafka, c: Config, broker: Broker) -> Kafka:
    """`handleBrokerUnfenced`: in the same step, a partition without a leader has an election."""
    require(broker not in s.unfenced)
    back = replace(s, unfenced=s.unfenced | {broker})
    if s.partition.leader is not None:
        return back
    outcome = changed(back, c, unchanged(s.partition, mode(s)), NOBODY)
    return s if outcome.throws else written(back, outcome.partition, Cause.COMPLETION)


@action(who="controller")
def shut_down_uncleanly(s: Kafka, c: Config, broker: Broker) -> Kafka:
    """`handleBrokerShutdown`, unclean: a new incarnation, without its log, leaves ISR and ELR."""
    require(s.disturbed < c.disturbances and sum(s.broker_epochs[b] for b in every(Broker, c)) < c.shutdowns)
    return registered_without_log(s, c, broker)


def registered_without_log(s: Kafka, c: Config, broker: Broker) -> Kafka:
    """A new incarnation that does not prove a clean shutdown is registered, fenced."""
    p = s.partition
    down = replace(
        s,
        unfenced=s.unfenced - {broker},
        shutting_down=s.shutting_down - {broker},
        broker_epochs=s.broker_epochs.put(broker, s.broker_epochs[broker] + 1),
        complete=s.complete - {broker},
        disturbed=s.disturbed + 1,
    )
    overlooked = c.release == Release.V3_9 and not c.features.notices_restarts
    if overlooked or broker not in p.isr | p.elr:
        return down
    outcome = changed(down, c, replace(unchanged(p, mode(s)), isr=p.isr - {broker}), NOBODY | {broker})
    return s if outcome.throws else written(down, outcome.partition, Cause.COMPLETION)


@action(who="controller", fair="weak")
def elect_unclean(s: Kafka, c: Config, broker: Broker) -> Kafka:
    """`maybeElectUncleanLeaders`: where it is configured, the first replica that is alive."""
    require(s.unclean and s.partition.leader is None)
    after = changed(s, c, unchanged(s.partition, Election.UNCLEAN), NOBODY).partition
    require(after.leader == broker)
    return written(s, after, Cause.COMPLETION)


@action(who="controller")
def elect_preferred(s: Kafka, c: Config) -> Kafka:
    """`maybeBalancePartitionLeaders`, and ElectLeaders: the first of the list leads if it can."""
    p = s.partition
    require(c.balancing and p.leader is not None and p.leader != p.replicas[0])
    after = changed(s, c, unchanged(p, Election.PREFERRED), NOBODY).partition
    require(after != p)
    return written(s, after, Cause.COMPLETION)


# -- what is known to fail, by its cause --------------------------------------------------------------------


def leads_whole(s: Kafka) -> bool:
    leader = s.partition.leader
    return s.unclean or leader is None or leader in s.complete


@invariant(when=lambda c: c.unclean != state.Unclean.ON)
def nothing_lost_by_a_cancellation(s: Kafka) -> bool:
    """K12. Otherwise a broker that a cancellation dropped stays eligible, is added again, and leads while empty."""
    return s.strays != Cause.CANCELLATION or leads_whole(s)


@invariant(when=lambda c: c.unclean != state.Unclean.ON)
def nothing_lost_by_a_completion(s: Kafka) -> bool:
    """K12. Otherwise a broker that a completion removed stays eligible, is added again, and leads while empty."""
    return s.strays != Cause.COMPLETION or leads_whole(s)


@invariant(when=lambda c: c.unclean != state.Unclean.ON)
def nothing_lost_otherwise(s: Kafka) -> bool:
    """K12. Otherwise a clean election loses acknowledged records, though every eligible broker always was a replica."""
    return s.strays != Cause.NOTHING or leads_whole(s)


@step_property(when=lambda c: c.unclean != state.Unclean.ON)
def unclean_only_where_allowed(before: Kafka, after: Kafka) -> bool:
    """K12. Otherwise a leader that may lack records is elected on a topic that forbids it."""
    b, a = before.partition, after.partition
    return before.unclean or a.leader is None or a.leader == b.leader or not a.recovering or b.recovering


@step_property(on=(fence, unfence, shut_down_uncleanly))
def broker_events_are_carried_out(before: Kafka, after: Kafka, broker: Broker) -> bool:
    """Otherwise the active controller throws, resigns, and so does the next one: the broker cannot register."""
    return after.unfenced != before.unfenced or after.broker_epochs != before.broker_epochs


@step_property(on=cancel, when=lambda c: c.unclean != state.Unclean.ON)
def cancelling_keeps_min_isr(before: Kafka, after: Kafka) -> bool:
    """K7. Otherwise giving up a reassignment stops acks=all producers, although enough replicas were in sync.

    MinISR is limited to the number of replicas that are left, since the administrator asked for that number.
    """
    b, a = before.partition, after.partition
    return before.unclean or len(b.isr) < before.min_isr or len(a.isr) >= min(before.min_isr, len(a.replicas))


@step_property(on=retarget)
def rolling_back_ends(before: Kafka, after: Kafka) -> bool:
    """K11. Otherwise a reassignment whose target is in sync, with a leader, is pending until somebody cancels it.

    After a request for the originals, which adds no replica, those that were being added are adding and removing.
    """
    b, a = before.partition, after.partition
    return a == b or not reassigning(a) or b.leader is None or not target_of(a) <= a.isr


# -- what must be possible ----------------------------------------------------------------------------------


@cover(when=lambda c: c.elr)
def elr_election(before: Kafka, after: Kafka) -> bool:
    """A leader is elected from the ELR."""
    b, a = before.partition, after.partition
    return b.leader is None and a.leader is not None and a.leader in b.elr


@cover(when=lambda c: c.unclean != state.Unclean.OFF)
def unclean_election(before: Kafka, after: Kafka) -> bool:
    b, a = before.partition, after.partition
    return a.leader is not None and a.leader != b.leader and a.leader not in b.isr | b.elr


@cover(when=lambda c: c.unclean != state.Unclean.OFF)
def records_lost(before: Kafka, after: Kafka) -> bool:
    """K12: a leader from an unclean election lacks a committed record, which the field `complete` shows."""
    a = after.partition
    return a.leader is not None and a.leader != before.partition.leader and a.leader not in before.complete


@cover(on=retarget)
def target_changed(before: Kafka, after: Kafka) -> bool:
    """Another target is taken over; what was being added for the old one stays, against K14."""
    return reassigning(after.partition) and target_of(after.partition) != target_of(before.partition)


@cover(when=lambda c: c.min_isr > 1 and c.admin_requests > 0)
def target_below_min_isr_completes(before: Kafka, after: Kafka, c: Config) -> bool:
    """K11: a target below MinISR completes, since Kafka does not have the rule K2."""
    return ended(before.partition, after.partition) and len(members(after.partition)) < before.min_isr


@cover(when=lambda c: c.balancing)
def preferred_leader_is_an_added_one(before: Kafka, after: Kafka) -> bool:
    """KAFKA-14808: a replica that is still being added leads, and may be dropped again."""
    b, a = before.partition, after.partition
    return a.leader is not None and a.leader != b.leader and a.leader in b.adding & a.adding


MODEL = (
    kraft.MODEL.without(
        "elect_from_elr",
        "elr_election",
        "unclean_election",
        "records_lost",
        "target_below_min_isr_waits_for_ever",
        "pending_takes_the_isr_as_proposed",
        "growth_keeps_who_is_eligible",
        "cancel_elects_from_the_isr",
    )
    .replacing(
        start,
        retarget,
        cancel,
        commit,
        alter_partition,
        fence,
        unfence,
        shut_down_uncleanly,
        elect_unclean,
        target_changed,
        state=Kafka,
        config=Config,
    )
    .adding(
        elect_preferred,
        nothing_lost_by_a_cancellation,
        nothing_lost_by_a_completion,
        nothing_lost_otherwise,
        unclean_only_where_allowed,
        broker_events_are_carried_out,
        cancelling_keeps_min_isr,
        rolling_back_ends,
        elr_election,
        unclean_election,
        records_lost,
        target_below_min_isr_completes,
        preferred_leader_is_an_added_one,
    )
)
