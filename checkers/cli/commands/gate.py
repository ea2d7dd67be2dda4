"""`reassure gate`: the checks of a file, judged."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.argument_types import positive
from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.check import EXHAUSTIVE_ENGINES
from reassure.checkers.cli.files import must_be_writable
from reassure.checkers.evidence import gate

CORES = os.cpu_count() or 1


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, nargs="?", default=Path("gate.toml"), metavar="FILE", help="default: gate.toml"
    )
    parser.add_argument("--engine", choices=EXHAUSTIVE_ENGINES, help="for every check, whatever the file says")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records of all checks")
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        default=CORES,
        metavar="N",
        help=f"processes (default: {CORES})",
    )
    parser.add_argument("--trace-dir", type=Path, metavar="DIR", help="write counterexamples of failures")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Runs every check and judges it."""
    must_be_writable(args.json, "--json")
    must_be_writable(args.junit, "--junit")
    must_be_writable(args.trace_dir, "--trace-dir")
    return gate.run_file(
        args.file,
        console,
        engine=args.engine,
        jobs=args.jobs,
        json_to=args.json,
        junit_to=args.junit,
        traces_to=args.trace_dir,
    )
