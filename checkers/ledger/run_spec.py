"""The run that decides a reading of a claim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reassure.checkers.request.declared import pairs
from reassure.spec.claims import Claim, Reading


@dataclass(frozen=True)
class RunSpec:
    """A model under a configuration by a method (`check`, `prove`), or a function that goes through cases."""

    method: str
    subject: str
    """The model's name; with `enumerate`, the function's."""
    settings: tuple[str, ...] = ()
    """KEY=VALUE, sorted by key."""

    @staticmethod
    def of(reading: Reading) -> RunSpec:
        """The run that decides a reading."""
        if reading.function is not None:
            return RunSpec(reading.method, reading.function)
        return RunSpec(reading.method, str(reading.model), tuple(pairs(dict(sorted(reading.set.items())))))

    @property
    def key(self) -> str:
        """Its record's name in the ledger."""
        return " ".join([self.method, self.subject, *self.settings])


def properties_by_run(chosen: Iterable[Claim]) -> dict[RunSpec, set[str]]:
    """The runs that claims need, with the properties and covers that are asked of each."""
    needed: dict[RunSpec, set[str]] = {}
    for reading in (r for c in chosen for r in c.readings):
        needed.setdefault(RunSpec.of(reading), set()).update(reading.properties)
    return needed
