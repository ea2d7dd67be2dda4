"""The other reading of K14: replicas that are no longer wanted are dropped, even if the ISR falls below MinISR."""

from reassure import action, replace, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import decided
from reassure.models.kraft.rules import completed, completes, elr_after, may_lead, recorded, retargeted
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, members, reassigning, target_of


@action(who="admin", tags=["retarget"])
def retarget(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """As the original, without the error."""
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    require(target != NOBODY and target != target_of(p) and target != members(p) - p.adding)
    asked = replace(s, asked=s.asked + 1, wanted=tuple(sorted(target)))
    changed = retargeted(p, target)
    isr = p.isr & members(changed)
    if completes(changed, isr, s.min_isr):
        require(may_lead(p, isr - changed.removing, s.unfenced, successor))
        return decided(asked, recorded(p, completed(changed, isr, successor), new_reign=True))
    require(may_lead(p, isr, s.unfenced, successor))
    elr = elr_after(p, isr, members(changed), s.min_isr)
    reign = members(p) - members(changed) != NOBODY
    return decided(asked, recorded(p, replace(changed, isr=isr, elr=elr, leader=successor), new_reign=reign))


MODEL = kraft.MODEL.replacing(retarget)
BREAKS = {
    "reassignment_keeps_min_isr": 6,
    "leader_has_a_successor": 7,
    "own_steps_keep_min_isr": 6,
    "own_steps_keep_a_leader": 7,
    "own_steps_keep_an_in_sync_copy": 7,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
