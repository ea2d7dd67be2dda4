"""`reassure kafka`: Kafka's own controller classes, run beside the models."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.argument_types import duration
from reassure.checkers.base.exit_codes import Exit, Failure, worst
from reassure.checkers.cli.files import read_trace
from reassure.checkers.cli.parser import note
from reassure.checkers.kafka.class_path import MAVEN_SECONDS, fetch, fetched
from reassure.checkers.kafka.driver import Driver
from reassure.checkers.kafka.model_view import ModelView
from reassure.checkers.kafka.releases import LATEST, RELEASES, Release, release
from reassure.checkers.kafka.replay import ControllerTrace, controller_trace, replayed
from reassure.checkers.kafka.report import report_accepted, report_difference, say


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=type(parser))

    fetching = actions.add_parser("fetch", help="get releases by Maven and compile the driver against them")
    fetching.add_argument("releases", nargs="+", metavar="RELEASE", help="4.4.0, ...; all: every release in the table")
    fetching.add_argument("--budget", type=duration, default=MAVEN_SECONDS, metavar="60s", help="what Maven may take")
    fetching.add_argument("--tests", action="store_true", help="with the jars of Kafka's own tests")

    replaying = actions.add_parser("replay", help="execute a trace on Kafka's controller")
    replaying.add_argument("trace", type=Path, metavar="TRACE", help="an ITF file")
    replaying.add_argument("--model", metavar="MODEL", help="another model than the trace names")
    _release_option(replaying)


def _release_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--release",
        nargs="+",
        action="extend",
        default=[],
        metavar="R",
        help=f"default: {LATEST.version}; all: every one",
    )


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Carries out one of the actions."""
    return {"fetch": run_fetch, "replay": run_replay}[args.action](args, console)


def _releases(given: list[str], default: Release = LATEST) -> list[Release]:
    """The releases of the command line, each once."""
    found = list(RELEASES) if "all" in given else [release(version) for version in given]
    return list(dict.fromkeys(found)) or [default]


def run_fetch(args: argparse.Namespace, console: Console) -> Exit:
    """Fetches each release; what cannot be had does not keep the others back."""
    codes = [Exit.OK]
    for wanted in _releases(args.releases):
        try:
            there = fetched(wanted, args.tests) is not None
            found = fetch(wanted, args.tests, args.budget)
        except Failure as failure:
            note(f"reassure: {failure}")
            codes.append(failure.code)
            continue
        say(console, f"Kafka {wanted.version}: {len(found.jars)} jars, {'kept' if there else 'fetched and compiled'}")
    return worst(codes)


def run_replay(args: argparse.Namespace, console: Console) -> Exit:
    """Executes the trace on each release."""
    trace = _controller_trace(args)
    codes = [Exit.OK]
    for wanted in _releases(args.release):
        try:
            with Driver(fetch(wanted)) as driver:
                found = replayed(trace, driver)
        except Failure as failure:
            note(f"reassure: {failure}")
            codes.append(failure.code)
            continue
        if found is None:
            report_accepted(trace, str(args.trace), wanted.version, console)
        else:
            report_difference(found, str(args.trace), wanted.version, console)
            codes.append(Exit.TRACE)
    return worst(codes)


def _controller_trace(args: argparse.Namespace) -> ControllerTrace:
    trace, bound, changed = read_trace(args.trace, args.model)
    note(changed)
    return controller_trace(trace, ModelView(bound))
