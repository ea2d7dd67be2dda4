"""The names of the project's traces: a folder for each claim, in it a file for each run that violates it.

`K21/4.3` is the run of claim K21 by the rules of release 4.3, the oldest that has it; `B4/example` is that of a reading
by its first words. `K21/4.3-2` is the next one. What no claim needs is in a folder of its model, by its first
property; the runs of a mutant are in `mutants`, by the mutant.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reassure.checkers.ledger.ledger import Record
from reassure.checkers.ledger.run_spec import RunSpec
from reassure.checkers.request.model_loader import UnknownModel, load
from reassure.spec import claims
from reassure.spec.claims import Claim, judges

MUTANTS = "mutants"
"""The folder of mutants, in `models/` and among the traces."""
LONGEST_LABEL = 44
"""Characters, so that a file has a name of at most 60."""
LONGEST_WORDS = 32
"""Characters of a reading's name: a short name is typed."""


class TraceKey(NamedTuple):
    """A violation, by which its trace is looked up. config: as JSON; method: `check` or `prove`."""

    model: str
    method: str
    config: str
    property: str

    @staticmethod
    def of(model: str, method: str, config: dict[str, Any], name: str) -> TraceKey:
        """The key of a property's violation under a whole configuration."""
        return TraceKey(model, method, json.dumps(config, sort_keys=True), name)


class TraceUse(NamedTuple):
    """A violation shows that a reading of a claim is violated. Uses compare: the first is about the fewest properties.

    order: of the claim. place: of the reading in its claim.
    """

    of_mutant: bool
    properties: int
    order: tuple[str, int]
    place: int
    claim: str
    reading: str


TraceUses = Mapping[TraceKey, list[TraceUse]]


def trace_uses(every: Iterable[Claim], records: Mapping[str, Record]) -> TraceUses:
    """The readings that each violation is evidence for. records: of the ledger."""
    uses: dict[TraceKey, list[TraceUse]] = defaultdict(list)
    for claim in every:
        for place, reading in enumerate(claim.readings):
            run, about = RunSpec.of(reading), judges(reading)
            if (record := records.get(run.key)) is None:
                continue
            is_of_mutant = reading.column == "mutant"
            use = TraceUse(is_of_mutant, len(about), claims.order(claim.id), place, claim.id, reading.name)
            for name in about:
                uses[TraceKey.of(run.subject, run.method, record.config, name)].append(use)
    return uses


class TracePlace(NamedTuple):
    """The folder of a trace, and its name there but for a number. Places compare: the first gets no number."""

    folder: str
    label: str
    place: int


def trace_place(keys: Iterable[TraceKey], uses: TraceUses) -> TracePlace:
    """The place of the run that shows these violations."""
    several = sorted(keys)
    of_keys = [(use, key) for key in several for use in uses.get(key, [])]
    model = several[0].model
    if not of_keys or min(of_keys)[0].of_mutant:
        if _is_mutant(model):
            return TracePlace(MUTANTS, model, 0)
        return TracePlace(model, min(key.property for key in several)[:LONGEST_LABEL], 0)
    first = min(of_keys)[0]
    releases = [release_of(key) for use, key in of_keys if use.claim == first.claim]
    label = min(filter(None, releases), key=by_release, default="") or _words(first.reading)
    return TracePlace(first.claim, label, first.place)


def release_of(key: TraceKey) -> str:
    """The release of a violation's configuration; "" if its model has none."""
    return str(json.loads(key.config).get("release", ""))


def by_release(release: str) -> list[int]:
    """Sorts releases, the oldest first."""
    return [int(number) for number in release.split(".") if number.isdigit()]


def _words(reading: str) -> str:
    """The first words of a reading's name, as many as a file's name has room for."""
    text = re.sub(r"[^a-z0-9]+", "-", reading.lower()).strip("-")
    return text if len(text) <= LONGEST_WORDS else text[: LONGEST_WORDS + 1].rpartition("-")[0] or text[:LONGEST_WORDS]


def _is_mutant(model: str) -> bool:
    try:
        return load(model).module.split(".")[-2:-1] == [MUTANTS]
    except UnknownModel:
        return False
