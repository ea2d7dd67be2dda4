"""The runs that show how two builds differ: executed again by both, nothing set in between."""

from __future__ import annotations

from dataclasses import dataclass

from reassure.checkers.kafka.controller.controller_itf import ControllerRun, executed
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore_logs import LogStep
from reassure.checkers.kafka.controller.words import ControllerState, described_state
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, SIDES, BuildComparison, BuildDifference
from reassure.checkers.machine.exit_codes import Exit, Failure


@dataclass(frozen=True)
class RunOfBoth:
    """A difference with its run. runs: of BASE and of HEAD; texts: Kafka's own words of the last step.

    Where only one build takes the steps before the last, the other build's run begins in the state before the last.
    """

    difference: BuildDifference
    runs: tuple[ControllerRun, ControllerRun]
    texts: tuple[str, str]

    @property
    def longest(self) -> ControllerRun:
        """The whole run, of the build that takes all its steps."""
        return self.runs[self.difference.side or BASE]

    @property
    def before(self) -> ControllerState:
        """The state before the last step."""
        return self.longest.states[-2]

    def rows(self) -> list[tuple[str, str, str]]:
        """The fields that differ after the last step: the field, its value of BASE, its value of HEAD."""
        ours, theirs = ({"answer": run.answers[-1], **described_state(run.states[-1])} for run in self.runs)
        pairs = [(name, ours.get(name, "-"), theirs.get(name, "-")) for name in {**ours, **theirs}]
        differing = [(name, one, other) for name, one, other in pairs if one != other]
        return differing or [("records", *(str(_records(text)) for text in self.texts))]  # type: ignore[list-item]


def run_of_both(comparison: BuildComparison, difference: BuildDifference, drivers: tuple[Driver, Driver]) -> RunOfBoth:
    """Executes the run of a difference; `Failure` if a build does not do again what it did in its exploration."""
    scope = comparison.graphs[BASE].scope
    start = scope.initial_states()[difference.initial]
    steps = [LogStep(command, 0, 0) for command in (*difference.before, difference.last)]
    runs: list[ControllerRun] = []
    texts: list[str] = []
    whole = BASE if difference.side is None else difference.side
    for side in (whole, 1 - whole):
        begin, rest = start, steps
        if difference.side not in (None, side):
            begin, rest = runs[0].states[-2], steps[-1:]
        run, words = executed(begin, rest, drivers[side], scope.setup)
        _must_be_as_explored(comparison, difference, side, run)
        runs.append(run)
        texts.append(words[-1])
    if whole == HEAD:
        runs.reverse()
        texts.reverse()
    return RunOfBoth(difference, (runs[BASE], runs[HEAD]), (texts[BASE], texts[HEAD]))


def _must_be_as_explored(
    comparison: BuildComparison, difference: BuildDifference, side: int, run: ControllerRun
) -> None:
    graph, place = comparison.graphs[side], difference.place
    target = int(graph.targets[place.numbers[side], place.command])
    states = [place.numbers[side], target] if target >= 0 else [place.numbers[side]] * 2
    if [graph.number_of(state) for state in run.states[-2:]] != states:
        text = f"{SIDES[side]} (Kafka {graph.version}) does not do again what it did in its exploration"
        raise Failure(Exit.DISAGREE, f"{text}: {', '.join(step for step, _, _ in run.steps[1:])}")


def _records(text: str) -> int:
    """The number of records in Kafka's own words."""
    return sum("Record(" in line for line in text.splitlines())
