"""The recorded outcomes of the findings' tests on Kafka's own classes: `reassure kafka findings` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class FindingTest:
    """The outcome of a finding's test on a release. Messages are of the failure; "" if the test passes.

    build: the version whose classes ran it. method: SHA-256 of the text of the test method. message: with eligible
    leader replicas on. without_elr: with these off. fixed_build: the version that was patched with the fixes, or "";
    fixed: the message there.
    """

    build: str
    method: str
    message: str
    without_elr: str
    fixed_build: str = ""
    fixed: str = ""


def read(data: Mapping[str, Any]) -> dict[str, FindingTest]:
    """Outcomes by `key` from their JSON; `TypeError` or `AttributeError` for what is none."""
    return {str(name): FindingTest(**outcome) for name, outcome in data.items()}


def written(outcomes: Mapping[str, FindingTest]) -> dict[str, Any]:
    """The JSON of outcomes."""
    return {name: asdict(outcome) for name, outcome in outcomes.items()}


def key(claim: str, release: str) -> str:
    """The name of an outcome: the finding's claim, and the rules of the release."""
    return f"{claim}, {release}"
