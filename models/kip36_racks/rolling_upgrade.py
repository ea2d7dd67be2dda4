"""The rolling upgrade that introduces racks (KIP-36, R7): which registrations are written, and who can read them.

Brokers register themselves in ZooKeeper as version 2, or as version 3 with the rack, by the inter-broker protocol that
they speak; every broker and every client reads all registrations. The controller sends brokers to all brokers in
UpdateMetadataRequest, version 1 or 2 by the protocol that it speaks itself.

The document's procedure is four precautions, each of which a configuration can leave out: clients at 0.9.0.1 first,
brokers at 0.9.0.1 first, the old protocol pinned before an upgrade, the new one only once every broker is upgraded.
Left out here: bytes (`wire.py` has them), versions before 0.9, sessions that outlive their broker.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import Id, Map, Model, Range, action, cover, every, fill, initial, invariant, replace, require


class Broker(Id, size="brokers"):
    """A broker, numbered from 0."""


class Client(Id, size="clients"):
    """A client that reads registrations, such as a consumer of that time."""


class Release(Enum):
    V0_9_0_0 = "0.9.0.0"
    """Throws at registrations of other versions than 1 and 2."""
    V0_9_0_1 = "0.9.0.1"
    V0_10 = "0.10.0"


class Protocol(Enum):
    """Values of inter.broker.protocol.version."""

    OLD = "0.9.0.X"
    NEW = "0.10.0"


@dataclass(frozen=True)
class Config:
    brokers: Annotated[int, Range(1, 5)] = 3
    clients: Annotated[int, Range(0, 3)] = 1
    clients_first: bool = True
    """Clients are at 0.9.0.1 before any broker is upgraded to 0.10."""
    brokers_first: bool = True
    """Brokers are at 0.9.0.1 before any broker is upgraded to 0.10."""
    pinned: bool = True
    """Every broker's file says inter.broker.protocol.version=0.9.0.X before any is upgraded to 0.10."""
    down: Annotated[int, Range(1, 5)] = 1
    """Brokers that may be down at the same time; with 1 the upgrade is a rolling one without crashes."""
    all_upgraded: bool = True
    """The new protocol is written into a broker's file only once every broker is upgraded."""
    per_receiver: bool = False
    """The controller writes for each receiver by the version that it has registered with, not by its own protocol."""


@dataclass(frozen=True)
class Node:
    """A broker."""

    release: Release
    """The code that is installed."""
    setting: Protocol | None
    """inter.broker.protocol.version in its file; unset, the protocol is the release's own."""
    speaks: Protocol | None
    """The protocol in force since it was started; None while it is down."""


@dataclass(frozen=True)
class Cluster:
    nodes: Map[Broker, Node]
    clients: Map[Client, Release]
    controller: Broker | None


@initial
def before(c: Config) -> Cluster:
    node = Node(Release.V0_9_0_0, None, Protocol.OLD)
    return Cluster(fill(Broker, c, node), fill(Client, c, Release.V0_9_0_0), None)


def native(release: Release) -> Protocol:
    """The protocol that a release uses by default."""
    return Protocol.NEW if release == Release.V0_10 else Protocol.OLD


# -- operator -----------------------------------------------------------------------------------------------


@action(who="operator")
def stop(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """A broker is brought down, or crashes: its registration goes, and its office if it was the controller."""
    n = s.nodes[broker]
    require(n.speaks is not None)
    require(sum(1 for b in every(Broker, c) if s.nodes[b].speaks is None) < c.down)
    controller = None if s.controller == broker else s.controller
    return replace(s, nodes=s.nodes.put(broker, replace(n, speaks=None)), controller=controller)


@action(who="operator")
def start(s: Cluster, broker: Broker) -> Cluster:
    """A broker comes up with the code and the file that it has, and registers."""
    n = s.nodes[broker]
    require(n.speaks is None)
    speaks = n.setting if n.setting is not None else native(n.release)
    return replace(s, nodes=s.nodes.put(broker, replace(n, speaks=speaks)))


@action(who="operator")
def pin(s: Cluster, broker: Broker) -> Cluster:
    """Step 1: the file says to go on with the old protocol."""
    n = s.nodes[broker]
    require(n.setting is None)
    return replace(s, nodes=s.nodes.put(broker, replace(n, setting=Protocol.OLD)))


@action(who="operator")
def fix(s: Cluster, broker: Broker) -> Cluster:
    """A broker that is down gets 0.9.0.1."""
    n = s.nodes[broker]
    require(n.speaks is None and n.release == Release.V0_9_0_0)
    return replace(s, nodes=s.nodes.put(broker, replace(n, release=Release.V0_9_0_1)))


@action(who="operator")
def fix_client(s: Cluster, client: Client) -> Cluster:
    """A client gets 0.9.0.1."""
    require(s.clients[client] == Release.V0_9_0_0)
    return replace(s, clients=s.clients.put(client, Release.V0_9_0_1))


def may_upgrade(s: Cluster, c: Config) -> bool:
    """The steps that the procedure takes before the first broker gets 0.10."""
    clients = all(s.clients[x] != Release.V0_9_0_0 for x in every(Client, c))
    brokers = all(s.nodes[b].release != Release.V0_9_0_0 for b in every(Broker, c))
    pinned = all(s.nodes[b].setting is not None for b in every(Broker, c))
    return (clients or not c.clients_first) and (brokers or not c.brokers_first) and (pinned or not c.pinned)


@action(who="operator")
def upgrade(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """Step 2: a broker that is down gets 0.10."""
    n = s.nodes[broker]
    require(n.speaks is None and n.release != Release.V0_10)
    require(may_upgrade(s, c))
    return replace(s, nodes=s.nodes.put(broker, replace(n, release=Release.V0_10)))


@action(who="operator")
def bump(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """Step 3: the file says to speak the new protocol, from the next start on (step 4)."""
    n = s.nodes[broker]
    require(n.setting == Protocol.OLD and n.release == Release.V0_10)
    require(not c.all_upgraded or all(s.nodes[b].release == Release.V0_10 for b in every(Broker, c)))
    return replace(s, nodes=s.nodes.put(broker, replace(n, setting=Protocol.NEW)))


# -- controller ---------------------------------------------------------------------------------------------


@action(who="broker")
def become_controller(s: Cluster, broker: Broker) -> Cluster:
    """A broker that is up takes the office when it is vacant."""
    require(s.controller is None and s.nodes[broker].speaks is not None)
    return replace(s, controller=broker)


# -- claims -------------------------------------------------------------------------------------------------


def version_3_is_shown(s: Cluster, c: Config) -> bool:
    """Some registration is of version 3."""
    return any(s.nodes[b].speaks == Protocol.NEW for b in every(Broker, c))


@invariant
def clients_can_read_registrations(s: Cluster, c: Config) -> bool:
    """R7. Otherwise clients throw when they look for a broker, and stop."""
    return not version_3_is_shown(s, c) or all(s.clients[x] != Release.V0_9_0_0 for x in every(Client, c))


def up(n: Node) -> bool:
    return n.speaks is not None


@invariant
def brokers_can_read_registrations(s: Cluster, c: Config) -> bool:
    """R7. Otherwise a broker that becomes the controller throws when it looks for the others."""
    behind = any(up(s.nodes[b]) and s.nodes[b].release == Release.V0_9_0_0 for b in every(Broker, c))
    return not version_3_is_shown(s, c) or not behind


def gets_version_2(s: Cluster, c: Config, broker: Broker) -> bool:
    """Whether the controller writes version 2 of UpdateMetadataRequest to a broker."""
    if s.controller is None or s.nodes[s.controller].speaks != Protocol.NEW:
        return False
    return not c.per_receiver or s.nodes[broker].speaks == Protocol.NEW


@invariant
def brokers_can_read_the_controller(s: Cluster, c: Config) -> bool:
    """R7, R11. Otherwise brokers drop the controller's UpdateMetadataRequests, and answer clients with old metadata."""
    return all(
        not gets_version_2(s, c, b) or s.nodes[b].release == Release.V0_10 for b in every(Broker, c) if up(s.nodes[b])
    )


@cover(when=lambda c: c.per_receiver and c.brokers > 1)
def controller_writes_both_versions(s: Cluster, c: Config) -> bool:
    """R11: of two brokers that are up the controller writes version 2 to one, and version 1 to the other."""
    written = any(gets_version_2(s, c, b) for b in every(Broker, c) if up(s.nodes[b]))
    return written and any(not gets_version_2(s, c, b) for b in every(Broker, c) if up(s.nodes[b]))


@cover(when=lambda c: c.per_receiver and not c.all_upgraded and c.brokers > 1)
def controller_writes_to_old_code(s: Cluster, c: Config) -> bool:
    """R11: the controller speaks the new protocol, and a broker that is up cannot read it."""
    if s.controller is None or s.nodes[s.controller].speaks != Protocol.NEW:
        return False
    return any(up(s.nodes[b]) and s.nodes[b].release != Release.V0_10 for b in every(Broker, c))


@invariant
def racks_are_shown_when_all_know_them(s: Cluster, c: Config) -> bool:
    """R7. Otherwise some brokers place replicas by racks, and others, who cannot see them, do not."""
    return not version_3_is_shown(s, c) or all(s.nodes[b].release == Release.V0_10 for b in every(Broker, c))


@cover
def upgraded(s: Cluster, c: Config) -> bool:
    """The upgrade can be completed."""
    return all(s.nodes[b].speaks == Protocol.NEW for b in every(Broker, c))


@cover
def mixed(s: Cluster, c: Config) -> bool:
    """In between, old and new code run beside each other: the upgrade is a rolling one."""
    old = any(up(s.nodes[b]) and s.nodes[b].release != Release.V0_10 for b in every(Broker, c))
    return old and any(up(s.nodes[b]) and s.nodes[b].release == Release.V0_10 for b in every(Broker, c))


@cover
def half_bumped(s: Cluster, c: Config) -> bool:
    """In between, registrations of both versions are shown."""
    return version_3_is_shown(s, c) and any(s.nodes[b].speaks == Protocol.OLD for b in every(Broker, c))


MODEL = Model.of(__name__, state=Cluster, config=Config)
