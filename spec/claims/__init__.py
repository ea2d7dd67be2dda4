"""What the source documents promise, as data: one TOML file a document, read by the claims ledger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What an exhaustive enumeration of a pure function says of a claim (method `enumerate`)."""

    holds: bool
    cases: int
    bounds: str
    counterexample: str | None = None
