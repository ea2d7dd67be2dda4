"""What `reassure plan` promises of a plan, and what was found about each promise."""

from __future__ import annotations

from dataclasses import dataclass, field

from reassure.checkers.kafka.plan.kafka_json import Partition


@dataclass(frozen=True)
class Break:
    """A promise that is broken: where, under which failure if any, and what is left."""

    partition: Partition
    stage: int
    failure: str
    text: str
    promise: str = ""


@dataclass
class Promise:
    """A promise with what was found. before: partitions that broke it before the move already."""

    name: str
    text: str
    kind: str = "step"
    breaks: list[Break] = field(default_factory=list)
    before: int = 0
    checked: bool = True
    """False of one about racks where some have none."""
    open: dict[str, str] = field(default_factory=dict)
    """The reasons why it was not decided, by the topic or partition that they are about."""

    @property
    def decided(self) -> bool:
        """Whether every partition was judged."""
        return self.checked and not self.open

    @property
    def status(self) -> str:
        return "violated" if self.breaks else "holds" if self.decided else "not_checked"


ENDS = "moves_end_as_wanted"
OF_MIN_ISR = ("own_steps_keep_min_isr", "producers_survive_a_broker", "producers_survive_a_rack")
RACK_PROMISES = ("partitions_survive_a_rack", "producers_survive_a_rack", "stays_spread")


def promises(racked: int, brokers: int, unknown: bool = False) -> dict[str, Promise]:
    """The promises that apply to so many brokers, so many of them with a rack.

    The first five are those of `spec.kafka.shared_properties`, of one plan instead of all runs. Those about racks do
    not apply where no broker has one, and are not checked where some have none or where nothing says (unknown).
    """
    all_promises = [
        Promise("own_steps_keep_min_isr", "min.insync.replicas are in sync, if nothing fails"),
        Promise("own_steps_keep_a_leader", "a replica in sync leads"),
        Promise("own_steps_keep_an_in_sync_copy", "a replica in sync is kept"),
        Promise("moves_end_as_wanted", "the last stage is the target, order included, and nothing is waited for"),
        Promise("limits_are_kept", "batches are within the limits, and every stage is in one", "invariant"),
        Promise("partitions_survive_a_broker", "any one broker may fail, and a replica in sync is left"),
        Promise("producers_survive_a_broker", "any one broker may fail, and min.insync.replicas are left"),
        Promise("partitions_survive_a_rack", "any one rack may fail, and a replica in sync is left"),
        Promise("producers_survive_a_rack", "any one rack may fail, and min.insync.replicas are left"),
        Promise("stays_spread", "replicas in sync are in as many racks as before, or as in the target if fewer"),
        Promise("cordoned_brokers_are_spared", "no request is refused for a cordoned broker, and none gets a replica"),
    ]
    for p in all_promises:
        p.checked = p.name not in RACK_PROMISES or racked == brokers
    return {p.name: p for p in all_promises if p.name not in RACK_PROMISES or racked or unknown}
