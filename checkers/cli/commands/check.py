"""`reassure check`: every reachable state of a model, and what is true of them."""

from __future__ import annotations

import argparse

from rich.console import Console

from reassure.checkers.base.argument_types import positive, size
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import prepare
from reassure.checkers.check import DEFAULT_ENGINE, ENGINE_NAMES, CheckRequest
from reassure.checkers.console.arguments import (
    clipping_option,
    common_options,
    search_options,
    spark_options,
    spark_settings,
)
from reassure.checkers.console.reporting import run_and_report
from reassure.spec.language.vocabulary import LanguageError


def configure(parser: argparse.ArgumentParser) -> None:
    common_options(parser)
    search_options(parser)
    parser.add_argument(
        "--engine",
        choices=ENGINE_NAMES,
        default=DEFAULT_ENGINE,
        help=f"the engine that searches (default: {DEFAULT_ENGINE})",
    )
    parser.add_argument(
        "--depth",
        type=positive,
        metavar="N",
        help="stop after N levels; initial states are level 1 (default: no limit)",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="2G",
        help="stop before more memory is used, such as 512M or 2G (default: no limit)",
    )
    clipping_option(parser)
    parser.add_argument(
        "--dump-kernel", action="store_true", help="print the loops that the native engine compiles; check nothing"
    )
    spark_options(parser)
    parser.add_argument(
        "--partitions",
        type=positive,
        metavar="N",
        help="Spark: divide the visited states into N parts (default: two for each core)",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="Spark: keep the run in this folder, with the state space for `query`"
    )
    parser.add_argument(
        "--fingerprints",
        action="store_true",
        help="Spark: keep 120 bits of each visited state (default: whole states, exact)",
    )
    parser.add_argument("--no-data", action="store_true", help="Spark: with --out, keep only what --resume needs")
    parser.add_argument("--resume", metavar="DIR", help="Spark: continue the run in this folder")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches, reports, and writes what is asked for."""
    if args.dump_kernel:
        return dump_kernel(args, console)
    options = SearchOptions(
        args.property, args.depth, args.budget, args.memory, args.workers, args.fail_fast, args.witness
    )
    spark = spark_settings(args)
    request = CheckRequest(args.model, args.set, args.engine, options, args.accept_clipping, cluster=spark)
    return run_and_report(request, args, console).exit()


def dump_kernel(args: argparse.Namespace, console: Console) -> Exit:
    """Prints what the native engine compiles."""
    from reassure.checkers.engines.native.model.model_kernel import kernel_listing

    _, lowered, _ = prepare(args.model, args.set)
    try:
        listing = kernel_listing(lowered)
    except LanguageError as error:
        raise Failure(Exit.MODEL, str(error)) from None
    console.print(listing, markup=False, highlight=False, soft_wrap=True)
    return Exit.OK
