"""Patches of a release compared with the release itself: does `kafka diff` show each of them, and how?

The release is explored once for each scope. A patch without a difference in one scope is tried in the next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.kafka.builds.own_tests import OwnTests, run_own_tests
from reassure.checkers.kafka.builds.patched_build import make_build, sources
from reassure.checkers.kafka.controller.class_path import ClassPath, fetch
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore import ControllerExploration, ExploreLimits, Scope, explore_controller
from reassure.checkers.kafka.controller.releases import Release, release
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, BuildComparison
from reassure.checkers.kafka.diff.prices import PriceRun, prices
from reassure.checkers.kafka.diff.promises import compare_promises
from reassure.checkers.kafka.diff.report import difference_record
from reassure.checkers.kafka.diff.runs import RunOfBoth, run_of_both
from reassure.checkers.machine.own_files import temporary_folder
from reassure.checkers.machine.progress import Progress


@dataclass(frozen=True)
class PatchOutcome:
    """The comparison of a release with a build of it.

    paths: of its patches; digests: their SHA-256; comment: their own, or "". scope: the last that was tried; complete:
    each that was tried was searched to its end. states: of the patched build. differences: their names, those with the
    shortest runs first. run: the commands of the shortest; groups: all differences with their runs, and prices:
    `prices` with theirs, if they were asked for. head_breaks, base_breaks: promises that only one of the two breaks.
    own_tests: Kafka's own, if they were run. seconds: building and exploring, in all scopes that were tried.
    """

    paths: tuple[Path, ...]
    digests: tuple[str, ...]
    comment: str
    scope: Scope
    states: int
    steps: int
    differing_steps: int
    differences: tuple[str, ...]
    run: tuple[str, ...]
    head_breaks: tuple[str, ...]
    base_breaks: tuple[str, ...]
    complete: bool
    own_tests: OwnTests | None
    seconds: float
    groups: tuple[RunOfBoth, ...] | None = None
    prices: dict[str, PriceRun | None] | None = None

    @property
    def name(self) -> str:
        """The names of the patches."""
        return " + ".join(path.stem for path in self.paths)

    def record(self) -> dict[str, object]:
        """The outcome as data, with the digest of the patch."""
        row: dict[str, object] = {
            "patch": self.name,
            "sha256": list(self.digests),
            "comment": self.comment,
            "brokers": self.scope.brokers,
            "unclean": ["on" if unclean else "off" for unclean in self.scope.unclean],
            "states": self.states,
            "steps": self.steps,
            "differing_steps": self.differing_steps,
            "differences": list(self.differences),
            "run": list(self.run),
            "head_breaks": list(self.head_breaks),
            "base_breaks": list(self.base_breaks),
            "complete": self.complete,
            "own_tests": self.own_tests and {"passed": self.own_tests.passed, "failed": len(self.own_tests.failed)},
            "seconds": round(self.seconds, 1),
        }
        if self.groups is not None and self.prices is not None:
            row["groups"] = [difference_record(run) for run in self.groups]
            row["prices"] = {name: run and _price_record(run) for name, run in self.prices.items()}
        return row


def _price_record(price: PriceRun) -> dict[str, object]:
    return {
        "run": [str(command) for command in price.run],
        "differs": [{"field": field, "base": base, "head": head} for field, base, head in price.differs],
    }


class PatchJudge:
    """Compares patches with their release, whose explorations it keeps.

    own_tests: Kafka's own tests are run too. groups: each difference and each price gets its run.
    """

    def __init__(
        self,
        kafka: Release,
        scopes: Sequence[Scope],
        jvms: int,
        limits: ExploreLimits,
        own_tests: bool = False,
        groups: bool = False,
    ) -> None:
        self.kafka, self.scopes, self.jvms, self.limits = kafka, scopes, jvms, limits
        self.own_tests, self.groups = own_tests, groups
        sources(kafka)  # what cannot be built is told before anything is explored
        self.base = fetch(kafka)
        self.explored: dict[Scope, ControllerExploration] = {}

    def outcomes(self, builds: Sequence[Sequence[Path]], progress: Progress) -> Iterator[PatchOutcome]:
        """The outcome of each build, given by its patches; `Failure` for one that does not fit or does not compile."""
        with Driver(self.base) as driver:
            for patches in builds:
                with temporary_folder("kafka") as folder:
                    yield self._outcome(patches, folder / "build", driver, progress)

    def _outcome(self, patches: Sequence[Path], folder: Path, driver: Driver, progress: Progress) -> PatchOutcome:
        began = time.monotonic()
        build = make_build(patches, self.kafka, folder)
        head, complete = fetch(release(str(folder))), True
        for scope in self.scopes:
            began -= time.monotonic()
            base = self._explored(scope, progress)  # not counted: it is explored once for all patches
            began += time.monotonic()
            comparison = BuildComparison(base, self._explore(head, scope, progress))
            differences = comparison.differences()
            complete = complete and comparison.complete
            if differences:
                break
        with Driver(head) as other:
            promises = compare_promises(comparison, [], (driver, other))
            both = (driver, other)
            groups = tuple(run_of_both(comparison, d, both) for d in differences) if self.groups else None
        first = differences[0] if differences else None
        seconds = time.monotonic() - began
        return PatchOutcome(
            tuple(patches),
            build.digests,
            build.comment,
            scope,
            len(comparison.graphs[HEAD].states),
            comparison.steps,
            comparison.differing_steps,
            tuple(d.name for d in differences),
            tuple(str(command) for command in (*first.before, first.last)) if first else (),
            tuple(promises.only[HEAD]),
            tuple(promises.only[BASE]),
            complete,
            run_own_tests(build) if self.own_tests else None,
            seconds,
            groups,
            prices(comparison) if self.groups else None,
        )

    def _explored(self, scope: Scope, progress: Progress) -> ControllerExploration:
        if scope not in self.explored:
            self.explored[scope] = self._explore(self.base, scope, progress)
        return self.explored[scope]

    def _explore(self, path: ClassPath, scope: Scope, progress: Progress) -> ControllerExploration:
        progress.begin()
        return explore_controller(path, scope, self.jvms, self.limits, progress)
