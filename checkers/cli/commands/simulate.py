"""`reassure simulate`: random walks through a model."""

from __future__ import annotations

import argparse

from rich.console import Console

from reassure.checkers.base.argument_types import positive, seed, weight
from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.options import SearchOptions, SimulationOptions
from reassure.checkers.check import CheckRequest
from reassure.checkers.console.arguments import common_options, search_options
from reassure.checkers.console.reporting import run_and_report

WALKS = SimulationOptions()


def configure(parser: argparse.ArgumentParser) -> None:
    common_options(parser)
    search_options(parser)
    parser.add_argument(
        "--walks", type=positive, default=WALKS.count, metavar="N", help=f"number of walks (default: {WALKS.count:,})"
    )
    parser.add_argument(
        "--depth",
        type=positive,
        default=WALKS.depth,
        metavar="N",
        help=f"most states of a walk (default: {WALKS.depth})",
    )
    parser.add_argument(
        "--seed",
        type=seed,
        default=WALKS.seed,
        metavar="N",
        help="seed of the walks; the same seed gives the same walks (default: 0)",
    )
    parser.add_argument(
        "--weight",
        action="append",
        type=weight,
        default=[],
        metavar="ACTION=N",
        help="choose this action N times as often as one of weight 1; 0: never; repeatable (default: as declared)",
    )


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Walks, reports, and writes what is asked for."""
    options = SearchOptions(args.property, None, args.budget, None, args.workers, args.fail_fast, args.witness)
    walks = SimulationOptions(args.walks, args.depth, args.seed, dict(args.weight))
    return run_and_report(CheckRequest(args.model, args.set, "simulate", options, walks=walks), args, console).exit()
