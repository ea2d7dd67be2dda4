"""Flaw of the throttle: every window has the rates of the first window; later changes are ignored."""

from reassure import action, replace
from reassure.models.kip542_throttle import throttle
from reassure.models.kip542_throttle.throttle import Cluster, Config


@action(who="clock", fair="weak")
def next_window(s: Cluster, c: Config) -> Cluster:
    """As the original, with the old rates."""
    after: Cluster = throttle.next_window(s, c)
    return replace(after, in_force=s.in_force)


MODEL = throttle.MODEL.replacing(next_window)
SETTINGS = ["moves=0", "lapses=0"]
BREAKS = {"next_window_has_what_is_configured": 3}
"""The properties that are violated, and the number of states in the shortest trace of each."""
