"""Flaw of a model: a step of the controller rewrites the recorded request, with which properties compare the result."""

from reassure import action, replace
from reassure.models.kraft import kraft, protocol
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import Broker


@action(who="controller")
def fence(s: Cluster, c: Config, broker: Broker, successor: Broker | None) -> Cluster:
    """As the original, but afterwards the recorded request is the present assignment."""
    after: Cluster = protocol.fence(s, c, broker, successor)
    return replace(after, wanted=after.partition.replicas)


MODEL = kraft.MODEL.replacing(fence)
BREAKS = {
    "only_the_administrator_asks": 3,
    "leads_where_it_was_asked_to": 3,
    "completion_is_of_the_target_asked_for": 6,
    "own_steps_keep_min_isr": 6,
    "own_steps_keep_a_leader": 3,
    "own_steps_keep_an_in_sync_copy": 3,
    "moves_end_as_wanted": 6,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
