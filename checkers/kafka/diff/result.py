"""The whole comparison of two builds as one value: what differs, the runs, the promises, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore import ControllerExploration
from reassure.checkers.kafka.controller.words import UNVERIFIED_PROPOSALS, Kind
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, SIDES, BuildComparison, BuildDifference
from reassure.checkers.kafka.diff.promises import PromiseComparison, compare_promises
from reassure.checkers.kafka.diff.runs import RunOfBoth, run_of_both
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import ALL_VISITED, Stop, StopReason
from reassure.checkers.machine.terminal import quantity


@dataclass(frozen=True)
class BuildDiff:
    """The result of a comparison. runs: every difference with its run, those with the shortest runs first."""

    comparison: BuildComparison
    runs: tuple[RunOfBoth, ...]
    promises: PromiseComparison

    @property
    def stop(self) -> Stop:
        """Why the comparison ended: the reason of a build that was not finished, if there is one."""
        return next((graph.stopped for graph in self.comparison.graphs if not graph.complete), ALL_VISITED)

    @property
    def finished(self) -> bool:
        """Whether both builds were explored as far as was asked."""
        return self.stop.reason in (StopReason.COMPLETE, StopReason.DEPTH)

    def beyond(self, first: BuildDiff) -> BuildDiff:
        """What another search of the same builds does not show already: commands that differ in other fields, promises.

        A promise that the first search decides is not open in this one, which went to a depth alone.
        """
        shown = {run.difference.name for run in first.runs}
        old, promises = first.promises, self.promises
        only = [{k: v for k, v in promises.only[side].items() if k not in old.only[side]} for side in (BASE, HEAD)]
        undecided = {name: by for name, by in promises.undecided.items() if name in old.undecided}
        return replace(
            self,
            runs=tuple(run for run in self.runs if run.difference.name not in shown),
            promises=replace(promises, only=(only[BASE], only[HEAD]), undecided=undecided, asked=False),
        )

    @property
    def exit(self) -> Exit:
        """15 if the builds differ; 12 or 13 if HEAD breaks a promise that BASE keeps; 5 if one was not finished, or a
        promise that was asked for by name is not decided; 6 if none of those applies. 5 after Ctrl-C."""
        codes = (Exit.EXPECTATION if self.runs else Exit.OK, self.promises.exit)
        return self.stop.exit_of_several([*codes, Exit.OK if self.finished else Exit.INCONCLUSIVE])

    def verdict(self, bounds: str, more: bool = False) -> str:
        """The result in a line, and the bounds within which it stands. more: of what is `beyond` another search."""
        count = len(self.runs)
        text = f"the builds differ: {quantity(count, 'difference')}" if count else "no difference"
        if more:
            text = f"{quantity(count, 'more difference')}" if count else "no other difference"
        unfinished = [
            f"{SIDES[side]} was not finished: {graph.stopped.text}"
            for side, graph in enumerate(self.comparison.graphs)
            if graph.stopped.reason not in (StopReason.COMPLETE, StopReason.DEPTH)
        ]
        if unfinished and not count:
            text += " so far"
        return "; ".join([f"{text} within these bounds: {bounds}", *unfinished])


def verdict_of_all(diffs: Sequence[BuildDiff], bounds: Sequence[str]) -> str:
    """The results of all searches in a line. bounds: of each search that was to be made."""
    texts = [diff.verdict(text, number > 0) for number, (diff, text) in enumerate(zip(diffs, bounds, strict=False))]
    return "; ".join([*texts, *(f"not searched: {text}" for text in bounds[len(diffs) :])])


def of_their_own(differences: Sequence[BuildDifference]) -> list[BuildDifference]:
    """Without those of unverified proposals that proposals with epochs show as well: the same fields, as many steps."""
    usual = {(d.fields, d.count) for d in differences if d.kind is Kind.PROPOSE}
    return [d for d in differences if d.kind not in UNVERIFIED_PROPOSALS or (d.fields, d.count) not in usual]


def compare_builds(
    graphs: tuple[ControllerExploration, ControllerExploration],
    drivers: tuple[Driver, Driver],
    patterns: list[str],
    progress: Progress | None = None,
) -> BuildDiff:
    """Compares two explorations. patterns: the promises to compare, all if empty."""
    progress = progress or Progress(quiet=True)
    progress.proof("comparing the steps")
    comparison = BuildComparison(graphs[BASE], graphs[HEAD])
    differences = of_their_own(comparison.differences())
    runs = tuple(run_of_both(comparison, difference, drivers) for difference in differences)
    progress.proof(f"{len(runs)} differences; judging the promises")
    return BuildDiff(comparison, runs, compare_promises(comparison, patterns, drivers))
