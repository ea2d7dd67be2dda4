"""The bounds of an exploration as options: of `kafka explore`, `kafka diff`."""

from __future__ import annotations

import argparse
from dataclasses import replace

from reassure.checkers.kafka.controller.explore import (
    EVENTS,
    KEY_BROKERS,
    KEY_MIN_ISR,
    LATE,
    TOPIC_BROKERS,
    TOPIC_MIN_ISR,
    UNVERIFIED,
    Scope,
)
from reassure.checkers.kafka.controller.words import MAX_BROKERS, few_enough
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.options import positive
from reassure.checkers.request.shared_options import Option

UNCLEAN = {"either": (False, True), "off": (False,), "on": (True,)}
SCOPE_OPTIONS = (
    Option(
        "--brokers N",
        f"number of brokers, 1 to {MAX_BROKERS}; at most {KEY_BROKERS} where settings change: --configuration changes, "
        "--events cordon or unregister (default: 3)",
        positive,
        3,
    ),
    Option("--min-isr N", "min.insync.replicas (default: 2)", positive, 2),
    Option("--replicas N", "replicas of the partition at the start (default: 2)", positive, 2),
    Option(
        "--unclean",
        "unclean leader election; either: both are searched (default: either)",
        default="either",
        choices=tuple(UNCLEAN),
    ),
    Option(
        "--configuration",
        "changes: MinISR (1 to --brokers) and unclean election change on the way (default: fixed)",
        default="fixed",
        choices=("fixed", "changes"),
    ),
    Option(
        "--events EVENT",
        f"search these events too: {', '.join(EVENTS)} (default: none)",
        choices=tuple(EVENTS),
        default=(),
        nargs="+",
    ),
    Option("--controlled-shutdown", "the same as --events controlled-shutdown", bool),
    Option("--elr", "eligible leader replicas (default: on)", default="on", choices=("on", "off")),
    Option(
        "--metadata-version V",
        "the cluster's metadata version, such as 3.9-IV0 (default: the release's newest)",
        default="",
    ),
    Option(
        "--company", "each request names a second partition too, whose change throws (default: one partition)", bool
    ),
    Option(
        "--topic",
        "the topic is deleted and created again, and gets a second partition, which is reassigned too; at most "
        f"{TOPIC_BROKERS} brokers (default: one partition of a topic that stays)",
        bool,
    ),
)
"""In the order of the commands' pages."""


def scope_of(args: argparse.Namespace) -> Scope:
    """The bounds of these options; `Failure` for a contradiction, or for what the words of a state have no room for."""
    if args.replicas > args.brokers:
        raise Failure(Exit.USAGE, f"--replicas {args.replicas} is more than --brokers {args.brokers}")
    events = {*args.events, *(["controlled-shutdown"] if args.controlled_shutdown else [])}
    return fitting(
        Scope(
            args.brokers,
            args.min_isr,
            args.replicas,
            UNCLEAN[args.unclean],
            args.configuration == "changes",
            tuple(name for name in EVENTS if name in events),
            args.elr == "on",
            args.metadata_version,
            args.company,
            args.topic,
        )
    )


def fitting(scope: Scope) -> Scope:
    """The same bounds; `Failure` if the words of a state have no room for them."""
    few_enough(scope.brokers, "--brokers")
    settings = scope.configuration_changes or {"cordon", "unregister"} & {*scope.events}
    if scope.brokers > KEY_BROKERS and settings:
        text = f"--brokers {scope.brokers}: changes of settings are searched with {KEY_BROKERS} brokers at most"
        raise Failure(Exit.USAGE, text)
    if scope.min_isr >= 1 << (bits := TOPIC_MIN_ISR if scope.topic else KEY_MIN_ISR):
        raise Failure(Exit.USAGE, f"--min-isr {scope.min_isr} is more than {(1 << bits) - 1}")
    if scope.topic:
        _must_fit_with_topic(scope)
    return scope


def _must_fit_with_topic(scope: Scope) -> None:
    if scope.company:
        raise Failure(Exit.USAGE, "--topic has a second partition of its own: leave out --company")
    if scope.brokers > TOPIC_BROKERS:
        raise Failure(Exit.USAGE, f"--topic is searched with {TOPIC_BROKERS} brokers at most")
    if scope.brokers == TOPIC_BROKERS and {"cordon", "unregister"} & {*scope.events}:
        raise Failure(Exit.USAGE, f"--topic with cordon or unregister is searched with {TOPIC_BROKERS - 1} brokers")


def with_late_proposals(scope: Scope) -> Scope:
    """The scope with ISR proposals that are to be refused: a check that a build lacks shows in these alone."""
    return _with_events(scope, LATE)


def with_all_proposals(scope: Scope) -> Scope:
    """The same, and with proposals whose broker epochs cannot be verified: a check that a build adds shows there."""
    return _with_events(scope, LATE, UNVERIFIED)


def _with_events(scope: Scope, *names: str) -> Scope:
    return replace(scope, events=tuple(name for name in EVENTS if name in (*scope.events, *names)))
