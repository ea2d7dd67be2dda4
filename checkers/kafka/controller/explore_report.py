"""Output and records of `kafka explore`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reassure.checkers.kafka.controller.controller_itf import ControllerRun
from reassure.checkers.kafka.controller.explained import Explanation
from reassure.checkers.kafka.controller.explore import ControllerExploration
from reassure.checkers.kafka.controller.explore_properties import Findings, Hit
from reassure.checkers.kafka.controller.report import side_by_side
from reassure.checkers.kafka.controller.words import braces, described
from reassure.checkers.machine.terminal import Console, counted


@dataclass(frozen=True)
class Shown:
    """A counterexample as it is shown: why it matters, the run, and Kafka's own words for each step."""

    doc: str
    run: ControllerRun
    texts: list[str]


def report_exploration(
    graph: ControllerExploration, findings: Findings, runs: dict[str, Shown], console: Console
) -> None:
    """Figures, then each property with how it is violated, then the covers."""
    figures = f"{counted(len(graph.states), 'state')}, {counted(graph.steps, 'step')}"
    console.print(f"Kafka {graph.version}, {graph.scope.text}: {figures}", style="bold")
    console.print(f"  {len(graph.levels)} levels in {graph.seconds:.1f} s; {graph.stopped.text}", style="dim")
    for name in findings.properties:
        hit = findings.violated.get(name)
        if hit is not None:
            console.print(f"  {name}: violated", style="red")
        else:
            console.print(f"  {name}: {'holds' if graph.complete else 'not violated so far'}")
    unreached = [name for name in findings.covers if name not in findings.reached]
    reached = len(findings.covers) - len(unreached)
    console.print(f"  {reached} of {len(findings.covers)} covers are reached")
    for name in unreached:
        console.print(f"    not reached: {name}", style="yellow")
    for name, run in runs.items():
        console.print("")
        console.print(f"{name} is violated: {run.doc}", style="red")
        report_run(run.run, run.texts, console)


def report_explanation(explanation: Explanation, model: str, version: str, console: Console) -> None:
    """In how many steps the model's rules differ from the class; for each kind of command the first such step."""
    steps = f"{explanation.count:,} of {counted(explanation.steps, 'step')}"
    text = f"  {model}'s rules for Kafka {version} differ from the class in {steps}"
    console.print(text, style="red" if explanation.count else "")
    for kind, unexplained in explanation.unexplained.items():
        console.print("")
        console.print(
            f"the rules differ in {counted(unexplained.count, 'step')} of {kind}; the first:",
            style="red",
        )
        for number, command in enumerate([*unexplained.path, unexplained.first.step.command], 1):
            console.print(f"  {number:3} {command}")
        side_by_side(unexplained.first, version, "the rules", console)


def explanation_record(explanation: Explanation) -> dict[str, Any]:
    """The same as data."""
    kinds = {kind: kind_of.count for kind, kind_of in explanation.unexplained.items()}
    return {"compared_steps": explanation.steps, "unexplained_steps": explanation.count, "unexplained": kinds}


def report_run(run: ControllerRun, texts: list[str], console: Console, steps: int | None = None) -> None:
    """A run step by step: the call, the answer of Kafka, the fields that change.

    texts: Kafka's own words. steps: only the first of them, the initial state not counted (default: all).
    """
    before: dict[str, str] = {}
    for i, state in enumerate(run.states[: None if steps is None else steps + 1]):
        name, command, follower = run.steps[i]
        call = str(command) if command is not None else f"{name}({follower or ''})"
        answer = f" -> {run.answers[i]}" if run.answers[i] not in ("", "NONE") else ""
        now = {key: text for key, text in described(state).items() if key not in ("leader epoch", "partition epoch")}
        if run.complete[0]:
            now["hold everything committed"] = braces(run.complete[i])
        changes = ", ".join(f"{key} {text}" for key, text in now.items() if before.get(key) != text)
        if i == 0:
            unclean = "allowed" if state.unclean else "not allowed"
            changes = (
                ", ".join(f"{key} {now[key]}" for key in ("replicas", "ISR", "leader"))
                + f"; unclean election {unclean}"
            )
        console.print(f"  {i:2} {call}{answer}")
        if changes:
            console.print(f"       {changes}", style="dim")
        if "resigns" in run.answers[i]:
            for line in texts[i].splitlines()[:3]:
                console.print(f"       {line}", style="dim")
        before = now


def exploration_record(graph: ControllerExploration, findings: Findings) -> dict[str, Any]:
    """The same as data."""
    return {
        "release": graph.version,
        "brokers": graph.scope.brokers,
        "min_isr": graph.scope.min_isr,
        "bounds": graph.scope.text,
        "states": len(graph.states),
        "steps": graph.steps,
        "levels": graph.levels,
        "complete": graph.complete,
        "stopped_because": graph.stopped.text,
        "seconds": round(graph.seconds, 2),
        "properties": [
            {"name": name, "status": _status(name, graph, findings), "hits": _hits(findings.violated.get(name))}
            for name in findings.properties
        ],
        "covers": [{"name": name, "reached": name in findings.reached} for name in findings.covers],
        "not_applicable": findings.not_applicable,
    }


def _status(name: str, graph: ControllerExploration, findings: Findings) -> str:
    if name in findings.violated:
        return "violated"
    return "holds" if graph.complete else "unknown"


def _hits(hit: Hit | None) -> int:
    return hit.count if hit is not None else 0
