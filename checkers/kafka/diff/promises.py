"""The promises that one of two builds keeps and the other breaks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase

from reassure.checkers.kafka.controller.controller_itf import ControllerRun, executed
from reassure.checkers.kafka.controller.controller_properties import CAN_END, KEEPS_COMMITTED
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore_logs import LogStep
from reassure.checkers.kafka.controller.explore_properties import Findings, evaluate, names_of_promises
from reassure.checkers.kafka.controller.explore_report import Shown, counterexamples, look_for_loss
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, SIDES, BuildComparison
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.stop import StopReason


@dataclass(frozen=True)
class PromiseComparison:
    """The promises by who breaks them. only: by build, those that it alone breaks, each with a shortest run.

    kept: neither breaks them, as far as they were explored. undecided: promises that the states explored do not decide,
    with the build that breaks them, or "". not_applicable: those that are about nothing within these bounds. asked: not
    all promises were, but some by name. keepers: the commands of those runs, by the build that keeps the promise.
    """

    only: tuple[dict[str, Shown], dict[str, Shown]] = field(default_factory=lambda: ({}, {}))
    both: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    undecided: dict[str, str] = field(default_factory=dict)
    not_applicable: list[str] = field(default_factory=list)
    asked: bool = False
    keepers: dict[str, ControllerRun] = field(default_factory=dict)

    @property
    def exit(self) -> Exit:
        """12 or 13 if HEAD breaks a promise that BASE keeps; of promises by name 5 if one is not decided, and 6 if none
        applies."""
        broken = self.only[HEAD]
        if not broken and self.asked:
            judged = self.only[BASE] or self.both or self.kept
            return Exit.INCONCLUSIVE if self.undecided else Exit.OK if judged else Exit.NOTHING
        return exit_of_broken(broken)


def exit_of_broken(promises: Collection[str]) -> Exit:
    """What it means that HEAD breaks promises which BASE keeps."""
    if not promises:
        return Exit.OK
    return Exit.LIVENESS if set(promises) == {CAN_END} else Exit.SAFETY


def compare_promises(
    comparison: BuildComparison, patterns: list[str], drivers: tuple[Driver, Driver]
) -> PromiseComparison:
    """Judges every promise on both explorations. patterns: only these promises, * for any letters; all if empty."""
    findings = [evaluate(graph) for graph in comparison.graphs]
    losses = [look_for_loss(graph, f) for graph, f in zip(comparison.graphs, findings, strict=True)]
    without = set(findings[BASE].not_applicable)
    without |= set() if comparison.graphs[BASE].scope.follows_logs else {KEEPS_COMMITTED}
    result = PromiseComparison(asked=bool(patterns))
    broken_by_one: tuple[list[str], list[str]] = ([], [])
    for name in names_of_promises(comparison.graphs[BASE].scope.topic):
        if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        if name in without:
            result.not_applicable.append(name)
            continue
        broken = [name in f.violated for f in findings]
        if all(broken):
            result.both.append(name)
        elif any(broken) and _decided(name, broken.index(False), comparison, findings):
            broken_by_one[broken.index(True)].append(name)
        elif not all(_decided(name, side, comparison, findings) for side in (BASE, HEAD)):
            result.undecided[name] = SIDES[broken.index(True)] if any(broken) else ""
        else:
            result.kept.append(name)
    for side in (BASE, HEAD):
        names = broken_by_one[side]
        runs = counterexamples(comparison.graphs[side], findings[side], losses[side], drivers[side], names)
        result.only[side].update(runs)
        result.keepers.update({name: _taken(shown.run, drivers[1 - side]) for name, shown in runs.items()})
    return result


def _taken(run: ControllerRun, driver: Driver) -> ControllerRun:
    """The commands of a run by another build; steps of logs are left out."""
    steps = [LogStep(command, 0, 0) for _, command, _ in run.steps if command is not None]
    return executed(run.states[0], steps, driver, run.setup)[0]


def _decided(name: str, side: int, comparison: BuildComparison, findings: list[Findings]) -> bool:
    """Whether a promise that a build was not seen to break is kept: within the bounds that were asked for."""
    graph = comparison.graphs[side]
    return name in findings[side].properties and graph.stopped.reason in (StopReason.COMPLETE, StopReason.DEPTH)


def must_be_promises(patterns: list[str]) -> None:
    """`Failure` for a pattern that is the name of none."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names_of_promises(topic=True)):
            close = get_close_matches(pattern, names_of_promises(topic=True), 3, 0.4)
            near = f", but {', '.join(close)}" if close else ""
            text = f"there is no promise {pattern!r}{near}; `reassure kafka explore --brokers 2` lists them"
            raise Failure(Exit.USAGE, text)
