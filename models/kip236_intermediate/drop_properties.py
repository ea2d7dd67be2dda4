"""What is promised of dropping intermediate replicas (`drop_set`), and the situations that a run must reach."""

from reassure import Model, cover, invariant, leads_to, step_property
from reassure.models.kip236_intermediate import drop_set
from reassure.models.kip236_intermediate.drop_set import Cluster, Config, Stage, duties
from reassure.spec.kafka.partition import NOBODY
from reassure.spec.kafka.shared_properties import WITH_ZOOKEEPER


@step_property
def creation_needs_min_isr(before: Cluster, after: Cluster) -> bool:
    """I1. Otherwise `drop` starts from an assignment that is too small to keep producers going."""
    return before.moving or not after.moving or after.top >= before.min_isr


@invariant
def top_reaches_min_isr(s: Cluster) -> bool:
    """I1, I3: what the document assumes from creation on. Otherwise `top` replicas in sync are not enough."""
    return not s.moving or s.top >= s.min_isr


@step_property
def drop_is_due_at_each_change(before: Cluster, after: Cluster) -> bool:
    """I7. Otherwise the reassignment goes on with replicas that only an abandoned target wanted, also at its start."""
    begun = after.moving and (not before.moving or after.target != before.target)
    return not begun or after.stage == Stage.DUE


@step_property
def what_is_dropped_is_deleted(before: Cluster, after: Cluster) -> bool:
    """I9. Otherwise a broker that is not a replica any more keeps its log, and counts as one that has everything."""
    done = before.stage == Stage.DELETING and after.stage == Stage.IDLE
    return not done or after.whole & before.dropping == NOBODY


def goes_offline(before: Cluster, after: Cluster) -> bool:
    """What is dropped makes its first transition."""
    return before.stage != Stage.OFFLINE and after.stage == Stage.OFFLINE


def drop_is_computed(before: Cluster, after: Cluster) -> bool:
    """`drop` is computed anew, be it empty."""
    return (before.stage == Stage.DUE and after.stage != Stage.DUE) or after.dropping - before.dropping != NOBODY


@step_property
def drop_spares_the_leader(before: Cluster, after: Cluster) -> bool:
    """I2. Otherwise clients lose their leader because an administrator changed his mind."""
    return not goes_offline(before, after) or before.leader is None or after.leader == before.leader


@step_property
def drop_keeps_min_isr(before: Cluster, after: Cluster) -> bool:
    """I3. Otherwise acks=all producers are blocked because an administrator changed his mind."""
    if not goes_offline(before, after):
        return True
    return len(before.isr) < before.min_isr or len(after.isr) >= before.min_isr


@step_property
def drop_spares_what_is_wanted(before: Cluster, after: Cluster) -> bool:
    """I4. Otherwise what a wanted replica has copied is deleted, and copied again: the waste that was to be avoided."""
    return not drop_is_computed(before, after) or after.dropping & before.target == NOBODY


def intermediate_leads(s: Cluster) -> bool:
    """The leader is a replica that neither the original assignment nor the target has."""
    return s.leader is not None and s.leader not in s.original | s.target


@step_property
def intermediate_leader_takes_no_place(before: Cluster, after: Cluster) -> bool:
    """I8. Otherwise a replica that is wanted is dropped for one that is not, because that one leads."""
    if not drop_is_computed(before, after) or not intermediate_leads(before):
        return True
    return after.dropping & before.target == NOBODY


@step_property
def drop_spares_the_original(before: Cluster, after: Cluster) -> bool:
    """I5. Otherwise the reassignment can only go on forward: what it started from is there no more."""
    return not drop_is_computed(before, after) or after.dropping & before.original == NOBODY


@step_property
def nothing_intermediate_stays(before: Cluster, after: Cluster) -> bool:
    """I5. Otherwise a replica that neither assignment wants goes on copying."""
    return not drop_is_computed(before, after) or after.assigned - after.dropping <= before.original | before.target


def over(s: Cluster) -> bool:
    return not s.moving


@leads_to(over)
def reassignment_ends(s: Cluster) -> bool:
    """I2 and I3 together. Otherwise a change in flight takes the partition offline for good."""
    return s.moving


@cover(tags=["drop"], when=lambda c: c.brokers > c.replication_factor and c.admin_requests > 1)
def intermediate_dropped(before: Cluster, after: Cluster) -> bool:
    """I5: an intermediate replica is dropped."""
    return after.dropping - before.original - before.target != NOBODY


@cover(tags=["drop"], when=lambda c: c.brokers >= c.replication_factor + 2 and c.admin_requests > 1)
def several_dropped_at_once(before: Cluster, after: Cluster) -> bool:
    """I1, I9, of "those replicas": more than one is dropped."""
    return len(after.dropping) > 1


@cover(tags=["drop"], when=lambda c: c.brokers > c.replication_factor and c.admin_requests > 1 and c.disturbances > 0)
def dropped_while_an_intermediate_leads(before: Cluster, after: Cluster) -> bool:
    """I8: an intermediate replica has become the leader when the target changes."""
    return intermediate_leads(before) and after.dropping != NOBODY


@cover(tags=["complete"], when=lambda c: c.brokers > c.replication_factor)
def ends_without_its_leader(before: Cluster, after: Cluster) -> bool:
    """I7: a reassignment ends on brokers, and its leader is not one of them."""
    return before.leader is not None and before.leader not in after.assigned


@cover(tags=["drop"], when=lambda c: c.disturbances >= c.replication_factor and c.admin_requests > 1)
def dropped_without_a_leader(before: Cluster, after: Cluster) -> bool:
    """I2: there are replicas to drop while there is no leader."""
    return before.leader is None and after.dropping != NOBODY


@cover(when=lambda c: c.replication_factor < c.min_isr + c.raises)
def reassignment_ignored(before: Cluster, after: Cluster) -> bool:
    """I1: the check at creation refuses a reassignment."""
    return after.asked > before.asked and not after.moving


@cover(when=lambda c: c.disturbances > 0 and c.admin_requests > 1)
def fails_over_while_dropping(before: Cluster, after: Cluster) -> bool:
    return before.stage == Stage.DELETING and after.stage == Stage.DUE


PROTOCOL = Model.of(
    __name__, parts=(drop_set.__name__,), state=Cluster, config=Config, views=(duties,), shared=WITH_ZOOKEEPER
).without("limits_are_kept")
"""All but `compute_drop`, which has the reading of the slice. No limit is promised, so none is asked for."""
