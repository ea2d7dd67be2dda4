"""Differences and broken promises as code hosts show them: at lines of HEAD's sources."""

from __future__ import annotations

from reassure.checkers.console.code_hosts import Alert, SourcePlace
from reassure.checkers.kafka.controller.controller_itf import ControllerRun
from reassure.checkers.kafka.controller.explore_report import Shown
from reassure.checkers.kafka.diff.analysis import HEAD
from reassure.checkers.kafka.diff.report import report_broken, report_run_of_both
from reassure.checkers.kafka.diff.result import BuildDiff
from reassure.checkers.kafka.diff.runs import RunOfBoth
from reassure.checkers.kafka.diff.sources import HeadSources
from reassure.checkers.machine.terminal import printed

RULES = "kafka-diff"


def alerts(diff: BuildDiff, sources: HeadSources, again: str) -> list[Alert]:
    """A problem for each promise that HEAD alone breaks, then a warning for each difference. again: the command."""
    broken = [_broken(name, shown, sources, again) for name, shown in diff.promises.only[HEAD].items()]
    return [*broken, *(_difference(run, sources, again) for run in diff.runs)]


def _broken(name: str, shown: Shown, sources: HeadSources, again: str) -> Alert:
    last = shown.run.steps[-1][1]
    return Alert(
        f"{RULES}/{name}",
        shown.doc,
        f"HEAD breaks {name}, BASE keeps it. {shown.doc}\nagain: {again}",
        sources.place(last.kind if last is not None else None, shown.texts[-1]),
        f"{RULES}\0{name}",
        False,
        printed(lambda console: report_broken(name, HEAD, shown, console)).strip(),
        _steps(shown.run, sources),
    )


def _difference(run: RunOfBoth, sources: HeadSources, again: str) -> Alert:
    d = run.difference
    return Alert(
        f"{RULES}/{d.name}",
        f"{d.kind.name.lower()}: {', '.join(d.fields)} differ from BASE",
        f"{d.title}\nagain: {again}",
        sources.place(d.kind, run.texts[HEAD]),
        f"{RULES}\0{d.name}",
        True,
        printed(lambda console: report_run_of_both(run, console)).strip(),
        _steps(run.longest, sources),
    )


def _steps(run: ControllerRun, sources: HeadSources) -> tuple[tuple[SourcePlace, str], ...]:
    """Each step of a run at the method that carries it out."""
    return tuple(
        (sources.place(command.kind if command is not None else None, ""), str(command) if command else name)
        for name, command, _ in run.steps
    )
