"""KRaft partition reassignment by the rules of Kafka's controller (trunk 1eb7644349cb), with the claims of `kraft`.

The rules are `kafka_rules`, which are tested against Kafka's own classes. Every change runs the completion check, then
recomputes the ELR, then elects; elections take the first valid replica in list order, so nothing is left open.
What falls here and not in `kraft` is where the code differs from the description.

Left out, besides what `kraft` leaves out: preferred election; metadata versions before 4.0; a restart that loses
nothing.
"""

from reassure import action, cover, every, replace, require
from reassure.models.kraft import kraft
from reassure.models.kraft.kafka_answers import controller_answer as controller_answer
from reassure.models.kraft.kafka_controller import (
    Change,
    Election,
    Error,
    Switches,
    asked,
    built,
    cancelled,
    effective_min_isr,
    reverted,
    unchanged,
    validated,
)
from reassure.models.kraft.protocol import decided
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, members, reassigning, target_of

PRODUCTION = Switches(elr=True, recovery=True, bump_on_shrink=False, last_known=True)


def mode(s: Cluster) -> Election:
    """What a change elects with, where the topic's configuration counts (KAFKA 4.7)."""
    return Election.UNCLEAN if s.unclean else Election.ONLINE


def changed(s: Cluster, c: Config, change: Change, lost: Brokers) -> Partition:
    """The partition after a change, brokers being as they are."""
    p = s.partition
    return built(p, change, s.unfenced, lost, effective_min_isr(c.min_isr, len(p.replicas)), PRODUCTION)


def written(s: Cluster, p: Partition) -> Cluster:
    """The record is written; an election that Kafka itself calls unclean may lose what the new leader lacks."""
    old = s.partition
    if p == old:
        return s
    after = decided(s, p)
    if p.leader is None or p.leader == old.leader or p.leader in s.complete:
        return after
    if p.recovering and p.leader not in old.isr | old.elr:
        return replace(after, complete=NOBODY | {p.leader})
    return after


@action(who="admin", tags=["start"])
def start(s: Cluster, c: Config, target: Brokers) -> Cluster:
    """AlterPartitionReassignments (KAFKA 1): the list is the target, then what is to be removed."""
    p = s.partition
    require(not reassigning(p) and s.asked < c.admin_requests)
    require(target != NOBODY and target != members(p))
    listed = tuple(sorted(target))
    told = replace(s, asked=s.asked + 1, original=p.replicas, wanted=listed)
    return written(told, changed(s, c, asked(p, listed), NOBODY))


@action(who="admin", tags=["retarget"])
def retarget(s: Cluster, c: Config, target: Brokers) -> Cluster:
    """The same while a reassignment goes on: intermediate replicas stay, as brokers to be removed (KAFKA 1.7)."""
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    require(target != NOBODY and target != target_of(p))
    listed = tuple(sorted(target))
    return written(replace(s, asked=s.asked + 1, wanted=listed), changed(s, c, asked(p, listed), NOBODY))


@action(who="admin", tags=["cancel"])
def cancel(s: Cluster, c: Config) -> Cluster:
    """Goes back to what is left without `adding`; refused only if nobody of that is in sync (KAFKA 6.5 to 6.8, D3)."""
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    answered = replace(s, asked=s.asked + 1)
    if reverted(p).unclean and not s.unclean:
        return answered
    return written(replace(answered, wanted=s.original), changed(s, c, cancelled(p, mode(s)), NOBODY))


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition) -> Cluster:
    """AlterPartition (KAFKA 6.1): validated, then the ISR as proposed, and whatever else a change brings."""
    p = s.partition
    handled = replace(s, requests=s.requests - {request})
    living = frozenset(b for b in s.unfenced if request.broker_epochs[b] == s.broker_epochs[b])
    error = validated(
        p,
        request.source,
        request.broker_epochs[request.source] == s.broker_epochs[request.source],
        request.leader_epoch,
        request.partition_epoch,
        request.isr,
        False,
        living,
        True,
    )
    if error != Error.NONE:
        return handled
    wanted = replace(unchanged(p, mode(s)), isr=request.isr, recovering=False)
    return written(handled, changed(s, c, wanted, NOBODY))


@action(who="controller")
def fence(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """`handleBrokerFenced`: the broker leaves the ISRs that it is in."""
    require(broker in s.unfenced and s.disturbed < c.disturbances)
    fenced = replace(s, unfenced=s.unfenced - {broker}, disturbed=s.disturbed + 1)
    if broker not in s.partition.isr:
        return fenced
    wanted = replace(unchanged(s.partition, mode(s)), isr=s.partition.isr - {broker})
    return written(fenced, changed(fenced, c, wanted, NOBODY))


@action(who="controller")
def elect_from_elr(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """`handleBrokerUnfenced`: a leaderless partition gets an ISR or ELR member, or its last known leader."""
    require(s.partition.leader is None)
    after = changed(s, c, unchanged(s.partition, Election.ONLINE), NOBODY)
    require(after.leader == broker)
    return written(s, after)


@action(who="controller", fair="weak")
def elect_unclean(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """`maybeElectUncleanLeaders`: where it is configured, the first replica that is alive (KAFKA 4.5)."""
    require(s.unclean and s.partition.leader is None)
    require(changed(s, c, unchanged(s.partition, Election.ONLINE), NOBODY).leader is None)
    after = changed(s, c, unchanged(s.partition, Election.UNCLEAN), NOBODY)
    require(after.leader == broker)
    return written(s, after)


@action(who="controller")
def shut_down_uncleanly(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """`handleUncleanBrokerShutdown`: a new incarnation, without its log, leaves ISR and ELR (KAFKA 6.4)."""
    p = s.partition
    require(s.disturbed < c.disturbances and sum(s.broker_epochs[b] for b in every(Broker, c)) < c.shutdowns)
    down = replace(
        s,
        unfenced=s.unfenced - {broker},
        broker_epochs=s.broker_epochs.put(broker, s.broker_epochs[broker] + 1),
        complete=s.complete - {broker},
        disturbed=s.disturbed + 1,
    )
    if broker not in p.isr | p.elr:
        return down
    wanted = replace(unchanged(p, mode(s)), isr=p.isr - {broker})
    return written(down, changed(down, c, wanted, NOBODY | {broker}))


@cover(on=retarget)
def target_changed(before: Cluster, after: Cluster) -> bool:
    """Another target is taken over; what was being added for the old one stays, against K14."""
    return reassigning(after.partition) and target_of(after.partition) != target_of(before.partition)


@cover(on=alter_partition)
def target_below_min_isr_completes(before: Cluster, after: Cluster, c: Config) -> bool:
    """K11's counter-question has another answer here: without K2 a target below MinISR does complete (D1)."""
    p = before.partition
    return reassigning(p) and not reassigning(after.partition) and len(target_of(p)) < c.min_isr


MODEL = (
    kraft.MODEL.replacing(
        start,
        retarget,
        cancel,
        alter_partition,
        fence,
        shut_down_uncleanly,
        elect_from_elr,
        elect_unclean,
        target_changed,
    )
    .without("target_below_min_isr_waits_for_ever")
    .adding(target_below_min_isr_completes)
)
