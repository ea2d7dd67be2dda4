"""`reassure simulate`: random walks through a model."""

from __future__ import annotations

import argparse

from reassure.checkers.check import CheckRequest
from reassure.checkers.console.commands import SEARCH_FIGURES, GateKind
from reassure.checkers.console.parser import search_options
from reassure.checkers.console.report import run_and_report
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import UNTIL_THE_BUDGET_ENDS, SimulationOptions
from reassure.checkers.request.shared_options import SIMULATE, WALKS

OPTIONS = SIMULATE
KIND = GateKind(SEARCH_FIGURES)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Walks, reports, and writes what is asked for."""
    options = search_options(args, depth=None)
    count = args.walks or (WALKS.count if args.budget is None else UNTIL_THE_BUDGET_ENDS)
    walks = SimulationOptions(count, args.depth, args.seed, dict(args.weight))
    return run_and_report(CheckRequest(args.model, args.set, "simulate", options, walks=walks), args, console).exit()
