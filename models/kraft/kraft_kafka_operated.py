"""`kraft_kafka` with operators who stop and restart brokers and change the topic's configuration (K18).

`shut_down_in_control` is the heartbeat with which a broker asks for a controlled shutdown, `fence` of such a broker the
end of it; it comes back by a registration. `restart_cleanly` is a registration that proves a clean shutdown, which
releases from 4.0 on tell from an unclean one. `change_min_isr` is IncrementalAlterConfigs of min.insync.replicas, with
which releases from 4.0 on forget every eligible leader replica of the topic; `change_unclean` that of
unclean.leader.election.enable, after which the controller's own elections of unclean leaders begin or end.

A limit of 0 turns an action off. Left out: that a broker is told to stop only once it leads nothing; configurations of
the cluster, which change every topic alike.
"""

from dataclasses import dataclass
from typing import Annotated

from reassure import Range, action, cover, every, replace, require, step_property, terminal
from reassure.models.kraft import kraft_kafka, protocol
from reassure.models.kraft.kafka_answers import controller_answer as controller_answer
from reassure.models.kraft.kafka_controller import Release, switches, without_elr
from reassure.models.kraft.kraft_kafka import Kafka, active, left, registered_without_log
from reassure.spec.kafka.partition import NOBODY, Broker, reassigning


@dataclass(frozen=True)
class Config(kraft_kafka.Config):
    disturbances: Annotated[int, Range(0, 6)] = 0
    """As in `kraft`."""
    shutdowns: Annotated[int, Range(0, 6)] = 0
    """As in `kraft`."""
    restarts: Annotated[int, Range(0, 3)] = 1
    """Times that a broker registers anew after a clean shutdown; releases before 4.0 take it for an unclean one."""
    controlled_shutdowns: Annotated[int, Range(0, 3)] = 1
    """Controlled shutdowns."""
    min_isr_changes: Annotated[int, Range(0, 3)] = 0
    """Changes of min.insync.replicas, to anything from 1 to the larger of `min_isr` and `replication_factor`."""
    unclean_changes: Annotated[int, Range(0, 3)] = 0
    """Changes of unclean.leader.election.enable."""

    @property
    def max_epoch(self) -> int:
        return super().max_epoch + 3 * (self.restarts + self.controlled_shutdowns) + 2 * self.min_isr_changes

    @property
    def max_broker_epoch(self) -> int:
        return self.shutdowns + self.restarts

    @property
    def least_min_isr(self) -> int:
        return 1 if self.min_isr_changes > 0 else self.min_isr

    @property
    def most_min_isr(self) -> int:
        return max(self.min_isr, self.replication_factor) if self.min_isr_changes > 0 else self.min_isr


@dataclass(frozen=True)
class Operated(Kafka):
    restarted: Annotated[int, Range(0, "restarts")] = 0
    """Clean restarts that there have been."""
    shut_down: Annotated[int, Range(0, "controlled_shutdowns")] = 0
    """Controlled shutdowns that there have been."""
    min_isr_changed: Annotated[int, Range(0, "min_isr_changes")] = 0
    """Changes of min.insync.replicas that there have been."""
    unclean_changed: Annotated[int, Range(0, "unclean_changes")] = 0
    """Changes of unclean.leader.election.enable that there have been."""


# -- brokers -------------------------------------------------------------------------------------------------


@action(who="controller")
def shut_down_in_control(s: Operated, c: Config, broker: Broker) -> Operated:
    """`handleBrokerInControlledShutdown`: the broker leaves the ISRs that it is in, and its leaderships move."""
    require(broker in active(s) and s.shut_down < c.controlled_shutdowns)
    gone = replace(s, shutting_down=s.shutting_down | {broker}, shut_down=s.shut_down + 1)
    return left(s, gone, c, broker)  # type: ignore[return-value]


@action(who="controller")
def fence(s: Operated, c: Config, broker: Broker) -> Operated:
    """As the original; the end of a controlled shutdown is not a disturbance."""
    require(broker in s.unfenced and (broker in s.shutting_down or s.disturbed < c.disturbances))
    disturbed = s.disturbed if broker in s.shutting_down else s.disturbed + 1
    gone = replace(s, unfenced=s.unfenced - {broker}, disturbed=disturbed)
    return left(s, gone, c, broker)  # type: ignore[return-value]


@action(who="controller", fair="weak", fair_each=("broker",))
def unfence(s: Operated, c: Config, broker: Broker) -> Operated:
    """As the original, but a broker that was shut down registers first."""
    require(broker not in s.shutting_down)
    return kraft_kafka.unfence(s, c, broker)  # type: ignore[no-any-return]


@action(who="controller")
def restart_cleanly(s: Operated, c: Config, broker: Broker) -> Operated:
    """`handleBrokerShutdown`, clean: a new incarnation, with its log, leaves the ISR and stays eligible."""
    require(s.restarted < c.restarts and c.release != Release.V3_9)
    down = replace(
        s,
        unfenced=s.unfenced - {broker},
        shutting_down=s.shutting_down - {broker},
        broker_epochs=s.broker_epochs.put(broker, s.broker_epochs[broker] + 1),
        restarted=s.restarted + 1,
    )
    return left(s, down, c, broker)  # type: ignore[return-value]


@action(who="controller")
def shut_down_uncleanly(s: Operated, c: Config, broker: Broker) -> Operated:
    """As the original; clean restarts are counted apart."""
    restarts = sum(s.broker_epochs[b] for b in every(Broker, c))
    require(s.disturbed < c.disturbances and restarts < c.shutdowns + s.restarted)
    return registered_without_log(s, c, broker)  # type: ignore[return-value]


@action(who="leader", fair="strong", fair_each=("follower",))
def propose_expansion(s: Operated, c: Config, follower: Broker) -> Operated:
    """As the original, but not for a broker that is being shut down."""
    require(follower not in s.shutting_down)
    return protocol.propose_expansion(s, c, follower)  # type: ignore[no-any-return]


# -- configuration -------------------------------------------------------------------------------------------


@action(who="admin")
def change_min_isr(s: Operated, c: Config, value: Annotated[int, Range("least_min_isr", "most_min_isr")]) -> Operated:
    """A ConfigRecord, and from 4.0 on a ClearElrRecord, which is a change of each partition that has somebody eligible.

    No election and no completion goes with it.
    """
    require(value != s.min_isr and s.min_isr_changed < c.min_isr_changes)
    after = replace(s, min_isr=value, min_isr_changed=s.min_isr_changed + 1)
    if c.release == Release.V3_9:
        return after
    return replace(after, partition=without_elr(s.partition, switches(c.release, c.features)))


@action(who="admin")
def change_unclean(s: Operated, c: Config, allowed: bool) -> Operated:
    """unclean.leader.election.enable becomes `allowed`."""
    require(allowed != s.unclean and s.unclean_changed < c.unclean_changes)
    return replace(s, unclean=allowed, unclean_changed=s.unclean_changed + 1)


@terminal
def may_rest(s: Operated) -> bool:
    """As the original; or a broker that was shut down stays away."""
    return protocol.at_rest(s) or s.shutting_down != NOBODY


# -- what must hold and what must be possible ------------------------------------------------------------------


@step_property(on=change_min_isr)
def changed_min_isr_leaves_who_may_lead(before: Operated, after: Operated) -> bool:
    """K18. Otherwise a partition stays offline although a broker that holds everything committed returns."""
    b, a = before.partition, after.partition
    return b.isr | b.elr == NOBODY or a.isr | a.elr != NOBODY


@step_property(on=shut_down_in_control)
def controlled_shutdown_moves_the_leader(before: Operated, after: Operated, broker: Broker) -> bool:
    """Otherwise a broker that is stopped for maintenance takes a partition offline that another one could lead."""
    b, a = before.partition, after.partition
    return b.leader is None or (b.isr & active(before)) - {broker} == NOBODY or a.leader is not None


@cover(on=shut_down_in_control, when=lambda c: c.controlled_shutdowns > 0)
def shut_down_while_moving(before: Operated, after: Operated) -> bool:
    b, a = before.partition, after.partition
    return reassigning(b) and b.leader != a.leader


@cover(on=restart_cleanly, when=lambda c: c.restarts > 0 and c.release != Release.V3_9)
def restarted_and_still_eligible(before: Operated, after: Operated, broker: Broker) -> bool:
    return broker in before.partition.isr and broker in after.partition.elr


@cover(on=change_min_isr, when=lambda c: c.min_isr_changes > 0)
def reconfigured_while_moving(before: Operated, after: Operated) -> bool:
    return reassigning(before.partition)


MODEL = kraft_kafka.MODEL.replacing(
    fence, unfence, shut_down_uncleanly, propose_expansion, may_rest, state=Operated, config=Config
).adding(
    shut_down_in_control,
    restart_cleanly,
    change_min_isr,
    change_unclean,
    changed_min_isr_leaves_who_may_lead,
    controlled_shutdown_moves_the_leader,
    shut_down_while_moving,
    restarted_and_still_eligible,
    reconfigured_while_moving,
)
