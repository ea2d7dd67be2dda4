"""`kraft` where min.insync.replicas and unclean.leader.election.enable change during a reassignment (K18).

The document says what MinISR decides, but not what happens to eligible leader replicas when it changes. Three
readings: they stay eligible; they are all forgotten, as Kafka does from 4.0 on; or they are forgotten only where the
ISR reaches the new value.

Left out: a leader that hears late of a changed value. Metadata reach it in the order in which they were written, so
that whoever has heard of an ISR has heard of the MinISR before it.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import Range, action, cover, leads_to, replace, require, step_property
from reassure.models.kraft import kraft, state
from reassure.models.kraft.rules import completes, recorded
from reassure.models.kraft.state import Cluster
from reassure.spec.kafka.partition import NOBODY, Brokers, Partition, reassigning


class Eligible(Enum):
    """What happens to the ELR when min.insync.replicas changes."""

    KEPT = "kept"
    FORGOTTEN = "forgotten"
    TRIMMED = "trimmed"
    """Forgotten where the ISR reaches the new value."""


@dataclass(frozen=True)
class Config(state.Config):
    eligible: Eligible = Eligible.TRIMMED
    """What happens to eligible replicas when min.insync.replicas changes."""
    min_isr_changes: Annotated[int, Range(0, 3)] = 1
    """Changes of min.insync.replicas, to anything from 1 to the larger of `min_isr` and `replication_factor`."""
    unclean_changes: Annotated[int, Range(0, 3)] = 1
    """Changes of unclean.leader.election.enable."""

    @property
    def max_epoch(self) -> int:
        return super().max_epoch + self.min_isr_changes

    @property
    def least_min_isr(self) -> int:
        return 1 if self.min_isr_changes > 0 else self.min_isr

    @property
    def most_min_isr(self) -> int:
        return max(self.min_isr, self.replication_factor) if self.min_isr_changes > 0 else self.min_isr


@dataclass(frozen=True)
class Reconfigured(Cluster):
    min_isr_changed: Annotated[int, Range(0, "min_isr_changes")] = 0
    """Changes of min.insync.replicas that there have been."""
    unclean_changed: Annotated[int, Range(0, "unclean_changes")] = 0
    """Changes of unclean.leader.election.enable that there have been."""


def elr_kept(p: Partition, min_isr: int, eligible: Eligible) -> Brokers:
    """The ELR after MinISR has become `min_isr`."""
    if eligible == Eligible.FORGOTTEN or (eligible == Eligible.TRIMMED and len(p.isr) >= min_isr):
        return NOBODY
    return p.elr


@action(who="admin")
def change_min_isr(
    s: Reconfigured, c: Config, value: Annotated[int, Range("least_min_isr", "most_min_isr")]
) -> Reconfigured:
    """min.insync.replicas is raised or lowered, at any time."""
    require(value != s.min_isr and s.min_isr_changed < c.min_isr_changes)
    p = s.partition
    elr = elr_kept(p, value, c.eligible)
    after = p if elr == p.elr else recorded(p, replace(p, elr=elr), new_reign=False)
    return replace(s, partition=after, min_isr=value, min_isr_changed=s.min_isr_changed + 1)


@action(who="admin")
def change_unclean(s: Reconfigured, c: Config, allowed: bool) -> Reconfigured:
    """unclean.leader.election.enable becomes `allowed`."""
    require(allowed != s.unclean and s.unclean_changed < c.unclean_changes)
    return replace(s, unclean=allowed, unclean_changed=s.unclean_changed + 1)


@step_property(on=change_min_isr)
def changed_min_isr_leaves_who_may_lead(before: Reconfigured, after: Reconfigured) -> bool:
    """K18. Otherwise a partition stays offline although a broker that holds everything committed returns."""
    b, a = before.partition, after.partition
    return b.isr | b.elr == NOBODY or a.isr | a.elr != NOBODY


def reassignment_over(s: Reconfigured) -> bool:
    return not reassigning(s.partition)


@leads_to(reassignment_over)
def a_reassignment_that_may_complete_ends(s: Reconfigured) -> bool:
    """K18, K11. Otherwise MinISR is lowered to let a reassignment end, and it stays pending, never checked again."""
    return s.partition.leader is not None and completes(s.partition, s.partition.isr, s.min_isr)


@cover(on=(change_min_isr, change_unclean))
def reconfigured_while_moving(before: Reconfigured, after: Reconfigured) -> bool:
    return reassigning(before.partition)


@cover(on=change_min_isr, when=lambda c: c.disturbances > 0)
def min_isr_lowered_while_somebody_is_eligible(before: Reconfigured, after: Reconfigured) -> bool:
    return before.partition.elr != NOBODY and before.partition.isr != NOBODY and after.min_isr < before.min_isr


MODEL = kraft.MODEL.replacing(state=Reconfigured, config=Config).adding(
    change_min_isr,
    change_unclean,
    changed_min_isr_leaves_who_may_lead,
    a_reassignment_that_may_complete_ends,
    reconfigured_while_moving,
    min_isr_lowered_while_somebody_is_eligible,
)
