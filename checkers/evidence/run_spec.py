"""The run that decides a reading of a claim."""

from __future__ import annotations

from dataclasses import dataclass

from reassure.checkers.base.declared import pairs
from reassure.spec.claims import Reading


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
