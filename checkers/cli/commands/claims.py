"""`reassure claims`: what the documents promise, and the verdicts."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.cli.files import must_be_writable
from reassure.checkers.evidence import command


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        nargs="*",
        metavar="ID",
        help="print these claims with all their readings (default: a line for each claim)",
    )
    parser.add_argument("--claim", action="append", default=[], metavar="ID", help="print this claim; repeatable")
    parser.add_argument("--full", action="store_true", help="print every claim with all its readings")
    parser.add_argument("--table", action="store_true", help="print only the table of properties that protocols share")
    parser.add_argument(
        "--format", choices=["text", "md", "html"], default="text", help="format of the output (default: text)"
    )
    parser.add_argument("--refresh", action="store_true", help="run what is missing or stale before printing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as data")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Prints the claims."""
    must_be_writable(args.json, "--json")
    return command.answer(args, console)
