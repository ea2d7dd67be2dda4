"""Counterexamples of an exploration: shortest runs, executed again by Kafka's controller, nothing set in between."""

from __future__ import annotations

import inspect
from collections.abc import Collection

from reassure.checkers.kafka.controller.controller_itf import executed
from reassure.checkers.kafka.controller.controller_properties import (
    ANSWER_PROPERTIES,
    CAN_END,
    CAN_END_DOC,
    KEEPS_COMMITTED,
    KEEPS_COMMITTED_DOC,
    STATE_PROPERTIES,
)
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore import ControllerExploration
from reassure.checkers.kafka.controller.explore_commands import COMMAND_PROPERTIES
from reassure.checkers.kafka.controller.explore_logs import LogSearch, LogStep, Loss
from reassure.checkers.kafka.controller.explore_properties import Findings, Hit
from reassure.checkers.kafka.controller.explore_report import Shown
from reassure.spec.kafka.partition_properties import SHARED


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
        runs[name] = Shown(_doc(name), run, texts)
    return runs


def _doc(name: str) -> str:
    docs = {p.name: p.doc for p in (*STATE_PROPERTIES, *ANSWER_PROPERTIES, *COMMAND_PROPERTIES)}
    docs |= {p.name: inspect.cleandoc(p.doc).split("\n\n")[0].replace("\n", " ") for p in SHARED}
    docs |= {CAN_END: CAN_END_DOC, KEEPS_COMMITTED: KEEPS_COMMITTED_DOC}
    return consequence(docs[name])


def consequence(doc: str) -> str:
    """The doc of a violated property: what comes of it, without its "Otherwise" and the claims before that."""
    _, otherwise, text = doc.partition("Otherwise ")
    return text[0].upper() + text[1:] if otherwise else doc
