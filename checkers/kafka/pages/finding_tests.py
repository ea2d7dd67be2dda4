"""The recorded outcomes of the findings' tests on Kafka's own classes: `reassure kafka findings` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
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


@dataclass(frozen=True)
class RunWithFixes:
    """A finding's run on a release and on the same release with the fixes.

    build: the release. release_step, step: the first step of the run that it, and that the build with the fixes, takes
    otherwise; 0 if it takes all. text: that step with the fixes. differs: field, its value in the run, its value with
    the fixes. release_test, test: the message of the run's test, which asserts the promise; "" if it passes.
    """

    build: str
    release_step: int
    step: int
    text: str
    differs: tuple[tuple[str, str, str], ...]
    release_test: str
    test: str

    @property
    def words(self) -> str:
        """What came of it, where nothing is wrong."""
        if self.release_step:
            return f"it does not occur in Kafka {self.build}: its step {self.release_step} has another result"
        return "the fixes keep the promise"

    def wrong(self, reason: str) -> str:
        """What is not as it has to be; "" if the fixes change the run and keep its promise.

        reason: a part of the message with which the test of a release fails that breaks the promise.
        """
        if self.release_step:
            return ""
        if not self.release_test:
            return f"Kafka {self.build} takes its run, and keeps the promise"
        if reason not in self.release_test:
            return f"its test fails on Kafka {self.build} for another reason: {self.release_test}"
        if not self.step:
            return f"Kafka {self.build} with the fixes takes every step of its run"
        return f"its run breaks the promise with the fixes: {self.test}" if self.test else ""


def read_runs(data: Mapping[str, Any]) -> dict[str, RunWithFixes]:
    """Runs with the fixes by digest, from their JSON; `TypeError` or `AttributeError` for what is none."""
    runs = {str(name): RunWithFixes(**run) for name, run in data.items()}
    return {
        name: replace(run, differs=tuple((f, one, two) for f, one, two in run.differs)) for name, run in runs.items()
    }


def outcomes_from_json(data: Mapping[str, Any]) -> dict[str, FindingTest]:
    """Outcomes by `key` from their JSON; `TypeError` or `AttributeError` for what is none."""
    return {str(name): FindingTest(**outcome) for name, outcome in data.items()}


def outcomes_as_json(outcomes: Mapping[str, FindingTest | RunWithFixes]) -> dict[str, object]:
    """The JSON of outcomes."""
    return {name: asdict(outcome) for name, outcome in outcomes.items()}


def key(claim: str, release: str) -> str:
    """The name of an outcome: the finding's claim, and the rules of the release."""
    return f"{claim}, {release}"
