"""Flaw of batching: a change of R calculates anew where the running steps lead."""

from reassure import Map, action, every, replace
from reassure.models.kip435_batching import batching, zookeeper_cluster
from reassure.models.kip435_batching.rules import repaired
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config, Limits, Memory, Next
from reassure.spec.kafka.shared_properties import Part


def anew(s: Cluster, c: Config, part: Part, limits: Limits) -> Memory:
    """The step with another R, if nothing has been done for it yet."""
    p, m = s.stored[part], s.memory[part]
    if m.next != Next.ASSIGN or p.target == ():
        return m
    goal = repaired(p.target, m.assigned, p.isr, s.alive, limits.replicas, c.min_isr)
    return replace(m, goal=goal, dropping=frozenset(m.assigned) - frozenset(goal))


@action(who="admin")
def reconfigure(s: Cluster, c: Config, limits: Limits) -> Cluster:
    """As the original, with those steps."""
    after: Cluster = zookeeper_cluster.reconfigure(s, c, limits)
    return replace(after, memory=Map({x: anew(s, c, x, limits) for x in every(Part, c)}))


MODEL = batching.MODEL.replacing(reconfigure)
SETTINGS = ["brokers=4", "changes=1", "deaths=0", "crashes=0"]
BREAKS = {"limits_are_kept": 7, "running_step_is_left_as_it_is": 4, "replicas_within_limit": 7}
"""The properties that are violated, and the number of states in the shortest trace of each."""
