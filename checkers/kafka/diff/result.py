"""The whole comparison of two builds as one value: what differs, the runs, the promises, how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore import ControllerExploration
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, SIDES, BuildComparison
from reassure.checkers.kafka.diff.promises import PromiseComparison, compare_promises
from reassure.checkers.kafka.diff.runs import RunOfBoth, run_of_both
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import ALL_VISITED, Stop, StopReason
from reassure.checkers.machine.terminal import counted


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
    def exit(self) -> Exit:
        """15 if the builds differ; 12 or 13 if HEAD breaks a promise that BASE keeps; 5 if one was not finished, or a
        promise that was asked for by name is not decided; 6 if none of those applies. 5 after Ctrl-C."""
        finished = self.stop.reason in (StopReason.COMPLETE, StopReason.DEPTH)
        codes = (Exit.EXPECTATION if self.runs else Exit.OK, self.promises.exit)
        return self.stop.exit_of_several([*codes, Exit.OK if finished else Exit.INCONCLUSIVE])

    def verdict(self, bounds: str) -> str:
        """The result in a line, and the bounds within which it stands."""
        count = len(self.runs)
        text = f"the builds differ: {counted(count, 'difference')}" if count else "no difference"
        unfinished = [
            f"{SIDES[side]} was not finished: {graph.stopped.text}"
            for side, graph in enumerate(self.comparison.graphs)
            if graph.stopped.reason not in (StopReason.COMPLETE, StopReason.DEPTH)
        ]
        if unfinished and not count:
            text = "no difference so far"
        return "; ".join([f"{text} within these bounds: {bounds}", *unfinished])


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
    runs = tuple(run_of_both(comparison, difference, drivers) for difference in comparison.differences())
    progress.proof(f"{len(runs)} differences; judging the promises")
    return BuildDiff(comparison, runs, compare_promises(comparison, patterns, drivers))
