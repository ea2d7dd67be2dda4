"""A page of the models' assumptions about brokers, with what clusters of real brokers did."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from reassure.checkers.ledger.ledger import PATHS
from reassure.checkers.ledger.markdown import BY, table
from reassure.checkers.machine.exit_codes import Exit, Failure

ASSUMPTIONS = PATHS.traces / "assumptions.json"
HEAD = """# The models beside real brokers

{by} from the records of `reassure kafka cluster --assumptions` and
`reassure kafka cluster --random`.

## Assumptions

Kafka's classes execute the controller's part of a run. The models add the brokers: their logs, the leader's requests,
the high watermark. Each assumption below was tried by a small scenario (`checkers/kafka/cluster/assumptions.py`) on a
cluster of the release's own processes.

Not tried is the loss of a machine's power, after which a log lacks what the operating system had not written (Kafka
does not flush a log before it acknowledges a record). The models take that worst case: there a broker that registers
after an unclean shutdown has lost its log, while a process that was only killed keeps it. One scenario removes a log.

Three scenarios hold back what a leader hears, or what it sends to the controller. In the models a leader proposes a
follower that is unfenced at that moment, and the request has the broker epochs of that moment. A leader of Kafka goes
by the epoch of the follower's last fetch, and by the metadata that it has heard. If it hears late, it proposes later,
or its request has an old epoch: as one of the models' that was made earlier and is answered later.

Kafka does otherwise in one case. In the models a broker that comes back fetches once it is registered anew. A broker of
Kafka that is started again within its session is not registered until the session ends, and fetches anyway: with
epoch -1, which its leader puts into the request, and for which neither leader nor controller compares registrations.
So it can join the ISR by the registration of the process before; and if it loses any tail of its log and registers
anew while such a request, or the fetch that leads to it, is on its way, the request is accepted anyway, which loses
acknowledged records though unclean election is off. In that scenario the session is 20 s, the request is held back and
the log removed by the command; in the runs of [finding 7](../findings.md#measured-on-real-brokers) nothing is held
back, and the log loses only what was not on the disk.
[`unregistered_fetch`](../../models/kraft/unregistered_fetch.md) is a model of this case alone: it finds the loss in
15 steps, by a fetch that waits in the leader, and shows that each of three fixes excludes it. The other models have no
request with epoch -1: their answers do not cover it. The controller alone is searched with such requests by
`reassure kafka explore --events unverified-proposals` and `reassure kafka diff`.
"""


@dataclass(frozen=True)
class Assumption:
    """An assumption tried on a release. holds: by the observation `seen`."""

    text: str
    release: str
    holds: bool
    seen: str


def recorded_assumptions(path: Path = ASSUMPTIONS) -> list[Assumption]:
    """The assumptions of a file; none if there is no file. `Failure` (153) for another content."""
    if not path.is_file():
        return []
    try:
        return [Assumption(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError):
        raise Failure(
            Exit.SYSTEM, f"{path} is not a file of assumptions: write it by `reassure kafka cluster --assumptions`"
        ) from None


def with_newer(before: Iterable[Assumption], newer: Iterable[Assumption]) -> list[Assumption]:
    """Assumptions, those of the same text and release replaced; in the order of their texts' first appearance."""
    latest = {(a.text, a.release): a for a in [*before, *newer]}
    texts = list(dict.fromkeys(text for text, _ in latest))
    return sorted(latest.values(), key=lambda a: (texts.index(a.text), [-int(n) for n in a.release.split(".")]))


def assumptions_text(assumptions: Iterable[Assumption]) -> str:
    """The text of a file."""
    return json.dumps([asdict(a) for a in assumptions], indent=1) + "\n"


def broker_page(assumptions: list[Assumption]) -> str:
    """The page."""
    rows, last = [], ""
    for a in assumptions:
        rows.append([a.text if a.text != last else "", a.release, "yes" if a.holds else "no", a.seen])
        last = a.text
    return HEAD.format(by=BY) + "\n" + table(("assumption", "release", "holds", "seen"), rows) + "\n"
