"""Kafka's controller with two brokers explored, once for each release: what several test modules look at."""

from __future__ import annotations

from functools import cache

from reassure.checkers.kafka.controller.explore import (
    ControllerExploration,
    ExploreLimits,
    Scope,
    explore_controller,
    explore_with,
)
from reassure.checkers.kafka.controller.explore_properties import Findings, evaluate
from reassure.checkers.kafka.controller.explore_report import Shown, counterexamples, look_for_loss
from reassure.checkers.machine.progress import Progress
from tests.helpers.kafka_jars import class_path, shared_driver


@cache
def explored(version: str, jvms: int = 1) -> ControllerExploration:
    """Every state of two brokers; one JVM is that which the tests share."""
    quiet = Progress(quiet=True)
    if jvms == 1:
        return explore_with([shared_driver(version)], Scope(2), ExploreLimits(), quiet)
    return explore_controller(class_path(version), Scope(2), jvms, ExploreLimits(), quiet)


@cache
def findings_of(version: str) -> tuple[Findings, dict[str, Shown]]:
    """What is violated there, and the counterexamples by property."""
    found = explored(version)
    findings = evaluate(found)
    loss = look_for_loss(found, findings)
    driver = shared_driver(version)
    return findings, counterexamples(found, findings, loss, driver)
