"""What was found in released Kafka, as the ledger's claims have it: which of their readings a short page tells."""

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
        ("as it is",),
        "nothing_lost_by_a_completion",
        "Unclean leader election is off, and acknowledged records are gone: a broker that a reassignment removed is "
        "added again, and a clean election makes it the leader while its log is empty. The other replicas truncate.",
        "`PartitionChangeBuilder.maybePopulateTargetElr` keeps whoever leaves an ISR below MinISR eligible, also where "
        "it leaves the replicas. From 4.3 on (KAFKA-19975) completion asks for fewer replicas in sync.",
    ),
    Headline(
        "Committed records are lost after a cancelled reassignment",
        "K20",
        ("two replicas", "four brokers"),
        "nothing_lost_by_a_cancellation",
        "The same loss by another way: the reassignment is cancelled once an added broker has joined, and asked for "
        "again. The broker deleted its log in between, and is still eligible.",
        "`PartitionReassignmentRevert` takes the broker out of replicas and ISR; the ELR that the change builder then "
        "computes has it. A cancellation is refused only where nobody of the originals is in sync.",
    ),
    Headline(
        "A reassignment that is taken back never ends",
        "K23",
        ("as it is",),
        "rolling_back_ends",
        "A running reassignment is taken back by asking for replicas that the partition had before and that are in "
        "sync, such as the assignment that the reassignment tool prints for a rollback. Only a cancellation ends it.",
        "A request that adds nothing leaves the old `adding` in place, which becomes `removing` too; since 4.3 "
        "(KAFKA-19975) completion waits for all of `adding` in the ISR without `removing`.",
    ),
    Headline(
        "A broker's registration makes the active controller resign, again and again",
        "K24",
        ("one replica, two requests, two failures", "three requests, three failures"),
        "broker_events_are_carried_out",
        "The controller throws while it registers a broker, and gives up its leadership; the next controller does the "
        "same when the broker tries again. The broker cannot come back while the other one is alive.",
        "After a cancellation the last known leader is a broker that is no replica any more; electing it looks up its "
        "directory (`PartitionRegistration.directory`), which throws.",
    ),
    Headline(
        "Asking for the present assignment does not stop a removal",
        "K14",
        ("as it is",),
        "retarget_replaces_the_target",
        "Replicas are being removed; the administrator asks for all of them again. The answer is NONE, and they are "
        "removed all the same, or stay as intermediate replicas that nobody asked for.",
        "`changePartitionReassignment` writes `adding` and `removing` only where the new sets are not empty, so that "
        "the old ones stay.",
    ),
    Headline(
        "Changing min.insync.replicas keeps a partition offline",
        "K18",
        ("somebody may still lead",),
        "changed_min_isr_leaves_who_may_lead",
        "The last in-sync replica is down, and eligible. min.insync.replicas of the topic is changed; the broker comes "
        "back with everything that was committed, and nobody may lead until an unclean election is allowed.",
        "From 4.0 on a change of min.insync.replicas comes with a ClearElrRecord for the topic, "
        "which empties the ELR also where the ISR is empty.",
    ),
)
