"""The findings in released Kafka, as the ledger's claims have them: the readings that a short page tells.

Promises, pull requests and the state of the newest code were read in public sources in November 2026; verdicts, steps,
runs and the outcomes of tests are evidence of the project.
"""

from __future__ import annotations

from dataclasses import dataclass

NEWEST_CODE = (
    "The trunk of August 2026 has the lines of all seven (read, not executed; those of the seventh in a public fork "
    "that merges it)."
)
SEARCHED = "we searched GitHub and public pages, but could not search Apache's Jira"
UNREPORTED = f"We know of no public report of any: {SEARCHED}."
KIP_966 = "[KIP-966](https://cwiki.apache.org/confluence/pages/viewpage.action?pageId=263426970)"
ELR = {
    "3.9": "",
    "4.0": "off by default",
    "4.1": "on by default",
    "4.2": "on by default",
    "4.3": "on by default",
    "4.4": "on by default",
}
"""Eligible leader replicas in a new cluster in production, by the rules of a release; "": they cannot be on."""


@dataclass(frozen=True)
class Headline:
    """A finding. The verdicts, the steps and the runs are the ledger's; the words say what they mean.

    readings: without the release; each begins with every replica in sync. Of each release the run of the first that is
    violated is told, and the steps are the fewest of all. breaks: what a cluster loses. cause: what in the controller
    does it. promise: what Kafka promises instead, quoted. source: of the promise. introduced: by which change. helps:
    how an operator ends it, or "". needs_elr: it needs eligible leader replicas. newest_code: that was read,
    and has its lines.
    """

    title: str
    claim: str
    readings: tuple[str, ...]
    property: str
    breaks: str
    cause: str
    promise: str = ""
    source: str = ""
    introduced: str = ""
    helps: str = ""
    needs_elr: bool = False
    newest_code: str = "the code of trunk of August 2026"

    def in_production(self, release: str) -> bool:
        """Whether a cluster in production can be in its states, by the rules of a release."""
        return not self.needs_elr or ELR.get(release, "on by default") != ""


HEADLINES = (
    Headline(
        "Committed records are lost after a completed reassignment",
        "K21",
        ("every replica in sync at first, targets of two replicas", "every replica in sync at first"),
        "nothing_lost_by_a_completion",
        "Acknowledged records are gone although unclean leader election is off. A reassignment removes a broker, which "
        "deletes its log; then the broker is added again, and a clean election makes it the leader while its log is "
        "empty. The other replicas truncate theirs. From 4.3 on this happens to moves that keep the number of "
        "replicas, while a broker is down; before 4.3, only to a partition that goes to one replica, whose broker then "
        "fails. Going from two replicas to one and back loses nothing while the remaining one is alive: MinISR is "
        "limited to one replica there, and the ELR is cleared. A broker that stays in the ELR without being a replica "
        "can also keep a partition offline: if every replica was killed and registers anew, Kafka elects the last "
        "known leader only if the ELR is empty. Random runs on a cluster of 4.4.0 reached such partitions.",
        "`PartitionChangeBuilder.maybePopulateTargetElr` puts a broker that leaves an ISR below MinISR into the ELR, "
        "even if the broker also leaves the replicas. From 4.3 on (KAFKA-19975) completion needs fewer in-sync "
        "replicas.",
        promise="upon completion, the ELR only contains replicas in the final replica set",
        source=KIP_966,
        introduced="PR 14312 (KAFKA-15581): the ELR is filtered by the ISR and unclean shutdowns, not by the replicas. "
        "PR 21114 (4.3) makes the run of a usual move possible.",
        helps="Nothing brings the records back once the other replicas have truncated.",
        needs_elr=True,
    ),
    Headline(
        "Committed records are lost after a cancelled reassignment",
        "K20",
        (
            "every replica in sync at first, three brokers",
            "every replica in sync at first, targets of two replicas, four brokers",
        ),
        "nothing_lost_by_a_cancellation",
        "Unclean leader election is off, and acknowledged records are gone: an added broker joins the ISR, the "
        "administrator cancels the reassignment, and then the broker is added again. It has deleted its log in "
        "between, and is still in the ELR. Up to 4.2 three brokers suffice. From 4.3 on that reassignment would have "
        "completed, so the run needs a move of two replicas and four brokers.",
        "`PartitionReassignmentRevert` removes the broker from replicas and ISR; the ELR that the change builder then "
        "computes contains it. A cancellation is refused only if none of the original replicas is in sync.",
        promise="The AlterPartitionReassignments will not change the ELR. [...] upon completion, the ELR only contains "
        "replicas in the final replica set",
        source=f"{KIP_966}, which also refuses a cancellation below MinISR: no release does so, and it needs a report "
        "of its own",
        introduced="PR 10753 (2021), before ELR, and PR 14312 (KAFKA-15581), which did not adapt it.",
        helps="Nothing brings the records back once the other replicas have truncated.",
        needs_elr=True,
    ),
    Headline(
        "A reassignment that is taken back never ends",
        "K23",
        ("every replica in sync at first, targets of two replicas",),
        "rolling_back_ends",
        "The administrator takes a running reassignment back by asking for replicas that the partition had before and "
        "that are in sync, such as the assignment that the reassignment tool prints for a rollback: [1, 2] to [1, 3] "
        "and back to [1, 2]. Kafka lists the reassignment for ever, even with every replica in sync.",
        "A request that adds no replica leaves the old `adding` in place, and these replicas become `removing` too. "
        "Since 4.3 (KAFKA-19975) completion waits until the ISR without `removing` contains all of `adding`.",
        promise="if there are no new replicas, wait until we have an ISR that contains at least one replica that we "
        "are not removing",
        source="javadoc of `ReplicationControlManager.changePartitionReassignment`; Kafka's operations manual on the "
        'assignment before a move: "should be saved in case you want to rollback to it"',
        introduced="PR 21114 (KAFKA-19975, 4.3), over setters of 2021 that leave the old sets.",
        helps="A cancellation ends it, asking for the first target again completes it, and a target with another new "
        "broker replaces it.",
    ),
    Headline(
        "A broker's registration makes the active controller resign, again and again",
        "K24",
        ("one replica, two requests, two failures", "three requests, three failures"),
        "broker_events_are_carried_out",
        "The controller throws an exception while it registers a broker, and resigns; the next controller does the "
        "same when the broker tries again. The broker cannot come back while the other broker is alive. A single "
        "controller resigns about once a second, and the cluster makes no other progress. On clusters of 4.0.2 the "
        "controller resigned once: the next one fenced the broker once more, which emptied the ISR, and registered "
        "it; then the partition had no leader although its only replica was alive and unclean election was on.",
        "After a cancellation the last known leader is a broker that is no longer a replica. To decide whether it may "
        "be elected, the controller looks up its directory, and `PartitionRegistration.directory` throws.",
        promise="none is needed: an exception in an event of a broker is a fault of the controller",
        introduced="the election of the last known leader, which 3.9.0 has already; PR 20629 (4.2, and 4.1.1) keeps "
        "that leader longer, so that 4 steps suffice instead of 6.",
        helps="Stopping the broker that is the last known leader lets the other one register.",
        needs_elr=True,
    ),
    Headline(
        "Asking for the present assignment does not stop a removal",
        "K14",
        ("every replica in sync at first, three replicas", "every replica in sync at first, two replicas"),
        "retarget_replaces_the_target",
        "While a removal of replicas waits for one that is down, the administrator asks for the full assignment again. "
        "The controller answers NONE (no error). The replicas are removed anyway, or stay as intermediate "
        "replicas that nobody asked for.",
        "`changePartitionReassignment` writes `adding` and `removing` only if the new sets are not empty, so that "
        "the old sets stay.",
        promise="The replicas to place the partitions on",
        source="the request's field `Replicas`, KIP-455",
        introduced="PR 10753 (2021).",
        helps="A cancellation before the removal is done stops it.",
    ),
    Headline(
        "Changing min.insync.replicas keeps a partition offline",
        "K18",
        ("somebody may still lead, every replica in sync at first",),
        "changed_min_isr_leaves_who_may_lead",
        "Every replica is down, and those that were in sync last are in the ELR. Then the administrator changes "
        "min.insync.replicas of the topic, perhaps to a lower value, to make the partition available. A broker comes "
        "back with every committed record and cannot become leader, even if every broker of the partition is alive. "
        "Kafka documents since 4.0 that the ELR is cleared, but not that the partition stays offline. The ELR may be "
        "cleared once records can be committed without its members; with an empty ISR none can, however low the new "
        "MinISR is.",
        "From 4.0 on a change of min.insync.replicas comes with a ClearElrRecord for the topic, "
        "which empties the ELR even if the ISR is empty.",
        promise="if the new min ISR <= current ISR, the ELR will be removed",
        source=KIP_966,
        introduced="PR 18148 (KAFKA-16540, 4.0); documented by PR 18898 and PR 20237.",
        helps="An unclean election by hand (ElectLeaders with UNCLEAN) elects the broker, and loses nothing if it has "
        "every record.",
        needs_elr=True,
    ),
    Headline(
        "A broker that lost records joins the ISR by a request without its epoch",
        "K25",
        ("as released", "as released, three brokers"),
        "leader_has_what_was_acknowledged",
        "Acknowledged records are lost although unclean leader election is off. A broker that is started again fetches "
        "before it is registered, with broker epoch -1; this takes longest where its old session still lives "
        "(`broker.session.timeout.ms`). Then it is killed once more, and its log loses what was not on the disk, as "
        "where the machine loses its power; half of these records are enough. A message waits in between: a fetch in a "
        "leader that is paused for less than its own session, or the leader's request on its way to the controller. By "
        "this message the broker joins the ISR without the records, and is elected. KIP-903 is to exclude just that.",
        "`BrokerServer` gives the fetchers epoch -1 until the registration is answered. "
        "`Replica.updateFetchStateOrThrow` and `Partition.isBrokerEpochIsrEligible` take -1 for any epoch, and "
        "`ReplicationControlManager.ineligibleReplicasForIsr` skips its check for it.",
        promise="Replicas with stale broker epoch should not be allowed to join the ISR",
        source="the title of KIP-903",
        introduced="PR 13489 (KAFKA-14617, 2023), for requests of before version 3. PR 14053 (KAFKA-15221) closed a "
        "neighbouring race and kept it.",
        helps="We know of no workaround.",
        newest_code="a public fork that merges trunk (confluentinc/kafka at 06d492d8, 22 August 2026)",
    ),
)
