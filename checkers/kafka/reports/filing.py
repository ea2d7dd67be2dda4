"""What a report of a finding says beside its evidence: its priority, what has to be so before, the script by hand.

The words are by claim. The preconditions are of the run that the scripts of `repeat-a-finding-by-hand.md` take.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

PAGE = "repeat-a-finding-by-hand.md"
CLUSTER = "cluster.sh"


@dataclass(frozen=True)
class Filing:
    """priority: a word of Jira's. reason: of the priority. preconditions: in an operator's words."""

    priority: str
    reason: str
    preconditions: tuple[str, ...]


@dataclass(frozen=True)
class HandScript:
    """A script in one file, and the sentences of the page on its output: what is expected, what is observed."""

    text: str
    output: str


LOSS = "acknowledged records are lost by a clean election, with unclean election off and `acks=all`, and no request \
reports an error"
ELR_ON = "Eligible leader replicas are on (`eligible.leader.replicas.version=1`)."
UNCLEAN_OFF = "Unclean leader election is off, as by default."
FILINGS = {
    "K21": Filing(
        "Critical",
        LOSS,
        (
            ELR_ON,
            UNCLEAN_OFF,
            "A topic has two replicas and min.insync.replicas=2. A reassignment replaces one of them.",
            "The other replica fails, and the reassignment completes as soon as the added one is in sync.",
            "A later reassignment adds the removed broker again. It has deleted its log.",
            "The only broker in the ISR fails before the added broker has caught up.",
        ),
    ),
    "K20": Filing(
        "Critical",
        LOSS,
        (
            ELR_ON,
            UNCLEAN_OFF,
            "A topic has two replicas and min.insync.replicas=2. A reassignment adds two brokers; one joins the ISR.",
            "One of the original replicas fails, and the administrator cancels the reassignment.",
            "A later reassignment adds the broker again that had joined the ISR. It has deleted its log.",
            "The only broker in the ISR fails before the added broker has caught up.",
        ),
    ),
    "K23": Filing(
        "Major",
        "a reassignment goes on for ever with every replica in sync, and a tool that waits for its end waits for ever; "
        "nothing is lost, and a cancellation ends it",
        (
            "A reassignment that replaces a replica is under way.",
            "The administrator takes it back by asking for the replicas that the partition had, not by a cancellation.",
        ),
    ),
    "K24": Filing(
        "Major",
        "the active controller resigns each time that a broker tries to register, and the broker stays out; it needs "
        "unclean election and a cancellation",
        (
            ELR_ON,
            "Unclean leader election is on for the topic.",
            "A partition is moved from its only replica to another broker, and the first broker fails.",
            "The other broker is elected, and the administrator cancels the reassignment.",
            "The first broker comes back after an unclean shutdown.",
        ),
    ),
    "K14": Filing(
        "Major",
        "a broker deletes a replica that the last request, answered without an error, asked to keep; the records stay "
        "on the other replicas",
        (
            "A reassignment that removes a replica is under way.",
            "The administrator asks for all present replicas, to keep them, and gets the answer NONE.",
        ),
    ),
    "K18": Filing(
        "Major",
        "a partition stays offline although every broker is back with every record; an unclean election by hand ends "
        "it, and loses nothing where the broker has every record",
        (
            ELR_ON,
            UNCLEAN_OFF,
            "Every replica is down or fenced at once, so that the ISR is empty.",
            "The administrator changes min.insync.replicas of the topic before one of them is back.",
        ),
    ),
    "K25": Filing(
        "Critical",
        f"{LOSS}; it needs two failures of a broker and a pause of the leader within one session",
        (
            UNCLEAN_OFF,
            "A replica is out of the ISR and of the ELR, such as one that a reassignment adds.",
            "Its broker fails and is started again within its session, so that it is not registered until that ends.",
            "It copies the last records, and its leader is paused at that moment, for less than the leader's session.",
            "Its broker fails again, and loses records that the operating system had not written to the disk, as where "
            "the machine loses its power. It is started once more, and registers.",
            "The leader goes on, and fails before the broker has copied the records again.",
        ),
    ),
}
"""By the claim of the finding."""


def hand_script(number: int) -> HandScript:
    """The script of a finding, by its number on the page of findings; `cluster.sh` stands in it."""
    page = resources.files(__package__).joinpath(PAGE).read_text(encoding="utf-8")
    blocks = {name: text for text, name in re.findall(r"^```sh\n(# ([\w.-]+).*?)^```", page, re.DOTALL | re.MULTILINE)}
    name = f"finding-{number}.sh"
    steps = blocks[name].replace(f". ./{CLUSTER}\n", blocks[CLUSTER])
    after = page[page.index(blocks[name]) + len(blocks[name]) :].removeprefix("```")
    output = " ".join(after.partition("\n## ")[0].split())
    return HandScript(f"#!/usr/bin/env bash\n{steps}", output)
