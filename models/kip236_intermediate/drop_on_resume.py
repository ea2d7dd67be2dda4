"""KIP-236 to the letter: `drop` is also computed when a reassignment resumes to end, every wanted replica in sync (I7).

KIP-236 has it computed "each time the reassignment changes, (i.e. in
KafkaController.onPartitionReassignment())". That method is also the call that ends a reassignment, once everything
wanted is in sync. By the letter the drop comes first, and the reassignment ends only if it spares everything wanted;
else that is deleted, assigned anew and copied again.

`resumed_half_open` and `resumed_inclusive` are the two readings of the slice.
"""

from reassure import require
from reassure.models.kip236_intermediate.drop_set import (
    Cluster,
    Config,
    completed,
    dropped,
    everything_wanted_is_in_sync,
    foremost,
)
from reassure.spec.kafka.partition import Broker, Brokers


def completed_if_spared(s: Cluster, kept: Brokers, successor: Broker, places: int) -> Cluster:
    """The reassignment ends as before KIP-236, if the drop spares every wanted replica."""
    require(foremost(s, kept, places) and s.target <= kept)
    return completed(s, successor)


def dropped_on_resume(s: Cluster, c: Config, kept: Brokers, places: int) -> Cluster:
    """Something wanted is dropped, though it is in sync."""
    require(everything_wanted_is_in_sync(s))
    require(foremost(s, kept, places) and not s.target <= kept)
    return dropped(s, c, s.assigned - kept)
