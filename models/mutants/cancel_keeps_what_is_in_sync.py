"""Flaw: a cancellation keeps what was added and is in sync already, rather than throw a good copy away."""

from reassure import action, replace, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import decided
from reassure.models.kraft.rules import elr_after, may_lead, recorded
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, members, reassigning, without


@action(who="admin", tags=["cancel"])
def cancel(s: Cluster, c: Config, successor: Broker | None) -> Cluster:
    """As the original without unclean election, but for what it drops."""
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    asked = replace(s, asked=s.asked + 1)
    if len(p.isr - p.adding) < s.min_isr:
        require(successor == p.leader)
        return asked
    dropped = p.adding - p.isr
    require(may_lead(p, p.isr, s.unfenced, successor))
    reverted = replace(
        p,
        replicas=without(p.replicas, dropped),
        elr=elr_after(p, p.isr, members(p) - dropped, s.min_isr),
        adding=NOBODY,
        removing=NOBODY,
        leader=successor,
    )
    return decided(replace(asked, wanted=s.original), recorded(p, reverted, new_reign=True))


MODEL = kraft.MODEL.replacing(cancel)
BREAKS = {
    "cancel_restores_what_was_before": 10,
    "leads_where_it_was_asked_to": 10,
    "completion_is_of_the_target_asked_for": 10,
    "cancel_restores_the_originals": 10,
    "moves_end_as_wanted": 10,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
