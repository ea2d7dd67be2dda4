"""`kraft` with targets in any order (K19): does the partition end in the order that was asked for?

The document keeps what is added and removed as sets, and lists the grown replica set in its old order followed by what
is new; nothing in it remembers the order of the target.
"""

from reassure import action, require, step_property
from reassure.models.kraft import kraft, protocol
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import Broker, Replicas, ended, members
from reassure.spec.language.vocabulary import replace


@action(who="admin", tags=["start"])
def start(s: Cluster, c: Config, target: Replicas, successor: Broker | None) -> Cluster:
    """As the original, for a list without repetitions."""
    require(len(frozenset(target)) == len(target))
    after: Cluster = protocol.start(s, c, frozenset(target), successor)
    return replace(after, wanted=target)


@step_property
def completion_is_in_the_order_asked_for(before: Cluster, after: Cluster) -> bool:
    """K19. Otherwise another broker than was asked for is the preferred leader."""
    a = after.partition
    same_brokers = members(a) == frozenset(after.wanted)
    return not ended(before.partition, a) or not same_brokers or a.replicas == after.wanted


MODEL = kraft.MODEL.replacing(start).adding(completion_is_in_the_order_asked_for)
