"""The findings in released Kafka, as the ledger's claims have them: the readings that a short page tells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Headline:
    """A finding. The verdicts, the steps and the runs are the ledger's; the words say what they mean.

    readings: without the release; of each release the first that is violated is told. breaks: what a cluster loses.
    cause: what in the controller does it.
    """

    title: str
    claim: str
    readings: tuple[str, ...]
    property: str
    breaks: str
    cause: str


HEADLINES = (
    Headline(
        "Committed records are lost after a completed reassignment",
        "K21",
        ("as stated",),
        "nothing_lost_by_a_completion",
        "Unclean leader election is off, and acknowledged records are gone: a broker that a reassignment removed is "
        "added again, and a clean election makes it the leader while its log is empty. The other replicas truncate.",
        "`PartitionChangeBuilder.maybePopulateTargetElr` puts a broker that leaves an ISR below MinISR into the ELR, "
        "even if the broker also leaves the replicas. From 4.3 on (KAFKA-19975) completion needs fewer in-sync "
        "replicas.",
    ),
    Headline(
        "Committed records are lost after a cancelled reassignment",
        "K20",
        ("two replicas", "four brokers"),
        "nothing_lost_by_a_cancellation",
        "Records are lost as in finding 1, in another way: the reassignment is cancelled after an added broker has "
        "joined the ISR, and then it is requested again. The broker deleted its log in between, and is still in the "
        "ELR.",
        "`PartitionReassignmentRevert` removes the broker from replicas and ISR; the ELR that the change builder then "
        "computes contains it. A cancellation is refused only if none of the original replicas is in sync.",
    ),
    Headline(
        "A reassignment that is taken back never ends",
        "K23",
        ("as stated",),
        "rolling_back_ends",
        "A running reassignment is taken back by asking for replicas that the partition had before and that are in "
        "sync, such as the assignment that the reassignment tool prints for a rollback. Only a cancellation ends the "
        "reassignment.",
        "A request that adds no replica leaves the old `adding` in place, and these replicas become `removing` too. "
        "Since 4.3 (KAFKA-19975) completion waits until the ISR without `removing` contains all of `adding`.",
    ),
    Headline(
        "A broker's registration makes the active controller resign, again and again",
        "K24",
        ("one replica, two requests, two failures", "three requests, three failures"),
        "broker_events_are_carried_out",
        "The controller throws while it registers a broker, and gives up its leadership; the next controller does the "
        "same when the broker tries again. The broker cannot come back while the other broker is alive.",
        "After a cancellation the last known leader is a broker that is no longer a replica. The controller elects it "
        "and looks up its directory; `PartitionRegistration.directory` throws.",
    ),
    Headline(
        "Asking for the present assignment does not stop a removal",
        "K14",
        ("as stated",),
        "retarget_replaces_the_target",
        "While replicas are being removed, the administrator asks for the full assignment again. The controller "
        "answers NONE (no error). The replicas are removed all the same, or stay as intermediate replicas that nobody "
        "asked for.",
        "`changePartitionReassignment` writes `adding` and `removing` only if the new sets are not empty, so that "
        "the old sets stay.",
    ),
    Headline(
        "Changing min.insync.replicas keeps a partition offline",
        "K18",
        ("somebody may still lead",),
        "changed_min_isr_leaves_who_may_lead",
        "The last in-sync replica is down, and in the ELR. Then min.insync.replicas of the topic is changed. The "
        "broker comes back with every committed record, and no broker may become leader until an unclean election is "
        "allowed.",
        "From 4.0 on a change of min.insync.replicas comes with a ClearElrRecord for the topic, "
        "which empties the ELR even if the ISR is empty.",
    ),
)
