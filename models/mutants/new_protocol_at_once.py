"""Flaw of KIP-36's upgrade: a broker speaks the new protocol from its start on, whatever its file says.

The controller writes for each receiver by what it has registered with, and 0.9.0.0 registers as if it were new.
"""

from reassure import action, replace, require
from reassure.models.kip36_racks import rolling_upgrade
from reassure.models.kip36_racks.rolling_upgrade import Broker, Cluster, Protocol


@action(who="operator")
def start(s: Cluster, broker: Broker) -> Cluster:
    """As the original, but for the protocol."""
    n = s.nodes[broker]
    require(n.speaks is None)
    return replace(s, nodes=s.nodes.put(broker, replace(n, speaks=Protocol.NEW)))


MODEL = rolling_upgrade.MODEL.replacing(start)
SETTINGS = ["per_receiver=on", "brokers=2"]
BREAKS = {
    "clients_can_read_registrations": 3,
    "brokers_can_read_registrations": 3,
    "brokers_can_read_the_controller": 4,
    "racks_are_shown_when_all_know_them": 3,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
