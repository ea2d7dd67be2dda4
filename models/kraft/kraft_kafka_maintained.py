"""`kraft_kafka_operated` with operators who cordon and unregister brokers, and replicas that change their directory.

`cordon` and `uncordon` are the heartbeats of a broker whose log directories have all been cordoned, or not all any
more (KIP-1066). `unregister` is UnregisterBroker, after which `register_again` is the registration of the same broker
without its log. `assign_directory` is AssignReplicasToDirs: a broker has the replica in another log directory.

A limit of 0 turns an action off; all are off until set. Left out: log directories that fail, or that are cordoned
while another one of the broker is not, which no request of the administrator depends on.
"""

from dataclasses import dataclass
from typing import Annotated

from reassure import Range, action, cover, every, replace, require, step_property, terminal
from reassure.models.kraft import kraft_kafka, kraft_kafka_operated, protocol
from reassure.models.kraft.kafka_answers import controller_answer as controller_answer
from reassure.models.kraft.kafka_controller import (
    Election,
    Release,
    asked,
    built,
    refused,
    switches,
    switches_of_assignment,
    unchanged,
)
from reassure.models.kraft.kraft_kafka import (
    Cause,
    MetadataVersion,
    active,
    changed,
    registered_without_log,
    written,
)
from reassure.models.kraft.kraft_kafka_operated import Operated
from reassure.models.kraft.state import AlterPartition
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, members, reassigning


@dataclass(frozen=True)
class Config(kraft_kafka_operated.Config):
    restarts: Annotated[int, Range(0, 3)] = 0
    """As in `kraft_kafka_operated`."""
    controlled_shutdowns: Annotated[int, Range(0, 3)] = 0
    """As in `kraft_kafka_operated`."""
    cordonings: Annotated[int, Range(0, 3)] = 0
    """Times that a broker's log directories are all cordoned; releases before 4.3 cannot."""
    unregistrations: Annotated[int, Range(0, 3)] = 0
    """Times that an administrator unregisters a broker."""
    directory_moves: Annotated[int, Range(0, 3)] = 0
    """Times that a broker assigns the replica to another log directory."""

    @property
    def max_epoch(self) -> int:
        return super().max_epoch + 3 * self.unregistrations + 2 * self.directory_moves

    @property
    def max_broker_epoch(self) -> int:
        return super().max_broker_epoch + self.unregistrations


@dataclass(frozen=True)
class Maintained(Operated):
    cordoned: Brokers = NOBODY
    """Brokers whose log directories are all cordoned."""
    cordonings: Annotated[int, Range(0, "cordonings")] = 0
    """Times that a broker has been cordoned."""
    unregistered: Brokers = NOBODY
    """Brokers that are not registered; they count as fenced."""
    unregistrations: Annotated[int, Range(0, "unregistrations")] = 0
    """Unregistrations that there have been."""
    directory_moves: Annotated[int, Range(0, "directory_moves")] = 0
    """Assignments of directories that there have been."""


# -- requests ------------------------------------------------------------------------------------------------


@action(who="admin", tags=["start"])
def start(s: Maintained, c: Config, target: Brokers) -> Maintained:
    """As the original; refused if the target has a broker that is not registered or, in 4.4, cordoned."""
    accepted = kraft_kafka.start(s, c, target)
    if target & refused(c.release, s.unregistered, s.cordoned) != NOBODY:
        return replace(s, asked=s.asked + 1)
    return accepted  # type: ignore[no-any-return]


@action(who="admin", tags=["retarget"])
def retarget(s: Maintained, c: Config, target: Brokers) -> Maintained:
    """As the original; refused as in `start`."""
    accepted = kraft_kafka.retarget(s, c, target)
    if target & refused(c.release, s.unregistered, s.cordoned) != NOBODY:
        return replace(s, asked=s.asked + 1)
    return accepted  # type: ignore[no-any-return]


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Maintained, c: Config, request: AlterPartition) -> Maintained:
    """As the original; refused if the sender is not registered."""
    same_incarnation = request.broker_epochs[request.source] == s.broker_epochs[request.source]
    known_sender = same_incarnation and request.source not in s.unregistered
    return kraft_kafka.altered(s, c, request, known_sender)  # type: ignore[return-value]


# -- brokers --------------------------------------------------------------------------------------------------


@action(who="controller", fair="weak", fair_each=("broker",))
def unfence(s: Maintained, c: Config, broker: Broker) -> Maintained:
    """As the original, but a broker that was unregistered registers first."""
    require(broker not in s.unregistered)
    return kraft_kafka_operated.unfence(s, c, broker)  # type: ignore[no-any-return]


@action(who="controller")
def restart_cleanly(s: Maintained, c: Config, broker: Broker) -> Maintained:
    """As the original, but not for a broker that was unregistered; a registration names no cordoned directory."""
    require(broker not in s.unregistered)
    uncordoned = replace(s, cordoned=s.cordoned - {broker})
    after = kraft_kafka_operated.restart_cleanly(uncordoned, c, broker)
    return s if after == uncordoned else after


@action(who="controller")
def shut_down_uncleanly(s: Maintained, c: Config, broker: Broker) -> Maintained:
    """As the original; clean restarts, and registrations after an unregistration, are counted apart."""
    restarts = sum(s.broker_epochs[b] for b in every(Broker, c))
    others = s.restarted + s.unregistrations - len(s.unregistered)
    require(broker not in s.unregistered and s.disturbed < c.disturbances and restarts < c.shutdowns + others)
    uncordoned = replace(s, cordoned=s.cordoned - {broker})
    after = registered_without_log(uncordoned, c, broker)
    return s if after == uncordoned else after  # type: ignore[return-value]


@action(who="admin")
def unregister(s: Maintained, c: Config, broker: Broker) -> Maintained:
    """UnregisterBroker: the broker leaves the ISR, and stays eligible."""
    require(broker not in s.unregistered and s.unregistrations < c.unregistrations)
    gone = replace(
        s,
        unfenced=s.unfenced - {broker},
        shutting_down=s.shutting_down - {broker},
        cordoned=s.cordoned - {broker},
        unregistered=s.unregistered | {broker},
        unregistrations=s.unregistrations + 1,
    )
    if broker not in s.partition.isr | s.partition.elr:
        return gone
    change = replace(unchanged(s.partition, kraft_kafka.mode(s)), isr=s.partition.isr - {broker})
    outcome = changed(gone, c, change, NOBODY)
    return s if outcome.throws else written(gone, outcome.partition, Cause.COMPLETION)  # type: ignore[return-value]


@action(who="controller")
def register_again(s: Maintained, c: Config, broker: Broker) -> Maintained:
    """The registration of a broker that was unregistered: without its log, and never taken for a clean restart."""
    require(broker in s.unregistered)
    known = replace(s, unregistered=s.unregistered - {broker})
    after = registered_without_log(known, c, broker)
    return s if after == known else replace(after, disturbed=s.disturbed)  # type: ignore[return-value]


@action(who="controller")
def cordon(s: Maintained, c: Config, broker: Broker) -> Maintained:
    """`handleDirectoriesCordoned`: all log directories of a broker are cordoned."""
    cordons = c.release == Release.V4_3 or c.release == Release.V4_4 or c.release == Release.FIXED
    require(cordons and c.metadata_version == MetadataVersion.NEWEST)
    require(broker not in s.cordoned | s.unregistered and s.cordonings < c.cordonings)
    return replace(s, cordoned=s.cordoned | {broker}, cordonings=s.cordonings + 1)


@action(who="controller")
def uncordon(s: Maintained, broker: Broker) -> Maintained:
    """`handleDirectoriesCordoned`: no log directory of a broker is cordoned any more."""
    require(broker in s.cordoned)
    return replace(s, cordoned=s.cordoned - {broker})


@action(who="controller")
def assign_directory(s: Maintained, c: Config, broker: Broker) -> Maintained:
    """`handleAssignReplicasToDirs`: a change of the partition, with an election; before 4.3 it empties the ELR."""
    p = s.partition
    require(broker in members(p) - s.unregistered and s.directory_moves < c.directory_moves)
    require(c.features.directories)
    rules = switches_of_assignment(switches(c.release, c.features))
    outcome = built(p, unchanged(p, Election.ONLINE), active(s), NOBODY, kraft_kafka.enough(s, c), rules)
    if outcome.throws:
        return s
    moved = replace(outcome.partition, partition_epoch=p.partition_epoch + 1)
    counted = replace(s, directory_moves=s.directory_moves + 1)
    return written(counted, moved, Cause.COMPLETION)  # type: ignore[return-value]


@terminal
def may_rest(s: Maintained) -> bool:
    """As the original; or a broker that was shut down or unregistered stays away."""
    return protocol.at_rest(s) or s.shutting_down | s.unregistered != NOBODY


# -- what must hold and what must be possible -----------------------------------------------------------------


@step_property(on=assign_directory, when=lambda c: c.directory_moves > 0)
def assigned_directory_leaves_who_may_lead(before: Maintained, after: Maintained) -> bool:
    """Otherwise a partition stays offline although a broker that holds everything committed returns."""
    b, a = before.partition, after.partition
    return b.isr | b.elr == NOBODY or a.isr | a.elr != NOBODY


@step_property(on=(start, retarget), when=lambda c: c.cordonings > 0)
def cordoning_is_for_new_replicas(before: Maintained, after: Maintained, c: Config, target: Brokers) -> bool:
    """KIP-1066. Otherwise a broker that is being emptied can be emptied only with the whole of its partition at once.

    A request that puts no new replica on a cordoned broker is carried out, unless the controller throws.
    """
    p = before.partition
    asks_for_new = not target & before.cordoned <= members(p) or target & before.unregistered != NOBODY
    change = asked(p, tuple(sorted(target)), switches(c.release, c.features))
    throws = changed(before, c, change, NOBODY).throws
    return asks_for_new or throws or frozenset(after.wanted) == target


@cover(on=register_again, when=lambda c: c.unregistrations > 0)
def registered_again_while_moving(before: Maintained, after: Maintained) -> bool:
    return reassigning(after.partition) and after.partition != before.partition


@cover(on=assign_directory, when=lambda c: c.directory_moves > 0)
def directory_assigned_while_moving(before: Maintained, after: Maintained) -> bool:
    return reassigning(before.partition)


MODEL = kraft_kafka_operated.MODEL.replacing(
    start,
    retarget,
    alter_partition,
    unfence,
    restart_cleanly,
    shut_down_uncleanly,
    may_rest,
    state=Maintained,
    config=Config,
).adding(
    unregister,
    register_again,
    cordon,
    uncordon,
    assign_directory,
    assigned_directory_leaves_who_may_lead,
    cordoning_is_for_new_replicas,
    registered_again_while_moving,
    directory_assigned_while_moving,
)
