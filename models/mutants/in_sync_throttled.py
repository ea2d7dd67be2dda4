"""Flaw of the throttle: a follower is refused if a limit of its broker is used up, even if the follower is in sync."""

from reassure import action, require
from reassure.models.kip542_throttle import throttle
from reassure.models.kip542_throttle.throttle import Cluster, Config, Link, belongs, nothing_left


@action(who="leader", tags=["refuse"])
def refuse(s: Cluster, c: Config, link: Link) -> Cluster:
    """As the original, without the condition that the follower is not in sync."""
    require(s.behind[link] > 0 and nothing_left(s, c, link, belongs))
    return s


MODEL = throttle.MODEL.replacing(refuse)
SETTINGS = ["changes=0"]
BREAKS = {"in_sync_replicas_are_not_throttled": 4}
"""The properties that are violated, and the number of states in the shortest trace of each."""
