"""Flaw of KIP-236: what is dropped goes offline and is no replica any more, but keeps its log."""

from reassure import action, replace, require
from reassure.models.kip236_intermediate import intermediate_inclusive
from reassure.models.kip236_intermediate.drop_set import Cluster, Stage


@action(who="controller", fair="weak")
def start_deletion(s: Cluster) -> Cluster:
    """As the original, without the deletion."""
    require(s.stage == Stage.OFFLINE)
    return replace(s, stage=Stage.DELETING)


MODEL = intermediate_inclusive.MODEL.replacing(start_deletion)
SETTINGS = ["disturbances=0"]
BREAKS = {
    "what_is_dropped_is_deleted": 8,
    "drop_spares_what_is_wanted": 5,
    "drop_spares_the_original": 6,
    "nothing_intermediate_stays": 6,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
