"""`reassure check`: every reachable state of a model, and what is true of them."""

from __future__ import annotations

import argparse

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.options import EXHAUSTIVE_ENGINES
from reassure.checkers.base.prepare import prepare
from reassure.checkers.base.shared_options import CHECK, OF_SPARK
from reassure.checkers.base.terminal import Console
from reassure.checkers.check import CheckRequest
from reassure.checkers.console.arguments import search_options, spark_settings
from reassure.checkers.console.gate_kind import SEARCH_FIGURES, GateKind
from reassure.checkers.console.reporting import run_and_report

OPTIONS = CHECK
KIND = GateKind(
    SEARCH_FIGURES,
    left_out=frozenset({*OF_SPARK, "dump_kernel", "fail_fast", "symmetry"}),
    only=(("engine", EXHAUSTIVE_ENGINES),),
    decides=True,
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches, reports, and writes what is asked for."""
    if args.dump_kernel:
        if args.symmetry != "off":
            raise Failure(Exit.USAGE, "--dump-kernel prints the kernel of the whole search: leave out --symmetry")
        return dump_kernel(args, console)
    request = CheckRequest(
        args.model, args.set, args.engine, search_options(args), args.accept_clipping, cluster=spark_settings(args)
    )
    return run_and_report(request, args, console).exit()


def dump_kernel(args: argparse.Namespace, console: Console) -> Exit:
    """Prints what the native engine compiles."""
    from reassure.checkers.engines.native.model.model_kernel import kernel_listing

    console.print(kernel_listing(prepare(args.model, args.set).lowered))
    return Exit.OK
