"""Flaw: the leader keeps what it knew of replicas that were removed, against the document's line 100."""

from reassure import action, replace
from reassure.models.kraft import kraft_removed_logs
from reassure.models.kraft.kraft_removed_logs import Config, Removed


@action(who="leader", fair="weak")
def hear(s: Removed, c: Config) -> Removed:
    """As the original, but it forgets nothing."""
    after: Removed = kraft_removed_logs.hear(s, c)
    return replace(after, caught_up=s.caught_up)


MODEL = kraft_removed_logs.MODEL.replacing(hear)
BREAKS = {
    "leader_holds_everything_committed": 12,
    "leaders_hold_what_was_committed": 12,
    "leader_takes_nobody_wrongly_for_caught_up": 10,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
