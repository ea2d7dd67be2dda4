"""Output and records of `kafka explore`.

Also here: counterexamples of an exploration: shortest runs, executed again by Kafka's controller, nothing set in
between.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reassure.checkers.kafka.controller.command_properties import (
    COMMAND_PROPERTIES,
    TOPIC_COMMAND_PROPERTIES,
    TOPIC_PROPERTIES,
)
from reassure.checkers.kafka.controller.controller_itf import ControllerRun, executed
from reassure.checkers.kafka.controller.controller_properties import (
    ANSWER_PROPERTIES,
    CAN_END,
    CAN_END_DOC,
    KEEPS_COMMITTED,
    KEEPS_COMMITTED_DOC,
    STATE_PROPERTIES,
)
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explained import Explanation
from reassure.checkers.kafka.controller.explore import ControllerExploration
from reassure.checkers.kafka.controller.explore_logs import LogSearch, LogStep, Loss
from reassure.checkers.kafka.controller.explore_properties import Findings, Hit
from reassure.checkers.kafka.controller.report import side_by_side
from reassure.checkers.kafka.controller.words import NO_PARTITION, ControllerState, braces, described_state
from reassure.checkers.machine.terminal import Console, quantity
from reassure.spec.kafka.partition_properties import SHARED

WITHOUT_REMOVAL = {
    "completion_needs_everything_added": "A reassignment ends, and a replica that it added is not in sync: fewer "
    "brokers than the administrator asked for have what is committed.",
}
"""The harm in a run whose last step removes no replica, of properties whose docs speak of removed ones."""

EPOCHS = ("leader epoch", "partition epoch")
"""Fields that a run is printed without."""
NOTHING = ("{}", "no", "none")
"""Values of a partition's fields that are not printed where it is new."""


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
    figures = f"{quantity(len(graph.states), 'state')}, {quantity(graph.steps, 'step')}"
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
    steps = f"{explanation.count:,} of {quantity(explanation.steps, 'step')}"
    text = f"  {model}'s rules for Kafka {version} differ from the class in {steps}"
    console.print(text, style="red" if explanation.count else "")
    for kind, unexplained in explanation.unexplained.items():
        console.print("")
        console.print(
            f"the rules differ in {quantity(unexplained.count, 'step')} of {kind}; the first:",
            style="red",
        )
        for number, command in enumerate([*unexplained.path, unexplained.first.step.command], 1):
            console.print(f"  {number:3} {command}")
        side_by_side(unexplained.first, version, "the rules", console)


def explanation_record(explanation: Explanation) -> dict[str, object]:
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
        now = {key: text for key, text in described_state(state).items() if not key.endswith(EPOCHS)}
        if run.complete[0]:
            now["hold everything committed"] = braces(run.complete[i])
        changed = {key: text for key, text in now.items() if before.get(key) != text}
        changes = ", ".join(f"{key} {text}" for key, text in changed.items() if key in before or text not in NOTHING)
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


def exploration_record(graph: ControllerExploration, findings: Findings) -> dict[str, object]:
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


def look_for_loss(graph: ControllerExploration, findings: Findings) -> Loss | None:
    """Adds the property over logs to the findings, and its counterexample if it has one."""
    if graph.scope.follows_logs and len(graph.targets) == len(graph.states):
        findings.properties.append(KEEPS_COMMITTED)
        loss = LogSearch(graph).loss()
        if loss is not None:
            findings.violated[KEEPS_COMMITTED] = Hit(KEEPS_COMMITTED, loss.initial)
        return loss
    return None


def counterexamples(
    graph: ControllerExploration,
    findings: Findings,
    loss: Loss | None,
    driver: Driver,
    names: Collection[str] | None = None,
) -> dict[str, Shown]:
    """A shortest run for each property that is violated, in the order of the properties. names: of these only."""
    start = graph.scope.initial_states()
    runs = {}
    for name in findings.properties:
        hit = findings.violated.get(name)
        if hit is None or (names is not None and name not in names):
            continue
        if name == KEEPS_COMMITTED and loss is not None:
            initial, steps = loss.initial, loss.steps
        else:
            initial, commands = graph.path(hit.state)
            commands += [graph.commands[hit.command]] if hit.command is not None else []
            steps = [LogStep(command, 0, 0) for command in commands]
        run, texts = executed(start[initial], steps, driver, graph.scope.setup)
        if hit.command is None and name != KEEPS_COMMITTED and graph.number_of(run.states[-1]) != hit.state:
            raise AssertionError(f"{name}: Kafka {graph.version} does not run its own path again")
        runs[name] = Shown(harm(name, run.states), run, texts)
    return runs


def harm(name: str, states: Sequence[ControllerState]) -> str:
    """What comes of a violated property in a run. states: of the run, at whose last step the property is violated."""
    if name in WITHOUT_REMOVAL and len(states) > 1:
        before, after = ((s.partition, s.second or NO_PARTITION) for s in states[-2:])
        pairs = zip(before, after, strict=True)
        if not any(frozenset(old.replicas) - frozenset(new.replicas) for old, new in pairs):
            return WITHOUT_REMOVAL[name]
    return _doc(name)


def _doc(name: str) -> str:
    docs = {p.name: p.doc for p in (*STATE_PROPERTIES, *ANSWER_PROPERTIES, *COMMAND_PROPERTIES)}
    docs |= {p.name: p.doc for p in (*TOPIC_PROPERTIES, *TOPIC_COMMAND_PROPERTIES)}
    docs |= {p.name: inspect.cleandoc(p.doc).split("\n\n")[0].replace("\n", " ") for p in SHARED}
    docs |= {CAN_END: CAN_END_DOC, KEEPS_COMMITTED: KEEPS_COMMITTED_DOC}
    return consequence(docs[name])


def consequence(doc: str) -> str:
    """The doc of a violated property: what comes of it, without its "Otherwise" and the claims before that."""
    _, otherwise, text = doc.partition("Otherwise ")
    return text[0].upper() + text[1:] if otherwise else doc
