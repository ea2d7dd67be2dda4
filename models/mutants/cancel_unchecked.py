"""Flaw: a cancellation is carried out however few of the originals are in sync."""

from reassure import action, replace, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import decided
from reassure.models.kraft.rules import elr_after, may_lead, recorded
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, members, reassigning, without


@action(who="admin", tags=["cancel"])
def cancel(s: Cluster, c: Config, successor: Broker | None) -> Cluster:
    """As the original on a topic with unclean election, but with a leader from the ISR only."""
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    isr = p.isr - p.adding
    originals = members(p) - p.adding
    require(may_lead(p, isr, s.unfenced, successor))
    reverted = replace(
        p,
        replicas=without(p.replicas, p.adding),
        isr=isr,
        elr=elr_after(p, isr, originals, s.min_isr),
        adding=NOBODY,
        removing=NOBODY,
        leader=successor,
    )
    return decided(replace(s, asked=s.asked + 1, wanted=s.original), recorded(p, reverted, new_reign=True))


MODEL = kraft.MODEL.replacing(cancel)
BREAKS = {
    "reassignment_keeps_min_isr": 6,
    "leader_has_a_successor": 7,
    "cancel_below_min_isr_is_refused": 3,
    "own_steps_keep_min_isr": 6,
    "own_steps_keep_a_leader": 7,
    "own_steps_keep_an_in_sync_copy": 7,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
